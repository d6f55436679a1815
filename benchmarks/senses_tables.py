"""Write the tables of README and of pages on the family, settings, robustness and digits, and pictures, from results.

Run: python benchmarks/senses_tables.py    after `timesurf bench senses`, `family`, `settings` and `robustness` have
written senses.json, family.json, settings.json and robustness.json into benchmarks/results; `bench nmnist` with
--simulated, with --npz and with --transfer nmnist_beyond.json, nmnist_folds.json and transfer.json; depth.py depth.json
"""

import json
import math
import re
from pathlib import Path

from timesurf import plots
from timesurf.bench import family, robustness, senses, settings
from timesurf.paper import beyond

ROOT = Path(__file__).parents[1]
RESULTS, DOCS = ROOT / "benchmarks" / "results", ROOT / "docs"


def table(head, rows):
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def by_method(found, cell):
    """One row per method, one column per data set; `cell` turns the figures of all methods on one into text."""
    columns = {data: {name: cell(name, of) for name in of} for data, of in found.items()}
    methods = dict.fromkeys(name for of in columns.values() for name in of)
    return table(["", *columns], [[f"`{m}`", *(of.get(m, "") for of in columns.values())] for m in methods])


def accuracy(name, of):
    """Recording accuracy in per cent with its standard error; the best is bold."""
    mine = of[name]
    text = f"{100 * mine['recording_accuracy']:.1f}"
    if mine["recording_accuracy"] == max(figures["recording_accuracy"] for figures in of.values()):
        text = f"**{text}**"
    return with_error(text, mine["standard_error"])


def differences(of, data):
    """Differences in points with their standard errors, one per data set."""
    return [with_error(f"{100 * of[each][0]:+.1f}", of[each][1]) if each in of else "" for each in data]


def with_error(text, error, scale=100, digits=1):
    """A figure with its standard error where there is one, in points unless another scale is named."""
    return text if math.isnan(error) else f"{text} ± {scale * error:.{digits}f}"


def use(name, of):
    """Units that win as evenly, of how many there are."""
    return f"{of[name]['evenly_used']:.0f} of {of[name]['units']:.0f}" if "units" in of[name] else ""


def speed(name, of):
    """Events per second as a multiple of the default's, where both were timed in one run."""
    return "" if math.isnan(of[name]["speed"]) else f"{of[name]['speed']:.2g}"


def kept(found):
    """Which methods reject events, and on which data sets, in a sentence per method."""
    of_method = {}
    for data, of in found.items():
        for name, figures in of.items():
            if figures["kept"] < 0.995:  # less than 100 % as printed
                of_method.setdefault(name, []).append(f"{100 * figures['kept']:.2g} % of {data}")
    sentences = [f"`{name}` keeps {', '.join(shares)}." for name, shares in of_method.items()]
    return " ".join([*sentences, "Everywhere else all are kept."]) if sentences else "All are kept in every case."


def measured(result, rows):
    """What was measured on."""
    machine = result["machine"]
    learned = {row["data"]: row["learned_from"] for row in rows if row.get("per_class") is None}
    sizes = ", ".join(f"{name} {number:,}" for name, number in learned.items())
    text = f"Recordings learned from: {sizes}. Measured on {machine['cores']} cores ({machine['processor']})."
    calls = [f"    {call}" for call in result.get("calls", [])]  # of a file that was put together from several
    head = [f"{text} One call for each data set:", "", "<!-- not for running: needs the data sets -->", ""]
    return "\n".join([*head, *calls]) if calls else text


CLAIMS = ("homeostasis", "feast", "restarts")  # whose papers say that they learn better features than HOTS
CONTROLS = ("hots_random", "cosine_random", "hots_online", "hots", "cosine")


def claims(rows, data, number=None):
    """By how many points those methods are ahead of HOTS, split by split."""
    pairs = [(method, control) for method in CLAIMS for control in CONTROLS]
    lines = [[f"`{a}` less `{b}`", *differences(family.ahead(rows, a, b, number), data)] for a, b in pairs]
    return table(["", *data], lines)


def family_parts(result):
    """The parts of docs/family.md that are figures."""
    rows = result["family"]
    whole = family.summary(rows)
    parts = {
        "measured": measured(result, rows),
        "claims": claims(rows, list(whole)),
        "accuracy": by_method(whole, accuracy),
        "units": by_method({data: {n: f for n, f in of.items() if "units" in f} for data, of in whole.items()}, use),
        "kept": kept(whole),
        "speed": by_method(whole, speed),
    }
    for number in sorted({row["per_class"] for row in rows} - {None}):
        some = family.summary(rows, number)
        parts[f"shots {number}"] = by_method(some, accuracy)
        parts[f"claims {number}"] = claims(rows, list(some), number)
    return parts


