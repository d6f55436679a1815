"""Learning on: new classes and changes of the input."""

from benchmarks.number import Number, mean, read
from benchmarks.quoted.words import bold, row, two

from timesurf.metrics import average_accuracy, forgetting


def continual():
    found = read("continual")
    adapting, ablated = (list(zip(*of.steps, strict=True)) for of in (found.adapting, found.ablated))
    yield row("adapting, mean of ten networks (worst)", *map(two, adapting))
    yield row("the same networks, not adapting", *(f"{mean(step):.2%}" for step in ablated))
    changed = [Number(b - a) for a, b in zip(found.unshifted.before, found.unshifted.after, strict=True)]
    yield f"event accuracy changes by {mean(changed):.2p} points on average, {min(changed):.2p} in the worst of ten"
    of = read("adapting_choices").beta
    with_3e5, with_1e4 = (
        [Number(b - a) for a, b in zip(of[beta].before, of[beta].after, strict=True)] for beta in ("3e-5", "1e-4")
    )
    yield f"nothing changes ({min(with_3e5):.1p} points; {min(with_1e4):.2p} at worst with 1e-4;"
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


def extend():
    of = read("incremental_digits")
    yield (
        f"recording accuracy is {mean(of.extended.average_accuracy):.1%} at the end, against "
        f"{mean(of.together.average_accuracy):.1%} if all digits"
    )
