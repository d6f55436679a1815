"""Write the figures of docs/howto/microcontroller.md from the results of the benchmarks of exported C.

Run: python -m benchmarks.microcontroller_tables    after microcontroller.py, random_networks_in_c.py and
learning_in_c.py have written JSON files of the same names into benchmarks/results
"""

from benchmarks.senses_tables import DOCS, filled, read, table

PAGE = DOCS / "howto" / "microcontroller.md"
NETWORKS = {
    "sentences": "sentences (3, 6, 2 units)",
    "digits32": "digits, 32 units",
    "digits64": "digits, 64 units",
    "braille": "braille, 128 units",
}
NUMBERS = ("float32", "int16", "int8")


def by_network(result, cells):
    """Rows of each network in each kind of numbers."""
    rows = []
    for name, network in result["networks"].items():
        by = ", by evidence" if network["float32"]["check"]["decides"] == "evidence" else ""
        rows += [[NETWORKS[name] + by if n == "float32" else "", n, *cells(network[n])] for n in NUMBERS]
    return rows


def taken(figures):
    """Memory, and what the emulated processor does."""
    firmware = figures["firmware"]
    per_second = [firmware[f"events_per_second_{clock}_MHz"] / 1000 for clock in (100, 480)]
    return [
        f"{figures['check']['ram'] / 1000:,.1f} kB", f"{firmware['flash'] / 1000:,.1f} kB",
        f"{firmware['instructions_per_event']:,.0f}", f"{firmware['most_instructions']:,}",
        f"{per_second[0]:.1f} k", f"{per_second[1]:.0f} k",
    ]  # fmt: skip


def agreement(figures):
    """Recording accuracy of C and network, and where they agree."""
    check = figures["check"]
    shares = [check["recording_accuracy"], check["network_recording_accuracy"], check["decisions"]]
    return [f"{100 * share:.1f} %" for share in shares] + [f"{100 * min(check['winners']):.2f} %"]


def speeds(result):
    """Nanoseconds per event on the host."""
    kinds = list(next(iter(result["networks"].values()))["ns_per_event"])
    rows = [[NETWORKS[name], *(f"{of['ns_per_event'][kind]:,.0f}" for kind in kinds)]
            for name, of in result["networks"].items()]  # fmt: skip
    return table(["network", *(kind if "," in kind else f"C, {kind}" for kind in kinds)], rows)


def measured(result):
    """What was measured on."""
    each = [network["float32"] for network in result["networks"].values()]
    events = sorted(figures["firmware"]["events"] for figures in each)
    tested = ", ".join(f"{n} {of['check']['recordings']:,}" for n, of in zip(result["networks"], each, strict=True))
    return (
        f"Firmware by {result['cross_compiler']} at `-O2`, on {events[0]:,} to {events[-1]:,} events; the PC is one "
        f"core of {result['machine']['processor']}, `-O3 -march=native`. Recordings tested: {tested}; seed "
        f"{result['seed']}."
    )


def microcontroller_parts(result):
    """What exported networks take, how they agree with their networks, and how fast they are on a PC."""
    head = ["network", "numbers"]
    memory = ["RAM", "flash", "instructions per event", "at most", "events/s at 100 MHz", "at 480 MHz"]
    same = ["recording accuracy", "of the network", "same decisions", "same winners, worst layer"]
    return {
        "takes": table([*head, *memory], by_network(result, taken)),
        "agreement": table([*head, *same], by_network(result, agreement)),
        "host": speeds(result),
        "measured": measured(result),
    }


def random_parts(result):
    """What random networks showed, in a sentence."""
    counts = result["counts"]
    return {
        "random": f"{counts['events']:,} events of {counts['networks']} random networks: of the {counts['before']:,} "
        f"events before the first near-tie of their recording {counts['before_differ'] or 'none'} differ in a winner "
        f"or a rejection; of {counts['plain']:,} recordings without any, {counts['plain_differ'] or 'none'} differ in "
        f"the decision, and of all {counts['recordings']:,} {counts['decisions_differ'] or 'none'}."
    }


ENDS = {
    "c_float32": "C, `float32`",
    "c_float64": "C, `--numbers float64`",
    "engine_float32": 'the engine with `precision="float32"`',
    "engine_shifted": "the engine from a start that differs by 1e-7",
}


def learning_parts(result):
    """How far parameters end from those of the online engine: the least and the most of all networks."""
    rows = []
    for start in ("trained", "untrained"):
        found = [row for row in result["apart"] if row["start"] == start]
        rows.append([start, *(between([row[name] for row in found]) for name in ENDS)])
    return {"learning": table(["start", *ENDS.values()], rows)}


def between(values):
    """The least and the most, to one digit."""
    ends = [f"{value:.0e}".replace("e-0", "e-") for value in (min(values), max(values))]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


PARTS = {
    "microcontroller": microcontroller_parts,
    "random_networks_in_c": random_parts,
    "learning_in_c": learning_parts,
}


def parts():
    """All that the page has from results."""
    found = {}
    for name, make in PARTS.items():
        found |= make(read(name))
    return found


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text("utf-8"), parts()), "utf-8")
