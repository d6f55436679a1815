"""Settings: how-tos on choosing them."""

from benchmarks.number import Number, mean, read

from benchmarks import senses_tables
from timesurf.bench import settings


def settings_page():
    changes = settings.changes(senses_tables.read("settings")["settings"])
    points = {name: [Number(value) for value in of["braille touch"]] for name, of in changes.items()}
    yield f"change moves accuracy by more than {max(Number(abs(gain)) for gain, _ in points.values()):.1p} points"
    gain, error = points["window x 0.6"]
    yield f"smaller window costs {Number(-gain):.1p} ± {error:.1p}"


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
