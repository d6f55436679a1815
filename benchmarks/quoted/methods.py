"""Methods beside each other: the default network, its family, disturbances, few recordings."""

from benchmarks.number import Number, mean, read
from benchmarks.quoted.words import row, sense, with_error

from timesurf.bench import family, robustness


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
    yield f"has two there, and [{mean(sense('spoken digits, new speaker').default):.1%}]"


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
    random, places = ("hots_random", "cosine_random"), ("default", "preset", "spiking", "hots_places", "hats")
    histograms = [accuracy(digits, name) for name in found[digits] if name not in random + places]
    below = [Number(level[0] - one) for one in histograms]
    yield f"Histograms without places are {min(below):p} to {max(below):p} points below the default, those"
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
    yield f"**Spiking networks** keep {min(kept):.2p} to {max(kept):%} of the events"
    one = [accuracy(data, name, 1) for name in ("hots_places", "hots") for data in (real, digits)]
    yield f"from one digit of each class {one[0]:p} and {one[1]:%} instead of {one[2]:p} and {one[3]:%}"
    behind = [Number(family.ahead(rows, "default", "spiking")[data][0]) for data in (digits, real, touch, speech)]
    yield (
        f"On digits that costs {behind[0]:p} to {behind[1]:p} points beside the default, on braille {behind[2]:p}, "
        f"with the one new speaker of spoken digits that was measured {behind[3]:p}"
    )

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
    few = [of["dropped events, %"][method][90][0] for of in found.values() for method in robustness.METHODS]
    assert max(few) < 0.5
    yield "with 90 % of the events missing, no method classifies half of the recordings"
    ahead = family.ahead(read("family").family, "default", "hots")["N-MNIST, real thousand"]
    yield f"the default is ahead of HOTS by {with_error(ahead)} points, and on three splits"


def few():
    rows = read("family").family
    one, three = (Number(family.summary(rows, n)["POKER pips"]["default"]["recording_accuracy"]) for n in (1, 3))
    yield f"network is {one:%} from one recording per class, and {three:%} from three"
    yield f"new speaker it is {mean(sense('spoken digits, new speaker').default):.1%} from 24 per class"
