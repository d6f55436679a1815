"""Write the figures of the pages on speed, on a GPU and on live streams from saved results.

Run: python -m benchmarks.speed_tables    after `timesurf bench speed`, the same with --engine cuda, `timesurf bench
latency` and teaching.py have written speed.json, gpu.json, latency.json and teaching.json into benchmarks/results;
latency_quiet.json is latency.json of a core with nothing else to do
"""

from benchmarks.senses_tables import DOCS, filled, read, table


def speed_parts(result):
    """Tables of docs/speed.md: events per second per network and job, time per event by size."""
    rows = []
    for network, jobs in result["networks"].items():
        rows += [job_row(network, job, of) for job, of in jobs.items() if isinstance(of, dict)]
    head = ["network", "job", "one core", "all cores", "speed-up over the plain loop", "share of the multiply-add peak",
            "of inference"]  # fmt: skip
    machine, peak = result["machine"], result["multiply_adds_per_s"]
    sizes = [
        [name, ", ".join(f"{r[name]:,}: {r['infer_ns']:.0f}" for r in of)] for name, of in result["growth"].items()
    ]
    cores = f"{machine['cores']} cores ({machine['processor']})"
    field, scattered = (f"{largest(result, name):.2f} times" for name in ("field", "scattered field"))
    return {
        "cores": f"{cores} with {peak / 1e9:.0f} G multiply-adds per second each.",
        "speed": table(head, rows),
        "growth": table(["one size at a time", "ns per event"], sizes),
        "field": f"A `Full` layer over 240 x 180 x 32 costs {field} one over 28 x 28 x 32, {scattered} with scattered "
        "events: the rest is memory access.",
    }


def job_row(network, job, of):
    """One network at one job."""
    every = (
        f"{of['all_cores_events_per_s'] / 1e6:.2f} M ({of['times_one_core']:.2f} x)" if "times_one_core" in of else "-"
    )
    plain = f"{of['times_plain']:,.0f} x" if of["times_plain"] >= 10 else f"{of['times_plain']:.1f} x"
    share = f"{100 * of['share_of_peak']:.0f} %" if "share_of_peak" in of else "-"
    ratio = f"{of['times_infer']:.2f}" if "times_infer" in of else "-"
    return [network, job, f"{of['events_per_s'] / 1e6:.2f} M", every, plain, share, ratio]


def largest(result, field):
    """How much more an event costs on the largest field than on the smallest."""
    first, *_, last = (row["infer_ns"] for row in result["growth"][field])
    return last / first


TRAINING = "training, batches of "
SIDE_BY_SIDE = [f"{TRAINING}128, {n} side by side" for n in (1, 4, 16, 64)]
CARD = {  # how a row of docs/gpu.md is called: the measurements in it
    "inference": ["inference"],
    "training, batches of 60,000 / 8,192": [f"{TRAINING}{n}" for n in ("60,000", "8,192")],
    "training, batches of 2,048 / 512 / 128 / 32": [f"{TRAINING}{n}" for n in ("2,048", "512", "128", "32")],
    "deterministic, batches of 2,048 / 512 / 128": [f"{TRAINING}{n}, deterministic" for n in ("2,048", "512", "128")],
    "batches of 128, 1 / 4 / 16 / 64 networks side by side, events of all of them": SIDE_BY_SIDE,
    "three layers (32 units over 9 x 9, 64 over 3 x 3, 10), inference / batches of 2,048": [
        "three layers, inference", f"three layers, {TRAINING}2,048",
    ],
    "both polarities of 34 x 34 pixels, 32 units over 9 x 9, inference / batches of 2,048": [
        "both polarities, inference", f"both polarities, {TRAINING}2,048",
    ],
}  # fmt: skip
RESTING = {
    "what the hidden layer emits, once": "winners",
    "the last layer on it, delta rule, batches of 2,048": "last layer by the delta rule, batches of 2,048",
    "batches of 256": "last layer by the delta rule, batches of 256",
    "batches of 16": "last layer by the delta rule, batches of 16",
    "inference with evidence, both layers": "inference with evidence",
}


def gpu_parts(result):
    """Tables of docs/gpu.md: billions of events per second on the card, and in a whole call."""
    found = {row["what"]: row for row in result["rows"]}

    def rates(names, clock):
        return " / ".join(f"{found[name][f'{clock}_events_per_s'] / 1e9:#.2g}" for name in names)

    def whole(name):
        return f"{100 * found[name]['call_events_per_s'] / found[name]['card_events_per_s']:.0f} %"

    card = [[name, rates(of, "card"), rates(of, "call")] for name, of in CARD.items()]
    resting = [
        [name, *(rates([f"{units} units that rest, {what}"], c) for units in (128, 512) for c in ("card", "call"))]
        for name, what in RESTING.items()
    ]
    return {
        "card": table(["", "card", "call"], card),
        "resting": table(["", "128 units, card", "call", "512 units, card", "call"], resting),
        "whole": f"Of the card's own rate, a whole call of the paper's network reaches {whole('inference')} in "
        f"inference and {whole(f'{TRAINING}2,048')} in training with batches of 2,048.",
    }


PERCENTILES = ("p50", "p99", "p99_9")
CALLS = ["p50", "p99", "p99.9", "longest"]


def latency_parts(result):
    """The table of docs/stream.md on a small shared machine: microseconds per call."""
    rows = [[name, *micro(of), f"{of['p50_per_event']:.1f}"] for name, of in result["packets"].items()]
    rows += [[f"waiting as long as {name}", *micro(of), ""] for name, of in result["waiting"].items()]
    return {"latency": table(["events per packet", *CALLS, "p50 per event"], rows)}


def quiet_parts(result):
    """The table of docs/stream.md on a quiet core: single events, and the loop that only waits."""
    packets, waiting = result["packets"], result["waiting"]
    rows = [[name, *micro(packets[name]), f"{of['p99_9']:.1f}"] for name, of in waiting.items()]
    return {"latency, quiet core": table(["", *CALLS, "p99.9 of waiting as long"], rows)}


def teaching_parts(result):
    """The table of docs/stream.md on a digit that is taught: mean over the networks, the least and the most."""
    rows = []
    for name, key in (
        ("9", "new"),
        ("the other digits, before", "old_before"),
        ("the other digits, after", "old_after"),
    ):
        found = [100 * run[key] for run in result["runs"]]
        rows.append([name, f"{sum(found) / len(found):.1f} %", f"{min(found):.0f} to {max(found):.0f} %"])
    return {"teaching": table(["", "mean", "range"], rows)}


def micro(of):
    """Percentiles and the longest of all calls, in microseconds."""
    return [*(f"{of[p]:.1f}" for p in PERCENTILES), f"{of['max']:.0f}"]


PAGES = {
    "speed": (DOCS / "speed.md", speed_parts),
    "gpu": (DOCS / "gpu.md", gpu_parts),
    "latency": (DOCS / "stream.md", latency_parts),
    "latency_quiet": (DOCS / "stream.md", quiet_parts),
    "teaching": (DOCS / "stream.md", teaching_parts),
}


if __name__ == "__main__":
    for name, (page, parts) in PAGES.items():
        page.write_text(filled(page.read_text("utf-8"), parts(read(name))), "utf-8")
