"""Settings: how-tos on choosing them."""

from benchmarks.number import Number, mean, read


def sparsity():
    points = []
    for of in (read("nmnist_beyond"), read("nmnist_folds")):
        points.append(Number(of.digits.recording_accuracy - of.keep_20.recording_accuracy))
    yield f"keeping a fifth costs {min(points):p} to {max(points):p} points"


def moving():
    of = read("wandering_few")
    yield f"recording accuracy is {mean(of.default):%} instead of {mean(of.delta):%}"


def tune():
    digits = read("sensitivity").digits
    of = {(one.setting, one.factor): one.recording_accuracy for one in digits.changed}
    best = digits.as_preset.recording_accuracy
    lost = sorted(Number(best - of[name, 0.1]) for name in ("tau 1", "tau 2"))
    yield f"At a tenth of the best value digits lose {lost[0]:p} to {lost[1]:p} points"
    yield f"accuracy collapses, to {of['alpha', 10]:%} of digits instead of {best:%}"