def settings_parts(result):
    """The parts of docs/settings.md that are figures."""
    rows = result["settings"]
    data = list(dict.fromkeys(row["data"] for row in rows))

    def by_setting(figure, first, scale, digits):
        def shown(value):
            return f"{scale * value:+.{digits}f}"

        law = [[row[figure] for row in rows if row["data"] == name and row["factor"] == 1] for name in data]
        lines = [[first, *(f"{scale * sum(each) / len(each):.{digits}f}" for each in law), "", ""]]
        for name, of in settings.changes(rows, figure).items():
            cells = [with_error(shown(of[d][0]), of[d][1], scale, digits) if d in of else "" for d in data]
            gains = [mean for mean, _ in of.values()]
            lines.append([name, *cells, shown(sum(gains) / len(gains)), shown(min(gains))])
        return table(["", *data, "mean", "worst"], lines)

    return {
        "measured": measured(result, rows),
        "changes": by_setting("recording_accuracy", "as chosen, %", 100, 1),
        "likelihoods": by_setting("log_probability", "as chosen", 1, 2),
    }


def robustness_parts(result):
    """The parts of docs/robustness.md that are figures: one table for all data sets."""
    rows, found = result["robustness"], robustness.curves(result["robustness"])
    columns = [(data, method) for data in found for method in robustness.METHODS]
    lines = []
    for disturbance, of in robustness.DISTURBANCES.items():
        for level in (0, *of.levels):
            cells = [f"{100 * found[data][disturbance][method][level][0]:.0f}" for data, method in columns]
            lines.append([disturbance if level == 0 else "", f"{level:g}" if level else "none", *cells])
    return {"measured": measured(result, rows), "table": table(["", "", *(f"{d}: `{m}`" for d, m in columns)], lines)}


SENSES = {"default": "timesurf", "hots": "HOTS, histogram", "counts_8": "counts, 8 parts", "counts_1": "counts"}
NAMES = {  # for readers who do not know the files; others are named as `timesurf bench senses` names them
    "N-MNIST, real thousand": "N-MNIST, first 1,000 recordings",
    "digits, wandering": "four digits that wander over 346 x 260 pixels",
    "POKER pips": "playing-card suits (POKER-DVS)",
    "cochlea tones below 10 dB": "cochlea tones, SNR below 10 dB",
    "braille touch": "letters in braille, touch",
}


def clearly_best(accuracies):
    """The method that is ahead of every other by over two standard errors, split by split; None if there is none."""
    best = max(accuracies, key=lambda name: sum(accuracies[name]))
    for name, others in accuracies.items():
        if name != best:
            by, error = senses.mean_and_error([a - b for a, b in zip(accuracies[best], others, strict=True)])
            if not by > 2 * error:  # nor if there is one split only, whose error is NaN
                return None
    return best


def of_range(accuracies):
    """The least and the most in per cent, with a decimal where they differ but would be printed alike."""
    ends = min(accuracies), max(accuracies)
    if ends[0] == ends[1]:
        return f"{100 * ends[0]:.0f} %"
    alike = f"{100 * ends[0]:.0f}" == f"{100 * ends[1]:.0f}"
    return " to ".join(f"{100 * end:.{int(alike)}f}" for end in ends) + " %"


def senses_parts(result):
    """The table of README: each method on each data set; one that is clearly the best in bold."""
    rows = []
    for row in result["senses"]:
        accuracies = {name: row[name] for name in SENSES if name in row}
        shown = {name: f"{100 * sum(each) / len(each):.1f} %" for name, each in accuracies.items()}
        texts = dict.fromkeys(SENSES, "") | shown  # a method that was not measured there: empty
        if (best := clearly_best(accuracies)) is not None:
            texts[best] = f"**{texts[best]}**"
        spread = of_range(row["default"])
        first, *others = texts.values()
        rows.append([NAMES.get(row["data"], row["data"]), first, spread, *others])
    first, *others = SENSES.values()
    return {"senses": table(["", first, "range", *others], rows)}


def changed(row):
    """What tuning changed, and in how many splits."""
    each = [" and ".join(f"{name} x {by:g}" for name, by in chosen(trials).items()) for trials in row["trials"]]
    counts = {what: each.count(what) for what in dict.fromkeys(each) if what}
    return "; ".join(f"{what} ({number} of {len(each)})" for what, number in counts.items()) or "nothing"


def chosen(trials):
    """The factors of the best trial."""
    return [trial["knobs"] for trial in trials if trial["best"]][-1]


def tuned_parts(result):
    """What tuning gains, in docs/howto/tune.md."""
    rows = []
    for row in result["senses"]:
        gain = senses.mean_and_error([b - a for a, b in zip(row["default"], row["tuned"], strict=True)])
        means = [f"{100 * sum(row[name]) / len(row[name]):.1f} %" for name in ("default", "tuned")]
        trials = sorted(len(each) for each in row["trials"])
        number = f"{trials[0]} to {trials[-1]}" if trials[0] < trials[-1] else str(trials[0])
        rows.append(
            [NAMES.get(row["data"], row["data"]), *means, *differences({"gain": gain}, ["gain"]), number, changed(row)]
        )
    return {"tuned": table(["", "default", "tuned", "difference, points", "trials", "changed"], rows)}


