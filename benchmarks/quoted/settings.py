"""Settings: how-tos on choosing them."""

from benchmarks.number import Number, mean, read
from benchmarks.quoted.words import with_error

from benchmarks import senses_tables
from timesurf.bench import settings


def settings_page():
    rows = senses_tables.read("settings")["settings"]
    right, likely = settings.changes(rows), settings.changes(rows, "log_probability")
    wandering, real, touch, speech = (
        "digits, wandering", "N-MNIST, real thousand", "braille touch", "spoken digits, new speaker",
    )  # fmt: skip
    yield f"one of them is {Number(1 / min(row['held_out'] for row in rows)):.1p} points"
    yield f"change moves accuracy by more than {Number(max(abs(of[touch][0]) for of in right.values())):.1p} points"
    quarter, twice = right["units x 0.25"], right["units x 2"]
    failed = settings.changes([row for row in rows if row["seed"] == 0])["units x 0.25"][wandering]
    yield f"fails on one of two splits of digits that wander ({Number(-failed[0]):.1p} points less)"
    yield f"It also costs {with_error((-quarter[real][0], quarter[real][1]))} points on N-MNIST"
    most = Number(max(abs(mean) for mean, _ in twice.values()))
    yield f"Twice as many units change no accuracy by more than {most:.1p} points"
    rates = [of for name, of in likely.items() if name.split(" x ")[0] in ("alpha", "passes", "copies")]
    yield f"change the logarithm by {Number(max(abs(mean) for of in rates for mean, _ in of.values())):.2} at most"
    hot, narrow, few = (Number(abs(likely[n][speech][0])) for n in ("temperature x 3", "window x 0.6", "units x 0.25"))
    yield f"costs {hot:.2} and a smaller window {narrow:.2}, while a quarter of the units gains {few:.2}"
    slow, large = ([Number(value) for value in likely[name][real]] for name in ("tau x 3", "window x 1.7"))
    yield f"tau costs {Number(-slow[0]):.2} ± {slow[1]:.2}, a larger window {Number(-large[0]):.2} ± {large[1]:.2}"
    lost = sorted(Number(-right[name][real][0]) for name in ("tau x 0.33", "tau x 3"))
    yield f"a factor of three in either direction costs {lost[0]:.1p} to {lost[1]:.1p} points"


def sparsity():
    points = []
    for of in (read("nmnist_beyond"), read("nmnist_folds")):
        points.append(Number(of.digits.recording_accuracy - of.keep_20.recording_accuracy))
    yield f"keeping a fifth costs {min(points):p} to {max(points):p} points"


def moving():
    long = read("wandering_long")
    yield f"takes {Number(max(long.memory) / 1e6)} MB and {mean(long.busy_seconds)} s of processor time"
    yield f"classifies {mean(long.default):.1%} of the pieces of other digits"
    yield f"regression on histograms of its features reaches {mean(long.hots):.1%}"
    of = read("wandering_few")
    yield f"recording accuracy is {mean(of.default):%} instead of {mean(of.delta):%}"


def tune():
    digits = read("sensitivity").digits
    of = {(one.setting, one.factor): one.recording_accuracy for one in digits.changed}
    best = digits.as_preset.recording_accuracy
    lost = sorted(Number(best - of[name, 0.1]) for name in ("tau 1", "tau 2"))
    yield f"At a tenth of the best value digits lose {lost[0]:p} to {lost[1]:p} points"
    yield f"accuracy collapses, to {of['alpha', 10]:%} of digits instead of {best:%}"
