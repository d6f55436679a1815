"""Spiking networks."""

from benchmarks.number import Number, mean, read
from benchmarks.quoted.words import bold, row


def spiking():
    found = read("spiking")
    of = found.classification
    converge = [a for a in of.spiking_event_accuracy if a > 0.99]
    kept = [k for k, a in zip(of.spiking_kept, of.spiking_event_accuracy, strict=True) if a > 0.99]
    yield row(
        "integrate-and-fire",
        f"{min(converge):.2%} to {max(converge):.2%}, mean **{mean(converge):.2%}**",
        f"{Number(len(converge))} of {Number(len(of.spiking_event_accuracy))}",
        "100 %, all ten",
        f"**{mean(kept):.2%}**",
    )
    surfaces = of.surfaces_event_accuracy
    yield row(
        "time surfaces",
        f"{min(surfaces):.2%} to {max(surfaces):.2%}, mean {mean(surfaces):.2%}",
        "10 of 10",
        "100 %",
        f"{mean(of.surfaces_kept):.2%}",
    )
    yield (
        f"The tenth network ends at {min(of.spiking_event_accuracy):.1%} ({max(of.spiking_kept):.1%} kept, three times "
        "as much)"
    )
    of = found.continual
    follow = [steps for steps in of.adapting if min(steps) > 0.99]
    yield "five follow the change with 99 % and more at every step"
    for name, networks in (
        ("adapting, mean of ten", of.adapting),
        ("adapting, the five that follow", follow),
        ("not adapting, mean of ten", of.ablated),
    ):
        yield row(name, *(f"{mean(step):.1%}" for step in zip(*networks, strict=True)))
    of = found.incremental
    learned = [n for n, accuracy in enumerate(of.task1) if accuracy > 0.99]
    task1, task2, after = ([of[task][n] for n in learned] for task in ("task1", "task2", "task1_after"))
    yield row(
        "integrate-and-fire",
        f"{mean(task1):.2%}",
        f"{mean(task2):.2%} (worst {min(task2):.1%})",
        f"{mean(after):.2%} (worst {min(after):.1%})",
    )
    of = read("incremental_2")
    tasks = (f"{mean(of[task]):.2%}" for task in ("task1", "task2", "task1_after"))
    yield row("time surfaces, all ten ([Table 2](continual.md#new-classes))", *tasks)
    recordings = found.incremental.task2_recordings
    yield (
        f"Recording accuracy is {min(recordings[n] for n in learned):%} on both tasks. The tenth network learns "
        f"neither ({min(recordings):%})"
    )
    yield f"step, and lose {Number(mean(task1) - mean(after)):.1p}."
    lost = [before - after for before, after in zip(of.task1, of.task1_after, strict=True)]
    assert max(lost) < 0.0001
    yield "then lose less than 0.01 points of task 1"
    data = found.digits.values()
    for name, key, digits in (("integrate-and-fire", "spiking", ".2%"), ("time surfaces", "surfaces", "%")):
        cells = [(mean(of[f"{key}_recording_accuracy"]), mean(of[f"{key}_kept"])) for of in data]
        yield row(name, *(f"{accuracy:.1%} ({kept:{digits}})" for accuracy, kept in cells))
    spikes = {(of.case, of.step_us, of.simulator): of for of in read("nir_simulators").spikes}
    place = "one neuron per place"
    turns = "events in turn: those that share a microsecond put off to the next that is free"
    left_out = "left out, events in turn: winner-take-all of three neurons per place"
    for label, case, step in (
        (turns, f"{place}, events in turn", 1),
        ("events as recorded", place, 1),
        ("", place, 10),
        ("", place, 100),
        (left_out, "three neurons per place, events in turn", 1),
        ("the refractory period", "refractory period, events in turn", 1),
        ("the reset by subtraction", "reset by subtraction, events in turn", 1),
    ):
        a, b = (spikes[case, step, simulator] for simulator in ("snntorch", "norse"))
        same = bold(f"{a.both}") if label == turns else f"{a.both}"
        yield row(label, f"{step} us", f"{a.timesurf}", f"{a.simulated}", f"{b.simulated}", same)
