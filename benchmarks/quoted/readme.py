"""The first page."""

from benchmarks.number import Number, mean, read
from benchmarks.quoted.words import last

from timesurf.metrics import average_accuracy


def readme():
    real, simulated, gpu = (read(f"nmnist_{name}") for name in ("real", "simulated", "simulated_gpu"))
    preset = read("transfer").networks["`digits`: moved, and bent copies"]
    yield f"**{real.sup3r.recording_accuracy:.1%}** of recordings, keeps {real.sup3r.kept:.1%} of events |"
    yield (
        f"HOTS: {real.hots_linear.recording_accuracy:.1%} with logistic regression, "
        f"{real.hots_svm.recording_accuracy:.1%} with an SVM"
    )
    yield (
        f"**{preset.simulated.recording_accuracy:.2%}** of 10,000 simulated and "
        f"**{preset.zero_shot.recording_accuracy:.1%}** of 1,000 real recordings that it never saw, one network; "
        f"{preset.training_s} s on a GPU"
    )
    yield (
        f"{simulated.sup3r.recording_accuracy:.2%} of recordings, one network; another, trained on a GPU: "
        f"[{gpu.sup3r.recording_accuracy:.2%}]"
    )
    yield f"on the still images: **{simulated.ann_mnist.recording_accuracy:.2%}** |"
    table1 = read("table1")
    sup3r, kmeans = table1.sup3r, table1.kmeans
    hundred = min(read("table1_100").sup3r.event_accuracy)
    yield (
        f"**{mean(sup3r.event_accuracy):.2%}** of output events (worst of ten networks: "
        f"{min(sup3r.event_accuracy):.2%}, of a hundred: {hundred:.2%}), keeps {mean(sup3r.kept):.2%} | k-means: "
        f"{mean(kmeans.event_accuracy):.2%}; the paper: 99.92 %, 14.33 % |"
    )
    steps = last(read("continual").adapting)
    yield f"**{mean(steps):.2%}** of output events (worst of ten networks: {min(steps):.2%}) |"
    yield f"the same networks without adapting: {mean(last(read('continual').ablated)):.2%} |"
    five, digits = read("incremental_5"), read("incremental_digits")
    others = [Number(average_accuracy(rows)) for rows in read("incremental_choices").choices["as published here"]]
    yield (
        f"**{mean(five.extended.average_accuracy):.2%}**; with other seeds one of three networks fell to "
        f"{min(others):.1%} | nothing frozen: {mean(five.unfrozen.average_accuracy):.2%} |"
    )
    yield (
        f"{mean(digits.extended.average_accuracy):.1%} | all digits learned at once: "
        f"**{mean(digits.together.average_accuracy):.1%}** |"
    )
    peers = read("peers").per_second
    yield (
        f"**{peers['timesurf: same + class layer over 28 x 28 x 32']:.1M}** events per second, both layers | a loop in "
        f"NumPy, first layer alone: {peers['NumPy loop: surfaces + closest unit']:.2M} |"
    )
    yield (
        f"{peers['timesurf: surfaces + closest unit']:.1M} per second, surfaces included | scikit-learn's "
        f"MiniBatchKMeans: **{peers['scikit-learn MiniBatchKMeans: closest unit, surfaces given']:.1M}** |"
    )
