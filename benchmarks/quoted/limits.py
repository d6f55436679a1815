"""What it cannot do."""

from benchmarks.number import Number, mean, read
from benchmarks.quoted.table3 import SIZES
from benchmarks.quoted.words import sense


def limits():
    sizes, depth = read("digits_size").rows, read("study").figures.depth
    lost = [sizes[SIZES[0]].recording_accuracy_simulated - sizes[SIZES[3]].recording_accuracy_simulated]
    lost.append(depth[0].recording_accuracy - depth[1].recording_accuracy)
    yield f"a second hidden layer cost {Number(min(lost)):p} to {Number(max(lost)):p} points on digits"
    spoken, braille = sense("spoken digits, new speaker"), sense("braille touch")
    yield (
        f"recording accuracy is {mean(spoken.default):.1%}, from {min(spoken.default):p} to {max(spoken.default):%} by "
        "speaker"
    )
    yield f"counts of events in 8 parts of a recording reaches {mean(spoken.counts_8):.1%}"
    yield (
        f"five folds) recording accuracy is {mean(braille.default):.1%}, little more than the "
        f"{mean(braille.counts_8):.1%} of counts"
    )
    simulated = read("nmnist_simulated")
    yield (
        f"slightly more accurate: {simulated.ann_mnist.recording_accuracy:.2%} against "
        f"{simulated.sup3r.recording_accuracy:.2%}"
    )
    few = read("wandering_few")
    yield f"a large field are classified with {mean(sense('digits, wandering').default):.1%} accuracy"
    yield f"of ten digits it is {mean(few.default):%}"
    yield f"as with logistic regression on histograms of features, {mean(few.hots):%}"
    digits = read("incremental_digits")
    yield (
        f"two at a time, end at {mean(digits.extended.average_accuracy):.1%} instead of "
        f"{mean(digits.together.average_accuracy):.1%}"
    )
    of = read("speed").networks.nmnist
    yield f"{of.online.events_per_s:.1M} events per second for digits, against {of.batch.events_per_s:.1M} in batches"
    yield f"it learns {of.online32.events_per_s:.1M}, {of.online32.times_infer:.2} times as many as inference takes"
    peaks = {what: Number(peak / 1e6) for what, peak in read("long_recordings").peak_bytes.items()}
    for label, what in (
        ("`timesurf predict`, one recording from CSV", "predict long.csv"),
        ("one recording from AEDAT 4", "predict long.aedat4"),
        ("one recording from an `.npz`", "predict long.npz"),
        ("a thousand recordings from an `.npz`, which is mapped into memory piece by piece", "predict many.npz"),
        ("`timesurf stream` of the CSV, the most of two runs", "stream long.csv"),
        ("of the AEDAT 4, the most of two runs", "stream long.aedat4"),
    ):
        yield f"{label} | {peaks[what]} |"
    yield f"the program itself takes {peaks['the program itself']} MB"
    rows = read("many_classes").rows
    votes, evidence, a_pass = rows["a test, by votes"], rows["a test, by evidence"], rows["a pass"]
    yield (
        f"took {votes.seconds} s and {Number(votes.peak_bytes / 1e9):.1} GB by votes, and {evidence.seconds} s and "
        f"{Number(evidence.peak_bytes / 1e9):.1} GB by evidence"
    )
    yield f"keeps no votes, took {a_pass.seconds} s and {Number(a_pass.peak_bytes / 1e9):.1} GB"
