"""Write what online learning in float32 does to the paper's tests, in docs/continual.md, from saved results.

Run: python -m benchmarks.float32_tables    after `timesurf bench continual --networks 3 --seed S --precision P` and
`timesurf bench incremental --networks 3 --seed S --precision float32` have written the files below into
benchmarks/results, and precision_fork.py precision_fork.json
"""

from benchmarks.senses_tables import DOCS, filled, read, table

PAGE = DOCS / "continual.md"
ADAPTING = {  # seed and precision: file
    "seed 0, float64": "continual_three",
    "seed 0, float32": "continual_float32",
    "seed 1, float32": "continual_float32_1",
    "seed 2, float64": "continual_float64_2",
    "seed 2, float32": "continual_float32_2",
}
NEW_CLASSES = {f"seed {n}": f"incremental_float32_{n}" for n in range(3)}
SETTLED = 0.996  # event accuracy of a network of sentences that has found all characters


def mean_and_worst(found):
    """In per cent, the worst in brackets."""
    return f"{100 * sum(found) / len(found):.2f} % ({100 * min(found):.2f} %)"


def adapting():
    """Event accuracy after each step of the shift: mean and worst of three networks."""
    rows = []
    for name, file in ADAPTING.items():
        steps = read(file)["adapting"]["steps"]
        rows.append([name, *(mean_and_worst(at) for at in zip(*steps, strict=True))])
    return table(["three networks, mean (worst)", "1 pixel", "2 pixels", "3 pixels", "4 pixels"], rows)


def new_classes():
    """The paper's Table 2."""
    rows = []
    for name, file in NEW_CLASSES.items():
        result = read(file)
        rows.append([name, *(mean_and_worst(result[task]) for task in ("task1", "task2", "task1_after"))])
    return table(["float32, three networks, mean (worst)", "task 1", "task 2", "task 1 after task 2"], rows)


def fork():
    """How often the one network settles, in a sentence."""
    found = read("precision_fork")["event_accuracy"]
    often = " and ".join(f"{sum(a > SETTLED for a in of)} of {len(of)} in {name}" for name, of in found.items())
    return f"Of the starts, {often} lead to the better network (over {100 * SETTLED:.1f} % before anything is shifted)."


def parts():
    """All that the page has from these results."""
    return {"float32": adapting(), "float32, new classes": new_classes(), "fork": fork()}


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text("utf-8"), parts()), "utf-8")
