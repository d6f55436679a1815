"""The figures of README and docs beside the words or the row of a table in which they stand.

A function for each page yields fragments of it; a fragment's words must be on the page, and its figures are written
there by figures.py. Where words of a page change, change them here too. Figures of a fragment that no result has are
plain text: they are held to what is typed here.
"""

import itertools
from dataclasses import replace

from benchmarks.number import Number, mean, read

from timesurf.bench import family, robustness, scaling
from timesurf.metrics import average_accuracy, forgetting


def row(*cells):
    """A row of a table."""
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


def bold(text):
    """In bold type."""
    return f"**{text}**"


def two(values, form=".2%", best=False):
    """The mean, and the worst in brackets."""
    first = f"{mean(values):{form}}"
    return f"{bold(first) if best else first} ({min(values):{form}})"


def percent(result, form=".2%", best=False):
    """Recording accuracy with its interval."""
    first, (low, high) = f"{result.recording_accuracy:{form}}", result.interval
    return f"{bold(first) if best else first} ({low:.1p} to {high:.1%})"


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
    yield (
        f"**{mean(sup3r.event_accuracy):.2%}** of output events (worst of ten networks: "
        f"{min(sup3r.event_accuracy):.2%}), keeps {mean(sup3r.kept):.2%} | k-means: {mean(kmeans.event_accuracy):.2%}; "
        f"the paper: 99.92 %, 14.33 % |"
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


def last(networks):
    """The accuracy of each network after the last step."""
    return [steps[-1] for steps in networks.steps]


def continual():
    found = read("continual")
    adapting, ablated = (list(zip(*of.steps, strict=True)) for of in (found.adapting, found.ablated))
    yield row("adapting, mean of ten networks (worst)", *map(two, adapting))
    yield row("the same networks, not adapting", *(f"{mean(step):.2%}" for step in ablated))
    changed = [Number(b - a) for a, b in zip(found.unshifted.before, found.unshifted.after, strict=True)]
    yield f"event accuracy changes by {mean(changed):.2p} points on average, {min(changed):.2p} in the worst of ten"
    yield f"{min(changed):.2p} at worst with 1e-4"
    for name, of in found.guards.items():
        yield row(name, two(of.last_step), f"{mean(of.stuck_moves):.3}")
    online = read("online").learners
    for name, of in online.items():
        yield row(name, *(f"{phase:.1%}" for phase in of.phases), f"{of.recording_accuracy:.1%}")
    found = read("incremental_2")
    cells = [two(found[task], best=True) for task in ("task1", "task2", "task1_after")]
    yield row("here, mean (worst)", *cells)
    yield row("the paper", "99.92 %", "99.99 %", "99.96 %")
    five = read("incremental_5")
    for name, of, best in (("old units frozen", five.extended, True), ("nothing frozen", five.unfrozen, False)):
        drop = f"{mean(of.forgetting):.2p}"
        cells = [bold(drop) if best else drop, f"{mean(of.backward_transfer):.2p}"]
        yield row(name, two(of.average_accuracy, best=best), *cells)
    yield row("all tasks at once", two(five.together.average_accuracy), "", "")
    rest = [a for a in five.together.average_accuracy if a > 0.95]
    yield f"among twelve characters; the others reach {mean(rest):.2%}"
    for name, networks in read("incremental_choices").choices.items():
        accuracies = ", ".join(f"{Number(average_accuracy(rows)):.1%}" for rows in networks)
        label = name.replace("z for =", "`z` for `=`")
        yield row(label, accuracies, f"{Number(mean([forgetting(rows) for rows in networks])):.2p}")
    digits = read("incremental_digits")
    for name, of, best in (
        ("old classes and features frozen", digits.extended, True),
        ("nothing frozen", digits.unfrozen, False),
    ):
        drop = f"{mean(of.forgetting):.1p}"
        yield row(name, two(of.average_accuracy, ".1%", best), bold(drop) if best else drop)
    label = "all digits at once, 60 passes at alpha = 2e-4"
    yield row(label, two(digits.together.average_accuracy, ".1%"), "")


def table1():
    found, hundred = read("table1"), read("table1_100")
    of = found.sup3r
    accuracy = f"**{mean(of.event_accuracy):.2%}** (worst {min(of.event_accuracy):.2%})"
    yield row("Sup3r", accuracy, "99.92 %", f"**{mean(of.kept):.2%}**", "14.33 %")
    accuracy = mean(found.kmeans.event_accuracy)
    yield row("k-means", f"{accuracy:.2%}", "55.53 %", "100 %", "100 %")
    yield f"k-means reaches {accuracy:.2%}, in the paper 55.53 %"
    of = hundred.sup3r
    yield (
        f"{found.seconds} s on 2 cores. A hundred networks (`--networks 100`): "
        f"{Number(sum(a > 0.99 for a in of.event_accuracy))} converge, mean {mean(of.event_accuracy):.2%}, worst "
        f"{min(of.event_accuracy):.2%}, kept {min(of.kept):.1%} to {max(of.kept):.1%}; k-means "
        f"{mean(hundred.kmeans.event_accuracy):.2%}."
    )
    yield "may explain the paper's 99.92 %"
    yield "No setting that was tried reached 99.92 %"
    yield f"event accuracy is {mean(of.settled):.3%} (mean of 100 networks)"
    yield f"then reaches {mean(read('incremental_2').task1):.2%}."
    for name, of in read("table1_choices").choices.items():
        label = "nothing changed (beta 3e-5)" if name == "as published here" else name
        each = zip(of.event_accuracy, of.kept, strict=True)
        yield row(label, f"{mean(of.event_accuracy):.2%}", ", ".join(f"{a:.1p} ({kept:p})" for a, kept in each))


SIZES = ("32 units", "64 units", "128 units", "32 units, then 64 over 5 x 5")


def table3():
    of = read("nmnist_simulated")
    yield row("Sup3r, 32 units", percent(of.sup3r, best=True), "94.98 %", f"**{of.sup3r.kept:.1%}**", "72.61 %")
    printed = of.sup3r_printed
    label = "Sup3r, 32 units, at the paper's time constants (100 ms, 1 ms)"
    yield row(label, percent(printed), "", f"{printed.kept:.1%}", "")
    yield row("ANN, 32 units, on the still images", percent(of.ann_mnist), "95.61 %", "", "")
    yield row("ANN, 32 units, on counts of events by pixel", percent(of.ann_events), "", "", "")
    linear, svm = (
        "HOTS, 32 units; logistic regression on counts by place",
        "HOTS, 32 and 96 units; polynomial SVM on histograms",
    )
    yield row(linear, percent(of.hots_linear), "", "100 %", "")
    yield row(svm, percent(of.hots_svm), "91.27 %", "100 %", "")
    yield f"from {of.sup3r.kept:%} of the events"
    of = read("nmnist_real")
    yield row("Sup3r, 32 units", percent(of.sup3r, ".1%", best=True), f"**{of.sup3r.kept:.1%}**")
    yield row(linear, percent(of.hots_linear, ".1%"), "100 %")
    yield row(svm, percent(of.hots_svm, ".1%"), "100 %")
    first, second, third = of.sup3r.splits[:3]
    yield f"where Sup3r has {first:p}, {second:p} and {third:%}"
    for name, of in read("digits_size").rows.items():
        accuracies = f"{of.recording_accuracy_simulated:.1%}", f"{of.recording_accuracy_real:.1%}"
        speeds = Number(of.training_events_per_s / 1e6), Number(of.events_per_s / 1e6)
        yield row(name, *accuracies, *(f"{speed:.1}" for speed in speeds))
    sizes = [read("digits_size").rows[name].recording_accuracy_simulated for name in SIZES]
    gains = [Number(b - a) for a, b in itertools.pairwise(sizes[:3])]
    yield f"the units gains {min(gains):.1p} to {max(gains):.1p} points"
    yield f"ten times as much, loses {Number(sizes[0] - sizes[3]):p} points with this amount of data"
    beyond, folds = read("nmnist_beyond"), read("nmnist_folds")
    sizes = [beyond[f"units_{units}"].recording_accuracy for units in (64, 128, 256, 512)]
    gains = [Number(b - a) for a, b in itertools.pairwise(sizes)]
    yield f"each doubling gains {min(gains):.1p} to {max(gains):.1p} points"
    yield "has 99.2 % on N-MNIST, online HOTS 97.4 %"

    def less(of, a, b):
        return Number(of[a].recording_accuracy - of[b].recording_accuracy)

    both = Number(folds.both.recording_accuracy - read("nmnist_real").sup3r.recording_accuracy)
    simulated = Number(beyond.both.recording_accuracy - read("nmnist_simulated").sup3r.recording_accuracy)
    yield f"**Both polarities** are worth {both:.1p} points on the real thousand"
    yield f"with the same rule, and {simulated:.1p} on simulated recordings"
    yield (
        f"Keeping 70 % of them costs {less(folds, 'digits', 'keep_70'):.1p} points on real and "
        f"{less(beyond, 'digits', 'keep_70'):.1p} on simulated recordings, keeping half "
        f"{less(folds, 'digits', 'keep_50'):.1p} and {less(beyond, 'digits', 'keep_50'):.2p}, keeping a fifth "
        f"{less(folds, 'digits', 'keep_20'):.1p} and {less(beyond, 'digits', 'keep_20'):.1p}"
    )
    yield (
        f"with 256 units above 32, is {less(folds, 'units_256', 'two_layers'):.1p} points (real) and "
        f"{less(beyond, 'units_256', 'two_layers'):.1p} (simulated) below one layer of 256 units"
    )
    networks = read("transfer").networks
    mine, half = networks["moved, and images rewritten (`--handwriting 3`)"], networks["the same, `--keep 0.5`"]
    kept = half.simulated.recording_accuracy
    of_mean = Number(mine.simulated.recording_accuracy - kept)
    yield (
        f"cost {Number(mine.simulated.seeds[0] - kept):.2p} points on simulated recordings beside the network of the "
        f"same seed, {of_mean:.2p} beside the mean of three, and "
        f"{Number(mine.zero_shot.seeds[0] - half.zero_shot.recording_accuracy):.1p} on real ones"
    )
    of = {one.network: one.held_out for one in read("digits_choice").simulated}
    three = of["3 per class, temperature 3, 20"]
    per_class = Number(of["moved 1, 3 per class, 24"] - of["moved 1, 24"])
    moved = Number(of["moved 1, 24"] - of["base, 24 passes"])
    units = Number(three - of["chosen, 256 units, 3 per class, stride 3, 20"])
    yield (
        f"Three units per class are worth {per_class:.2p} points over one (24 passes), moving {moved:.2p} to 0.1 over "
        f"not moving, 512 units {units:.2p} over 256, and rewritten images {Number(of['3, 3, hand, 30'] - three):.2p}"
    )
    two_cores = read("digits_two_cores")
    a_pass = Number((two_cores.passes_end_s[-1] - two_cores.passes_end_s[0]) / (len(two_cores.passes_end_s) - 1))
    yield (
        f"took {two_cores.whole_s} s: {two_cores.start_s} s for the start, {two_cores.winners_s} s for the hidden "
        f"layer, which runs once, and {a_pass:.1} s per pass. For 60,000 recordings that makes "
        f"{Number(two_cores.for_60000_s / 60)} minutes"
    )
    yield f"On the GPU the same takes {networks['`moved`'].training_s} s with 32 passes"
    digits = read("sensitivity").digits
    yield f"15 passes: {digits.as_preset.recording_accuracy:.1%} with the preset"
    of = {(one.setting, one.factor): one.recording_accuracy for one in digits.changed}
    yield (
        f"alpha: from a third to three times, {of['alpha', 3]:.1p} to {digits.as_preset.recording_accuracy:.1%}; ten "
        f"times, {of['alpha', 10]:%}"
    )
    yield f"tau of both layers: a tenth, {of['tau 1', 0.1]:p} and {of['tau 2', 0.1]:%}"


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


def scale():
    found = read("workers")
    fit = found.simulated
    sums = {size.recordings: size.bytes for size in found.touched}
    yield f"events per recording | 512, {found.events_per_recording} |"
    yield f"| v | events per second of a worker of one thread | {fit.events_per_s:.1M} |"
    yield f"per batch and per task | {fit.batch:m} ms, {fit.task:m} ms |"
    yield (
        f"s(n) | bytes of the sums of n recordings: {sums[1]:k} kB for one, {Number(sums[64] / 1e6):.2} MB for 64, "
        f"{Number(sums[1024] / 1e6):.2} MB for 1,024; {Number(found.touched[0].of / 1e6):.1} MB if none of them is 0"
    )
    yield f"| u | bytes per second to a worker and back | {Number(found.bytes_per_s / 1e9):.2} GB |"
    seconds = {(of.batch, of.workers): of for of in found.rows}
    model = {(of.batch, of.workers): of.simulated for of in fit.batches}
    for batch in (128, 512):
        rows = []
        for workers in (0, 1, 2, 4):
            of, alone = seconds[batch, workers], seconds[batch, 1]
            faster = "1" if workers == 1 else f"{Number(alone.seconds / of.seconds):.2} x"
            cells = [bold(faster) if (batch, workers) == (512, 2) else faster, "", ""]
            if workers:
                moved = f"{Number(of.sent / 1e6):.1}, {Number(of.received / 1e6):.1} MB"
                cells[1:] = [f"{model[batch, workers]:m} ms", moved]
            rows.append(row("" if workers else f"{batch}", f"{workers}", f"{of.seconds:m}", *cells))
        yield "\n".join(rows)
    yield f"The formula is within {max(Number(abs(of.off)) for of in fit.batches):%} of every measured batch"
    works, cost = scaling.works(found), scaling.clusters(found)
    labels = [
        f"N-MNIST: 60,000 recordings of {found.events_per_recording} events | 512",
        "DVS-Gesture: 1,176 of 360,000 events, 128 x 128 pixels | 32",
        "10^12 events per day | 512",
        "N-MNIST, sums in a tree | 512",
    ]
    of_rows = [(work, cost["as measured"]) for work in works] + [(works[0], cost["sums in a tree"])]
    for label, (work, on) in zip(labels, of_rows, strict=True):
        passes = [f"{Number(scaling.epoch(on, work, n))}" for n in (1, 2, 4, 8, 16)]
        yield row(label, *passes, f"{Number(scaling.balance(on, work))} workers")
    parts = {name: Number(part) for name, part in scaling.seconds(cost["as measured"], works[0], 8).items()}
    yield (
        f"digits computes for {parts['computing']:m} ms, waits {parts['waiting']:m} ms for tasks and sends for "
        f"{parts['travelling']:m} ms"
    )
    day = [Number(scaling.epoch(cost["as measured"], works[2], workers) / 3600) for workers in (4, 8)]
    yield f"Four workers learn one day's events in {day[0]} hours, eight in {day[1]};"
    rate = next(of for of in read("gpu").rows if of.what == "training, batches of 512").card_events_per_s
    yield f"[{Number(rate / 1e9):.1} billion events per second](gpu.md#speed)"
    large = scaling.balance(cost["as measured"], replace(works[0], batch=2048))
    yield f"With batches of 2,048 the limit would be {Number(large)} workers instead of"
    yield f"The sums of DVS-Gesture's last layer are {Number(works[1].sums[0] / 1e6)} MB"
    parts = {name: Number(part) for name, part in scaling.seconds(cost["as measured"], works[1], 8).items()}
    yield f"compute a batch in {parts['computing']:.2} s and exchange it in {parts['travelling']:.2} s"


def search():
    found = read("search_sentences")
    defaults, best = found.finalists[0], next(of for of in found.finalists if of.chosen)
    test = found.test

    def three(of):
        return [f"{mean(of.recording_accuracy):%}", f"{mean(of.event_accuracy):.2%}", f"{mean(of.kept):.2%}"]

    yield row("defaults", " / ".join(three(defaults)), " / ".join(three(test.defaults)))
    accuracy, events, kept = three(test.chosen)
    yield row("found", " / ".join(three(best)), f"{accuracy} / **{events}** / **{kept}**")
    gain, error = test.gains.kept
    yield f"it keeps {gain:.2p} points fewer events, with a standard error of {error:.2p};"
    yield f"a tenth of its `tau` ({best['values'].tau1} us)"
    ended = [trial.ended for trial in found.trials]
    yield f"{Number(ended.count('whole'))} were completed, {Number(ended.count('pruned'))} were pruned"
    yield f"On one core the trials took {Number(found.seconds / 60)} minutes"
    chance = min(mean(of.recording_accuracy) for of in found.finalists)
    yield f"100 % recording accuracy in its trial, {chance:%} over ten other seeds"
    of = found.importance.kept
    yield row("events kept", f"`d` ({of.d:%}), `beta` ({of.beta:%}), `gamma` ({of.gamma:%})")
    of = found.importance.recording_accuracy
    names = ", ".join(f"`{name}` ({of[name]:%})" for name in ("delta", "units1", "beta", "gamma", "margin"))
    yield row("recording accuracy", f"{names}: no large differences")
    few = min(
        (trial for trial in found.trials if trial.ended == "pruned" and trial.recording_accuracy[-1] > 0.9),
        key=lambda trial: trial.kept[-1],
    )
    yield f"({few.kept[-1]:%} at {few.recording_accuracy[-1]:.1%} recording accuracy)"


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
    rows = {one.what: one for one in read("gpu").rows}
    epoch = Number(read("gpu").events / rows["training, batches of 128"].card_events_per_s)
    yield f"An epoch at batches of 128 thus takes {epoch:.2} s; the paper's GPU code takes 45 to 165 minutes"
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


def simulation():
    of, chance = read("saccades").distances, read("saccades").chance
    for label, name in (
        ("events, as a share of the other's", "events"),
        ("events per recording, correlation", "events_correlation"),
        (f"share of polarity 1 (real: {of.other_polarity:.3})", "polarity"),
        ("difference over time, 5 ms at a time", "rate"),
        ("difference in events of a pixel and saccade", "bursts"),
        ("difference in intervals at a pixel, same polarity", "same"),
        ("difference in intervals at a pixel, other polarity", "other"),
        ("difference by pixel, polarity and saccade", "image"),
        ("image of all events, correlation", "correlation"),
        ("image of a polarity and saccade, correlation", "by_saccade"),
    ):
        yield row(label, f"{of[name]:.3}", f"{chance[name]:.3}")
    simulated, real = read("saccades").trained_on.simulated, read("saccades").trained_on.real
    yield (
        f"has a recording accuracy of **{simulated.real.recording_accuracy:.1%}** on the real thousand and of "
        f"{simulated.simulated.recording_accuracy:.1%} on 1,000 more simulated ones"
    )
    yield f"reaches {real.simulated.recording_accuracy:.1%} on the simulated ones"
    mine = read("nmnist_real").sup3r.recording_accuracy
    yield f"tested on the others, it reaches {mine:.1%}: [Table 3](table3.md)"


def live():
    found = read("live_page")
    of = found.turns
    yield f"all of {Number(found.rate / 1e6)} M events per second"
    yield (
        f"The open page cost {Number(found.cpu_ratio - 1):%} more processor time per event; a real Chromium showed "
        f"{min(turn.page.frames_per_s for turn in of)} frames per second, and memory grew by "
        f"{max(turn.page.growth_kb for turn in of)} kB in {found.seconds} s"
    )


def sense(data):
    """A row of senses.json."""
    return next(of for of in read("senses").senses if of.data == data)


def together():
    rates = {of.what: Number(of.card_events_per_s / 1e9) for of in read("gpu").rows}
    many, alone = (rates[f"training, batches of 128, {number} side by side"] for number in (16, 1))
    yield f"with batches of 128 reach {many:.1} billion events per second together, one alone reaches {alone:.1}"


def sparsity():
    points = []
    for of in (read("nmnist_beyond"), read("nmnist_folds")):
        points.append(Number(of.digits.recording_accuracy - of.keep_20.recording_accuracy))
    yield f"keeping a fifth costs {min(points):p} to {max(points):p} points"


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
    rows = read("many_classes").rows
    votes, evidence, a_pass = rows["a test, by votes"], rows["a test, by evidence"], rows["a pass"]
    yield (
        f"took {votes.seconds} s and {Number(votes.peak_bytes / 1e9):.1} GB by votes, and {evidence.seconds} s and "
        f"{Number(evidence.peak_bytes / 1e9):.1} GB by evidence"
    )
    yield f"keeps no votes, took {a_pass.seconds} s and {Number(a_pass.peak_bytes / 1e9):.1} GB"


FAULTS = {  # words of faults.json: those of the page
    "a disk that becomes read-only in the middle": "a disk that becomes read-only during the run",
    "no more memory for the threads of a training, at a random amount": (
        "a random limit on the memory of a training's threads"
    ),
    "no checkpoint yet, begun anew": "no checkpoint yet, started again",
    "an error, no checkpoint yet, begun anew": "an error, no checkpoint yet, started again",
    "bus error, no checkpoint yet, begun anew": "bus error, no checkpoint yet, started again",
    "between two": "between two files",
    "found, and passed over": "detected, and skipped",
    "enough, resumed": "memory sufficed, resumed",
}
FUZZED = {
    "npz": "recordings, `.npz`", "poker": "POKER-DVS", "mnist": "MNIST", "nmnist": "N-MNIST, `.bin`",
    "tonic": "tonic's data sets", "model": "model files", "checkpoint": "checkpoints",
    "config": "configurations, TOML", "csv": "CSV", "dat": "DAT", "raw": "RAW (EVT)", "es": "Event Stream",
    "aedat4": "AEDAT4", "aedat2": "AEDAT 2", "aedat3": "AEDAT 3", "nas": "NAS, `.aedat`",
}  # fmt: skip
FUZZED_LIVE = {
    "udp": "UDP datagrams", "stdin": "standard input", "session": "`Session.push`", "transform": "transforms",
}  # fmt: skip


MUTATED = {"first draw": "without most of `engines/cpu`", "second draw": "without kernels"}


def reliability():
    for fault in read("faults").faults:
        ended = sorted(fault.ended.items(), key=lambda item: -item[1])
        how = "; ".join(f"{number} x {FAULTS.get(name, name)}" for name, number in ended)
        yield row(FAULTS.get(fault.fault, fault.fault), f"{fault.injected}", how, "nothing" if not fault.lost else "?")
    targets = read("fuzz").targets
    for name, label in FUZZED.items():
        yield row(label, *fuzzed(targets[name]), f"{targets[name].inputs_per_s}")
    yield row("all", f"{Number(sum(of.inputs for of in targets.values()))}", "", "none", "", "", "")
    for name, label in FUZZED_LIVE.items():
        yield row(label, *fuzzed(read("fuzz_live").targets[name]))
    for name, of in read("endurance").streams.items():
        yield row(name, f"{of.events}", f"{of.growth_bytes:k} kB")
    yield f"Compared with the same day as one recording, {read('endurance').votes_differ} votes differ"
    for name, of in read("mutants").items():
        label = f"| {name.removesuffix(' draw')}, `--seed {of.seed}` |"
        caught = Number(sum(result.caught for result in of.results))
        modules = MUTATED.get(name, "all")
        share = f"{Number(caught / len(of.results)):.1%}".replace(" %", "%")
        yield f"{label} {modules} | {Number(len(of.results))} | {caught} ({share}) |"


def fuzzed(of):
    """What an attempt at one reader showed, without the speed."""
    refused = f"{Number(of.refused / of.inputs):%}".replace(" %", "%")
    found = f"{Number(len(of.findings))}" if of.findings else "none"
    return f"{of.inputs}", refused, found, f"{of.slowest_s:m} ms", f"{Number(of.memory_beyond_file / 1e6):.2} MB"


def speed():
    epoch = read("epoch")
    yield f"60,000 recordings, {Number(epoch.events / 1e6)} M events after cropping"
    yield f"batches of 128): {epoch.seconds} s, {epoch.events_per_s:.1M} events/s on two cores"
    yield f"The process uses {Number(epoch.private_bytes_before / 1e6)} MB"
    yield f"of its own before and {Number(epoch.private_bytes_most / 1e6)} MB at most"
    yield f"takes 45 to 165 minutes for an epoch of N-MNIST, which takes {epoch.seconds} s here on two cores"
    of = read("peers").per_second
    both, surfaces = of["timesurf: same + class layer over 28 x 28 x 32"], of["timesurf: surfaces + closest unit"]
    online, batch = of["timesurf: learn both layers, online"], of["timesurf: learn both layers, batch"]
    learn = of["timesurf: learn one layer, batch"]
    loop, learning_loop = of["NumPy loop: surfaces + closest unit"], of["NumPy loop: learn one layer, online"]
    closest = of["scikit-learn MiniBatchKMeans: closest unit, surfaces given"]
    learned = of["scikit-learn MiniBatchKMeans: learn one layer, surfaces given"]
    tonic = of["tonic ToTimesurface: surfaces of the whole field, one per millisecond"]
    yield row(
        "timesurf, both layers: inference / batch learning / online learning",
        f"{both:.1M} / {batch:.1M} / {online:.1M} events",
        "",
    )
    yield row("timesurf, first layer: inference / batch learning", f"{surfaces:.1M} / {learn:.1M} events", "")
    yield row(
        "a loop over events in NumPy: inference / learning",
        f"{loop:.2M} / {learning_loop:.2M} events",
        f"{Number(surfaces / loop)} x / {Number(learn / learning_loop)} x faster",
    )
    yield row(
        "scikit-learn's MiniBatchKMeans, surfaces given: inference / learning",
        f"{closest:.1M} / {learned:.1M} surfaces",
        f"{Number(surfaces / closest):.1} x / {Number(learn / learned):.1} x as fast, and computes the surfaces too",
    )
    yield row(
        "tonic's ToTimesurface, whole field, no units", f"{tonic:.3M} surfaces", f"{Number(surfaces / tonic)} x faster"
    )


def stream():
    of = read("latency")
    yield (
        f"{of.stream_events_per_s:.1M} events per second, {of.stream_to_infer:%} of `predict`'s "
        f"{of.infer_events_per_s:.1M}"
    )
    parts = [Number(of.empty_us / of.packets[events].p50) for events in ("100", "1000")]
    yield (
        f"An empty packet takes {of.empty_us:.1} us, for Python and the checks: {parts[0]:%} of a packet of 100 "
        f"events, {parts[1]:%} of one of 1,000"
    )
    lost = [run.old_before - run.old_after for run in read("teaching_alone").runs]
    yield (
        f"cost the other digits {mean(lost):.1p} points of recording accuracy ({Number(min(lost)):p} to "
        f"{Number(max(lost)):p} in ten networks)"
    )


def with_error(found, form=".1p"):
    """A share or a difference with its standard error."""
    value, error = map(Number, found)
    return f"{value:{form}} ± {error:.1p}"


def rule():
    mine, preset = sense("N-MNIST, real thousand"), read("nmnist_real").sup3r
    yield (
        f"| N-MNIST, 900 recordings, ten folds | {mean(mine.default):.1%} | {preset.recording_accuracy:.1%} | the "
        f"preset [keeps {preset.kept:.1%} of events](table3.md), the default all |"
    )
    found = family.summary(read("family").family)
    for label, data, end in (
        ("simulated digits, 600 recordings, three splits", "digits, simulated", None),
        ("braille, 1,079 recordings, three folds", "braille touch", "with the preset for digits"),
        ("spoken digits, three new speakers", "spoken digits, new speaker", "with the preset for digits"),
    ):
        of = [found[data][name] for name in ("default", "preset")]
        cells = [f"{with_error((one['recording_accuracy'], one['standard_error']))} %" for one in of]
        yield row(label, *cells, end or "level ([measured](family.md#recording-accuracy))")
    of = found["sentences"]
    cells = [f"{Number(of[name]['recording_accuracy']):.1%}" for name in ("default", "preset")]
    kept = Number(of["preset"]["kept"])
    yield row("sentences, 600 recordings, three draws", *cells, f"the preset [keeps {kept:%}](table1.md)")


def family_page():
    rows = read("family").family
    found = family.summary(rows)

    def accuracy(data, name, number=None):
        return Number(family.summary(rows, number)[data][name]["recording_accuracy"])

    def by(data, a, b):
        return with_error(family.ahead(rows, a, b)[data])

    digits, real, touch, speech = (
        "digits, simulated", "N-MNIST, real thousand", "braille touch", "spoken digits, new speaker",
    )  # fmt: skip
    yield (
        f"the default ({accuracy(real, 'default'):.1%}) is ahead of `hots_places` by "
        f"{by(real, 'default', 'hots_places')} points, of plain HOTS by {by(real, 'default', 'hots')}, and of the "
        f"preset by {by(real, 'default', 'preset')}"
    )
    level = [accuracy(digits, name) for name in ("default", "preset", "hots_places")]
    yield f"`hots_places` are level ({min(level):.1p} to {max(level):.1%})"
    yield f"places are worth {by(touch, 'hots_places', 'hots')} points to HOTS"
    yield (
        f"`hots_places` ({accuracy(touch, 'hots_places'):.1%}), the default ({accuracy(touch, 'default'):.1%}) and "
        f"HATS ({accuracy(touch, 'hats'):.1%})"
    )
    yield f"is {by(touch, 'default', 'preset')} points below the default"
    yield (
        f"histograms without places by {by(speech, 'default', 'hots')} and {by(speech, 'hots_places', 'hots')} points"
    )
    yield (
        f"**Cosine** is ahead of `hots` by {by(real, 'cosine', 'hots')} points on N-MNIST and "
        f"{by(touch, 'cosine', 'hots')} on braille"
    )
    kept = [Number(of["spiking"]["kept"]) for of in found.values() if "spiking" in of]
    yield f"**Spiking networks** keep {min(kept):.1p} to {max(kept):%} of the events"
    one = [accuracy(data, name, 1) for name in ("hots_places", "hots") for data in (real, digits)]
    yield f"from one digit of each class {one[0]:p} and {one[1]:%} instead of {one[2]:p} and {one[3]:%}"
    behind = [Number(family.ahead(rows, "default", "spiking")[data][0]) for data in (digits, real, touch)]
    yield f"On digits that costs {behind[0]:p} to {behind[1]:p} points beside the default, on braille {behind[2]:p}"

    def over(control, *data, methods=("homeostasis", "feast", "restarts")):
        points = [Number(family.ahead(rows, method, control)[name][0]) for method in methods for name in data]
        return f"{min(points):p} to {max(points):p} points"

    poker = "POKER pips"
    yield f"on POKER, digits and braille they are {over('hots_random', poker, digits, real, touch)} ahead"
    yield f"On POKER and digits, accuracy is {over('hots_random', poker, digits, real)} below"
    gain = over("cosine_random", poker, digits, real, touch, methods=["homeostasis"])
    yield f"The gain itself is worth {gain} from there"
    yield f"FEAST is {by(touch, 'feast', 'hots_online')} points ahead of HOTS's own rule on braille only"
    yield (f"of FEAST by {by(speech, 'hots', 'feast')} points, and of restarts by {by(speech, 'hots', 'restarts')}")


def robustness_page():
    found = robustness.curves(read("robustness").robustness)
    digits, real = (found[data] for data in ("digits, simulated", "N-MNIST, real thousand"))

    def at(of, disturbance, method, level):
        return Number(of[disturbance][method][level][0])

    def lost(of, method):
        return Number(at(of, "dropped events, %", method, 0) - at(of, "dropped events, %", method, 50))

    most = max(lost(digits, "default"), lost(real, "default"))
    yield f"it has lost at most {most:p} points, HOTS {lost(real, 'hots'):p} and {lost(digits, 'hots'):p}"
    place, time = "jitter in place, pixels", "jitter in time, ms"
    clean = [Number(at(of, time, "hots", 0) - at(of, time, "default", 0)) for of in (digits, real)]
    yield f"HOTS has {clean[0]:p} points more on simulated digits and {Number(-clean[1]):p} less on N-MNIST"
    yield f"at 3 pixels it classifies {at(real, place, 'default', 3):%} of the recordings"
    yield (
        f"at 30 ms ({at(real, time, 'hots', 0):%} to {at(digits, time, 'hots', 30):p} and "
        f"{at(real, time, 'hots', 30):%})"
    )
    ahead = family.ahead(read("family").family, "default", "hots")["N-MNIST, real thousand"]
    yield f"the default is ahead of HOTS by {with_error(ahead)} points, and on three splits"


def few():
    rows = read("family").family
    one, three = (Number(family.summary(rows, n)["POKER pips"]["default"]["recording_accuracy"]) for n in (1, 3))
    yield f"network is {one:%} from one recording per class, and {three:%} from three"
    yield f"new speaker it is {mean(sense('spoken digits, new speaker').default):.1%} from 24 per class"


def moving():
    of = read("wandering_few")
    yield f"recording accuracy is {mean(of.default):%} instead of {mean(of.delta):%}"


def extend():
    of = read("incremental_digits")
    yield (
        f"recording accuracy is {mean(of.extended.average_accuracy):.1%} at the end, against "
        f"{mean(of.together.average_accuracy):.1%} if all digits"
    )


def tune():
    digits = read("sensitivity").digits
    of = {(one.setting, one.factor): one.recording_accuracy for one in digits.changed}
    best = digits.as_preset.recording_accuracy
    lost = sorted(Number(best - of[name, 0.1]) for name in ("tau 1", "tau 2"))
    yield f"At a tenth of the best value digits lose {lost[0]:p} to {lost[1]:p} points"
    yield f"accuracy collapses, to {of['alpha', 10]:%} of digits instead of {best:%}"


def commands():
    found = read("poker")
    yield f"classifies {found.right} of {found.recordings} recordings of POKER-DVS"


PAGES = {
    "README.md": readme,
    "docs/continual.md": continual,
    "docs/table1.md": table1,
    "docs/table3.md": table3,
    "docs/spiking.md": spiking,
    "docs/scale.md": scale,
    "docs/howto/search.md": search,
    "docs/gpu.md": gpu,
    "docs/simulation.md": simulation,
    "docs/howto/live.md": live,
    "docs/limits.md": limits,
    "docs/reliability.md": reliability,
    "docs/commands.md": commands,
    "docs/speed.md": speed,
    "docs/stream.md": stream,
    "docs/rule.md": rule,
    "docs/family.md": family_page,
    "docs/robustness.md": robustness_page,
    "docs/howto/few.md": few,
    "docs/howto/together.md": together,
    "docs/howto/sparsity.md": sparsity,
    "docs/howto/moving.md": moving,
    "docs/howto/extend.md": extend,
    "docs/howto/tune.md": tune,
}
