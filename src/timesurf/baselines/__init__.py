"""What Sup3r is compared with: plain counts, HOTS and its relatives, and an ANN trained by backpropagation.

==================  ==============================================================================
file                method
==================  ==============================================================================
`counts.py`         logistic regression on how many events each entry had
`hots.py`           HOTS with k-means, and the classifiers on how often each unit won
`online_hots.py`    HOTS's own rule, event by event
`homeostasis.py`    the same by cosine, with a gain on units that win seldom
`feast.py`          selection thresholds that adapt
`restarts.py`       units that hardly win begin again
`linear.py`         surfaces with linear decay
`hats.py`           averaged surfaces of a grid of cells
`features.py`       what learners of features share: surfaces in, a layer of the engine out; cosine
`ann.py`            a convolutional network on still images
==================  ==============================================================================
"""