def counting_parts(result):
    """Last times beside leaky counts, in docs/rule.md."""
    rows = []
    of = {}
    for row in result["counting"]:
        of.setdefault(row["data"], []).append(row)
    for data, each in of.items():
        cells = [
            f"{100 * sum(row[kind][what]['accuracy'] for row in each) / len(each):.1f} %"
            for what in ("moments", "whole")
            for kind in ("last_times", "counts")
        ]
        rows.append([NAMES.get(data, data), str(len(each)), *cells])
    head = ["", "splits", "moments: last times", "counts", "recordings: last times", "counts"]
    return {"counting": table(head, rows)}


def shown_accuracy(row):
    """Recording accuracy with its interval, in per cent."""
    low, high = row["interval"]
    return f"{100 * row['recording_accuracy']:.2f} % ({100 * low:.1f} to {100 * high:.1f} %)"


def of_seeds(row):
    """The accuracies of networks that differ in their seed, the lowest and the highest."""
    seeds = row.get("seeds", [])
    return f"{100 * min(seeds):.2f} to {100 * max(seeds):.2f} % of {len(seeds)}" if seeds else "one"


def beyond_parts(result):
    """Rows beyond the paper in docs/table3.md, on simulated recordings."""
    rows = [
        [f"`{name}`", shown_accuracy(result[name]), of_seeds(result[name]), f"{100 * result[name]['kept']:.0f} %",
         f"{result[name]['seconds']:.0f}"]
        for name in beyond.ROWS
        if name in result
    ]  # fmt: skip
    return {"beyond": table(["row", "recording accuracy (95 %)", "networks", "events kept", "training, s"], rows)}


def folds_parts(result):
    """Rows beyond the paper in docs/table3.md, on folds of real recordings."""
    rows = [
        [f"`{name}`", shown_accuracy(result[name]), f"{100 * result[name]['kept']:.0f} %"]
        for name in beyond.ROWS
        if name in result
    ]
    return {"folds": table(["row", "recording accuracy (95 %)", "events kept"], rows)}


def transfer_parts(result):
    """From simulated to real recordings, in docs/table3.md: one row per network, and what adapting gave."""
    rows, adapted = [], []
    for name, of in result["networks"].items():
        simulated, real = of["simulated"], of["zero_shot"]
        cells = [shown_accuracy(simulated), f"{100 * simulated['kept']:.0f} %", shown_accuracy(real)]
        rows.append([name, *cells, of_seeds(simulated), f"{of['training_s']:.0f}"])
        cells = [f"{100 * row['before']:.1f} → {100 * row['recording_accuracy']:.1f} %" for row in of["adapted"]]
        adapted.append([name, *cells])
    head = ["", "simulated, test images (95 %)", "events kept", "real, never seen (95 %)", "networks", "training, s"]
    shots = [f"{row['recordings']} real" for row in of["adapted"]]
    return {"transfer": table(head, rows), "adapted": table(["", *shots], adapted)}


def depth_parts(result):
    """One hidden layer and two, in docs/table3.md: mean over the splits that all networks were measured on."""
    rows = result["depth"]
    networks, data = (list(dict.fromkeys(row[name] for row in rows)) for name in ("network", "data"))
    found = {(row["data"], row["network"], row["seed"]): row["recording_accuracy"] for row in rows}
    lines = []
    for name in data:
        seeds = [s for s in range(99) if all((name, network, s) in found for network in networks)]
        means = [f"{100 * sum(found[name, n, s] for s in seeds) / len(seeds):.1f} %" for n in networks] if seeds else []
        lines += [[name, str(len(seeds)), *means]] if seeds else []
    return {"depth": table(["", "splits", *networks], lines)}


def read(name):
    """A saved result."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def filled(page, parts):
    """The page with these parts in place of what is between their marks."""
    for name, text in parts.items():
        mark = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        page = re.sub(mark, lambda found, text=text: f"{found[1]}\n{text}\n\n{found[2]}", page, flags=re.DOTALL)
    return page


PAGES = {
    "family": (DOCS / "family.md", family_parts),
    "settings": (DOCS / "settings.md", settings_parts),
    "robustness": (DOCS / "robustness.md", robustness_parts),
    "senses": (ROOT / "README.md", senses_parts),
    "tuned": (DOCS / "howto" / "tune.md", tuned_parts),
    "counting": (DOCS / "rule.md", counting_parts),
    "transfer": (DOCS / "table3.md", transfer_parts),
    "nmnist_beyond": (DOCS / "table3.md", beyond_parts),
    "nmnist_folds": (DOCS / "table3.md", folds_parts),
}


def main():
    """Rewrite the tables and the pictures of all pages."""
    results = {name: read(name) for name in PAGES}
    for name, (page, parts) in PAGES.items():
        page.write_text(filled(page.read_text("utf-8"), parts(results[name])), "utf-8")
    pictures = {
        "family": plots.family(family.curves(results["family"]["family"])),
        "settings": plots.settings(settings.changes(results["settings"]["settings"])),
        "robustness": plots.robustness(robustness.curves(results["robustness"]["robustness"])),
    }
    for name, picture in pictures.items():
        picture.savefig(DOCS / "images" / f"{name}.png", dpi=110)


if __name__ == "__main__":
    main()
