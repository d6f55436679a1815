"""`timesurf demo` and `timesurf warmup`: first steps."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from timesurf.cli.app import Seed, app, console, progress, say_next, write_plot
from timesurf.cli.sentences import table1


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the model and the figure.", file_okay=False)] = Path("demo"),
    seed: Seed = 0,
) -> None:
    """Train one network on the paper's benchmark, print its figures, draw its features.

    Example: timesurf demo --out demo
    """
    from timesurf import plots
    from timesurf.paper import table1 as classification

    out.mkdir(parents=True, exist_ok=True)
    console.print(
        "Two sentences, v/v yty and vxv yty, written by noisy pixels. They differ only in x and /.\n"
        "Training a network of 3, 6 and 2 units on 1,000 recordings ..."
    )
    with progress("training", 1) as report:
        sup3r, kmeans, test = classification.train(seed, 0, 1000, report)
    figures = {"sup3r": sup3r.evaluate(test), "kmeans": kmeans.evaluate(test)}
    console.print(table1({name: {k: [v[k]] for k in ("event_accuracy", "kept")} for name, v in figures.items()}))
    sup3r.save(out / "sentences.tsf")
    trace = sup3r.trace(test[:200])
    through = trace.winner[trace.passed == len(sup3r.stages), 0]
    use = np.bincount(through, minlength=sup3r.stages[0].units) / max(len(through), 1)
    accuracy = (figures["sup3r"]["event_accuracy"], figures["kmeans"]["event_accuracy"])
    write_plot(out / "features.png", lambda: plots.compare_features(sup3r, kmeans, use, accuracy), optional=True)
    console.print(f"The trained network: {out / 'sentences.tsf'}", highlight=False, soft_wrap=True)
    say_next(f"timesurf inspect {out / 'sentences.tsf'}", "what the model contains")
    say_next("timesurf train DATA --model m.tsf", "your own recordings: a folder with one folder of files per class")


@app.command()
def warmup() -> None:
    """Compile the CPU kernels for this machine now, so that the first run does not have to.

    Example: timesurf warmup
    """
    from timesurf.engines.cpu import engine as cpu

    began = time.perf_counter()
    with console.status("Compiling ..."):
        cpu.warm_up()
    console.print(f"Compiled in {time.perf_counter() - began:.0f} s and stored on disk.", highlight=False)
