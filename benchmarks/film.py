"""The film on the first page: two noisy sentences that differ in one character, the events kept, and the decision.

The paper's network for sentences learns from 1,000 recordings, as for Table 1. Shown is the first test recording of
each sentence, whatever the network decides on it.

Run: python benchmarks/film.py docs/images/film.gif
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from timesurf import Network, plots
from timesurf.datasets import sentences
from timesurf.presets import SENTENCES

SECONDS, FPS, SIZE, COLOURS = 3.0, 10, (560, 280), 16


def main(path: str) -> None:
    train, test = sentences.make(1000, seed=1), sentences.make(200, seed=2)
    network = SENTENCES.network(train, sentences.TASK1, 0).fit(train, **SENTENCES.training())
    print(network.evaluate(test))
    first = np.sort(np.unique(test.labels, return_index=True)[1])
    frames = [frame for n in first for frame in film(network, test[int(n)])]
    palette = frames[-1].quantize(COLOURS)
    small = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    small[0].save(path, save_all=True, append_images=small[1:], duration=1000 // FPS, loop=0, optimize=True)
    print(f"{path}: {Path(path).stat().st_size / 1000:.0f} kB")


def film(network: Network, one) -> list[Image.Image]:
    """Frames of a recording."""
    with tempfile.TemporaryDirectory() as folder:
        path = plots.animate(network, one, Path(folder) / "one.gif", seconds=SECONDS, fps=FPS)
        with Image.open(path) as whole:
            found = []
            for n in range(whole.n_frames):
                whole.seek(n)
                found.append(whole.convert("RGB").resize(SIZE, Image.Resampling.LANCZOS))
    return found


if __name__ == "__main__":
    main(sys.argv[1])
