"""On a GPU."""

from benchmarks.number import Number, read
from benchmarks.quoted.words import row


def gpu():
    of, cpu = read("nmnist_simulated_gpu"), read("nmnist_simulated")

    def accuracy(result, name):
        return f"{result[name].recording_accuracy:.2%}"

    for label, name in (("Sup3r, 32 units", "sup3r"), ("Sup3r at the paper's time constants", "sup3r_printed")):
        kept = [f"{result[name].kept:.1%}" for result in (of, cpu)]
        yield row(label, accuracy(of, name), kept[0], f"{accuracy(cpu, name)}, {kept[1]}")
    for label, name, kept in (
        ("ANN, 32 units, on still images", "ann_mnist", ""),
        ("ANN, 32 units, on counts of events", "ann_events", ""),
        ("HOTS, 32 units; logistic regression on counts by place", "hots_linear", "100 %"),
        ("HOTS, 32 and 96 units; polynomial SVM on histograms", "hots_svm", "100 %"),
    ):
        yield row(label, accuracy(of, name), kept, accuracy(cpu, name))
    yield f"the card trained this way reached {of.sup3r.recording_accuracy:.2%}"
    yield f"({Number(read('gpu').events / 1e6)} million events)"
    rows = {one.what: one for one in read("gpu").rows}
    epoch = Number(read("gpu").events / rows["training, batches of 128"].card_events_per_s)
    yield f"An epoch at batches of 128 thus takes {epoch:.2} s; the paper's GPU code takes 45 to 165 minutes"
    taken = Number(of.sup3r.seconds)
    yield f"{of.settings.preset.passes} epochs of 60,000 simulated recordings with the preset took {taken:.1} s in all"
    study = read("study")
    beside = study.beside_cpu
    agreement = beside.agreement
    yield f"accuracies of {beside.cpu.recording_accuracy:.2%} and {beside.cuda.recording_accuracy:.2%} on 3,000 others"
    yield f"decides all of {agreement.events} events"
    steps = max(*agreement.centroid_steps_differ, agreement.threshold_steps_differ)
    yield f"are within {Number(steps * 1e4):.1}e-4 of the CPU's"
    units, depth = study.figures.units, study.figures.depth
    best = {of.units: of.recording_accuracy for of in units}
    yield f"up to the 64 that were tried: {best[64]:.1%}, half a point more"
    rates = study.figures["learning rate and last time constant, ms"]
    tenth = next(of for of in rates if (of.alpha, of.tau_2) == (0.1, 1))
    yield f"and a tenth of the rate gives {tenth.recording_accuracy:%}."
    one, more = (of.recording_accuracy for of in depth)
    yield f"does worse, {more:.1%} instead of {one:.1%}"


def together():
    rates = {of.what: Number(of.card_events_per_s / 1e9) for of in read("gpu").rows}
    many, alone = (rates[f"training, batches of 128, {number} side by side"] for number in (16, 1))
    yield f"with batches of 128 reach {many:.1} billion events per second together, one alone reaches {alone:.1}"
