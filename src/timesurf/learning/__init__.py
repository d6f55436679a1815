"""How a network learns from recordings.

================  ====================================================================
file              what it does
================  ====================================================================
`start.py`        first centroids and thresholds
`split.py`        recordings to learn from, to choose by, to report on
`schedule.py`     how many passes, in which batches, with which rates
`trainer.py`      the one loop over passes
`best.py`         training that keeps the best pass: validation, patience, checkpoints
`state.py`        how far a training has come
`checkpoints.py`  the same on disk
`divergence.py`   when a training has diverged, and how to recover
`together.py`     many networks side by side
`adapt.py`        learning without labels while predicting
`grow.py`         more units and classes for a new task
`law.py`          a network and its training, chosen from the recordings
`reasons.py`      why these, in lines for people
`knobs.py`        factors of what is chosen, for its neighbours
================  ====================================================================
"""
