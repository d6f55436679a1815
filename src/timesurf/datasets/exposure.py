"""Kernels of the saccade simulator: a picture moves over pixels that emit events. Arrays in, arrays out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.storage.kernels import njit

Array = NDArray[Any]


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def log_light(picture: Array, rows: Array, columns: Array, dark: float, half: Array, light: Array) -> None:
    """log(dark + 1 - rows picture columns): dark ink on a bright background, seen through the lens.

    Parameters
    ----------
    picture : IN (height, width)
        Ink, 0 to 1.
    rows, columns : IN
        Weights of the lens, on a grid finer than pixels.
    dark : float
        Light of full ink.
    half : array
        Work space.
    light : OUT
        Log intensity on the fine grid.

    """
    for i in range(rows.shape[0]):
        half[:] = 0
        for k in range(picture.shape[0]):
            if rows[i, k] > 0:
                for j in range(picture.shape[1]):
                    half[j] += rows[i, k] * picture[k, j]
        light[i, :] = dark + 1
        for j in range(picture.shape[1]):
            if half[j] > 0:
                for k in range(columns.shape[1]):
                    light[i, k] -= half[j] * columns[j, k]
        for k in range(columns.shape[1]):
            light[i, k] = np.log(max(light[i, k], dark))


@njit(cache=True, nogil=True)
def expose(light, path, fine, step, field, camera, rng, x, y, p, t):
    """Events of one recording into x, y, p, t.

    Parameters
    ----------
    light : IN
        Log intensity.
    path : IN (steps, 2)
        Sample of `light` under pixel (0, 0) at each step, as (row, column).
    fine : int
        Samples of `light` per pixel.
    step : int
        us between points of the path.
    field : tuple of int
        (width, height).
    camera : tuple of float
        on, off, spread, jitter, follow (share of the difference to the light that a receptor closes per step), dead,
        loss, noise of both polarities (events per step, of all pixels).
    rng : Generator
        Random numbers.
    x, y, p, t : OUT (room,)
        Events.

    Returns
    -------
    int
        How many events there are, also where there is no room for all.

    """
    width, height = field
    on, off, spread, jitter, follow, dead, loss, noise_on, noise_off = camera
    pixels = width * height
    level, rest, free = np.empty(pixels), np.empty(pixels), np.zeros(pixels)
    own, up, down = np.empty(pixels), np.empty(pixels), np.empty(pixels)
    for i in range(pixels):
        own[i] = max(1 + spread * rng.standard_normal(), 0.2)
        up[i], down[i] = on * own[i], off * own[i]
    n = 0
    for s in range(len(path)):
        row, column = path[s]
        r0, c0 = int(row), int(column)
        fr, fc = row - r0, column - c0
        began, first = s * step, n
        for i in range(pixels):
            r, c = r0 + (i // width) * fine, c0 + (i % width) * fine
            seen = (1 - fr) * ((1 - fc) * light[r, c] + fc * light[r, c + 1]) + fr * (
                (1 - fc) * light[r + 1, c] + fc * light[r + 1, c + 1]
            )
            if s == 0:
                level[i] = seen
                rest[i] = seen + (rng.random() - 0.5) * min(up[i], down[i])  # as if earlier movements had left it there
                continue
            old = level[i]
            change = follow * (seen - old)
            level[i] = old + change
            while free[i] < began + step:
                when = max(free[i], began)
                here = old + change * (when - began) / step
                if free[i] > began:  # its dead time ends: a share of what changed meanwhile is lost
                    rest[i] += loss * (here - rest[i])
                if old + change - rest[i] >= up[i]:
                    goal, polarity, overdue = rest[i] + up[i], 1, here - rest[i] >= up[i]
                elif rest[i] - old - change >= down[i]:
                    goal, polarity, overdue = rest[i] - down[i], 0, rest[i] - here >= down[i]
                else:
                    break
                if not overdue:
                    when = began + step * (goal - old) / change
                if n < len(t):
                    x[n], y[n], p[n], t[n] = i % width, i // width, polarity, int(when)
                n += 1
                rest[i] = goal
                free[i] = when + max(dead * (1 + jitter * rng.standard_normal()), 1.0)
                factor = own[i] * max(1 + jitter * rng.standard_normal(), 0.2)
                up[i], down[i] = on * factor, off * factor
        for polarity, rate in ((1, noise_on), (0, noise_off)):
            for _ in range(rng.poisson(rate)):
                i = rng.integers(0, pixels)
                if n < len(t):
                    x[n], y[n], p[n], t[n] = i % width, i // width, polarity, began + rng.integers(0, step)
                n += 1
        for a in range(first + 1, min(n, len(t))):  # few events per step, nearly in order
            b = a
            while b > first and t[b - 1] > t[b]:
                x[b - 1], x[b] = x[b], x[b - 1]
                y[b - 1], y[b] = y[b], y[b - 1]
                p[b - 1], p[b] = p[b], p[b - 1]
                t[b - 1], t[b] = t[b], t[b - 1]
                b -= 1
    return n
