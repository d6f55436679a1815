"""Fit the simulated camera to real recordings of the same digits: its path and its constants, in turn.

Run: python benchmarks/saccades_fit.py nmnist_train_1000.npz mnist.npz [JSON file]    (about ten minutes)

The path: in every 5 ms, the position at which the image's gradient fits the events (brighter minus darker) best. The
constants: a simplex (Nelder and Mead) on the sum of distances of `saccades_realism.py`. Then the path is corrected by
what the same search finds in the simulation, and by its speed.
"""

import json
import sys
from dataclasses import asdict, replace

import numpy as np
from saccades_realism import counts, distances
from scipy.ndimage import gaussian_filter, gaussian_filter1d
from scipy.optimize import minimize

from timesurf.datasets import nmnist, saccades

NAMES = ("blur", "dark", "on", "off", "spread", "jitter", "lag", "dead", "loss")
START = saccades.Camera(blur=0.6, dark=0.3, on=0.2, off=0.2, spread=0.1, jitter=0.1, lag=1000, dead=2000, loss=0.5)
FEW = 300  # recordings that the simplex uses
BORDER = 8  # pixels around an image, so that it can move
FAST = 30  # events per window and recording; with fewer, its position gets less weight


def spectra(images):
    """Fourier transforms of the images' gradients along x and y."""
    wide = np.pad(images / 255, ((0, 0), (BORDER, BORDER), (BORDER, BORDER)))
    down, across = np.gradient(gaussian_filter(wide, (0, 1, 1)), axis=(1, 2))
    return [np.fft.rfft2(g, (64, 64)) for g in (across, down)]


def positions(recordings, gradients):
    """Position of the image's corner in every window of 5 ms."""
    t, (x, y), n = recordings.t, recordings.coords, len(recordings)
    pixel = (np.repeat(np.arange(n), recordings.counts) * 34 + y) * 34 + x
    brighter = 2.0 * recordings.p - 1
    found = []
    for window in range(62):
        now = t // saccades.KNOT == window
        signed = np.bincount(pixel[now], weights=brighter[now], minlength=n * 34 * 34).reshape(n, 34, 34)
        seen = np.conj(np.fft.rfft2(signed, (64, 64)))
        fit = np.hypot(*(np.fft.irfft2((g * seen).sum(axis=0)) for g in gradients))
        row, column = np.unravel_index(fit.argmax(), fit.shape)
        peak = [column + summit(fit[row], column), row + summit(fit[:, column], row)]
        found.append([BORDER - (k if k < 32 else k - 64) for k in peak])
    return np.array(found)


def summit(values, top):
    """Offset of the maximum of a parabola through the highest value and its neighbours."""
    before, here, after = values[top - 1], values[top], values[(top + 1) % len(values)]
    return 0.5 * (before - after) / (before - 2 * here + after)


def at_knots(windows, knots):
    """Interpolate values in the middle of windows to their edges."""
    middle = (np.arange(len(windows)) + 0.5) * saccades.KNOT
    return np.stack([np.interp(np.arange(knots) * saccades.KNOT, middle, column) for column in windows.T], axis=1)


def total(d):
    """The sum of distances that is minimised."""
    return d["rate"] + d["bursts"] + d["same"] + d["other"] + 2 * d["image"]


def polish(camera, images, real, tries):
    """Find the constants with which the simulation is closest to the recordings."""
    first = np.log([getattr(camera, name) for name in NAMES])

    def built(z):
        values = dict(zip(NAMES, np.exp(z).tolist(), strict=True))
        return replace(camera, **values | {"loss": min(values["loss"], 1.0)})

    def far(z):
        return total(distances(counts(saccades.simulate(images, camera=built(z), seed=3)), real))

    corners = np.vstack(
        [first, first + 0.35 * np.eye(len(first)) * np.where(np.arange(len(first)) % 2, 1, -1)[:, None]]
    )
    options = {"initial_simplex": corners, "maxfev": tries}
    return built(minimize(far, first, method="Nelder-Mead", options=options).x)


def straighten(camera, images, gradients, real, where, rounds):
    """Correct the path several times; the best correction."""
    path, best = np.array(camera.path), (np.inf, camera)
    for number in range(rounds):
        camera = replace(camera, path=tuple(map(tuple, path.round(2).tolist())))
        simulated = saccades.simulate(images, camera=camera, seed=number)
        these = counts(simulated)
        far = total(distances(these, real))
        best = min(best, (far, camera), key=lambda pair: pair[0])
        print(f"  path, correction {number}: {far:.3f}", flush=True)
        rate, this_rate = (of["rate"].sum(axis=0)[:62] for of in (real, these))
        trust = np.minimum(rate / FAST, 1)[:, None]
        missing = np.clip(where - positions(simulated, gradients), -0.3, 0.3) * trust
        path = path + 0.5 * at_knots(gaussian_filter1d(missing, 0.8, axis=0), len(path))
        if number % 2:  # move faster where events are missing, without changing the path as a whole
            faster = np.diff(path, axis=0)
            faster[:62] *= np.sqrt(np.clip((rate + 2) / (this_rate + 2), 0.7, 1.4))[:, None]
            change = np.vstack([path[:1], path[0] + np.cumsum(faster, axis=0)]) - path
            path = path + change - gaussian_filter1d(change, 6, axis=0)
    return best[1]


def main(recordings_file, images_file, json_file=None):
    """Fit, print, and write the camera."""
    recordings = nmnist.read(recordings_file)
    with np.load(images_file) as arrays:
        images = arrays["x_train"][: len(recordings)]
    gradients, real, few = spectra(images), counts(recordings), counts(recordings[:FEW])
    where = positions(recordings, gradients)
    smooth = gaussian_filter1d(where[:61], 1.5, axis=0, mode="nearest")
    camera = replace(START, path=tuple(map(tuple, np.vstack([smooth[:1], smooth, smooth[-1:]]).tolist())))
    for rounds, tries in ((0, 200), (4, 150), (4, 100)):
        if rounds:
            camera = straighten(camera, images, gradients, real, where, rounds)
        camera = polish(camera, images[:FEW], few, tries)
        found = distances(counts(saccades.simulate(images, camera=camera, seed=1)), real)
        print(f"{total(found):.3f}", {name: round(value, 3) for name, value in found.items()}, flush=True)
    print(camera)
    if json_file:
        with open(json_file, "w", encoding="utf-8") as file:
            json.dump({"camera": asdict(camera), "distances": found}, file, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
