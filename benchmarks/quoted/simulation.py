"""The simulated camera."""

from benchmarks.number import read
from benchmarks.quoted.words import row


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
    preset = read("transfer").networks["`digits`: moved, and bent copies"]
    assert preset.zero_shot.recording_accuracy > 0.99
    yield "transfers [with above 99 %]"
    mine = read("nmnist_real").sup3r.recording_accuracy
    yield f"tested on the others, it reaches {mine:.1%}: [Table 3](table3.md)"
