"""A search for settings."""

from benchmarks.number import Number, mean, read
from benchmarks.quoted.words import row


def search():
    found = read("search_sentences")
    defaults, best = found.finalists[0], next(of for of in found.finalists if of.chosen)
    test = found.test

    def three(of):
        return [f"{mean(of.recording_accuracy):%}", f"{mean(of.event_accuracy):.2%}", f"{mean(of.kept):.2%}"]

    yield row("defaults", " / ".join(three(defaults)), " / ".join(three(test.defaults)))
    accuracy, events, kept = three(test.chosen)
    yield row("found", " / ".join(three(best)), f"{accuracy} / **{events}** / **{kept}**")
    assert min(test.defaults.recording_accuracy + test.chosen.recording_accuracy) == 1
    yield "recording accuracy was 100 % already"
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
