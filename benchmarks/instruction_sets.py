"""The same trainings, compiled for other instruction sets: do networks decide the same, how far apart do they end?

Run: python benchmarks/instruction_sets.py [JSON file] [FOLDER]

On a processor with AVX-512. Everything is compiled three times; FOLDER keeps that for the next time.

Each set has a process of its own: numba compiles for it, and OpenBLAS takes its kernels for it. Sentences are learned
online and in batches, simulated digits in batches, in float64; sentences in batches in float32 too, where an early
near-tie may end in another network.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SETS = {  # what numba compiles for, and OpenBLAS's name of such a processor
    "AVX-512": ("skylake-avx512", "+avx512f,+avx512vl,+avx512bw,+avx512dq,+avx512cd,+avx2,+fma", "SkylakeX"),
    "AVX2 with FMA": ("haswell", "+avx2,+fma", "Haswell"),
    "SSE2": ("x86-64", "+sse2", "Prescott"),
}


def digits():
    """Simulated recordings: made once, since a processor may round some of their times to the next microsecond."""
    from sklearn.datasets import load_digits

    from timesurf.datasets import saccades

    small = load_digits()
    images = np.pad(np.kron(small.images[:120] / 16, np.ones((1, 2, 2))), ((0, 0), (2, 2), (2, 2)))
    return saccades.simulate(images, small.target[:120], seed=3)


def networks(data):
    """Networks by the name of their training, and recordings that they have not seen."""
    from timesurf import Full, Network, Rule, Window
    from timesurf.datasets import sentences
    from timesurf.presets import SENTENCES

    learn, test = sentences.make(100, seed=1), sentences.make(20, seed=2)
    for name, dtype, how in (
        ("sentences, online", "float64", {"passes": 6}),
        ("sentences, batches", "float64", {"passes": 3, "batch_size": 10}),
        ("sentences, batches, float32", "float32", {"passes": 3, "batch_size": 10}),
    ):
        network = SENTENCES.network(learn, sentences.TASK1, 0, dtype=dtype)
        network.rule = Rule().scaled(2) if "online" in name else Rule()
        yield name, network.fit(learn, **how), test
    layers, rule = [Window(5, units=6, tau="10 ms"), Full(tau="5 ms")], Rule(alpha=3e-5, beta=0, gamma=1e-4, delta=1e-5)
    network = Network(layers, data.field, data.polarities, range(10), rule=rule, dtype="float64")
    how = {"passes": 2, "batch_size": 16, "decay": True, "keep": 0.7, "start": "kmeans"}
    yield "digits, batches", network.fit(data[:60], **how), data[60:]


def trained(file, recordings):
    """Train in this process, and write parameters and decisions."""
    from timesurf.io import npz

    found = {}
    for name, network, test in networks(npz.read(recordings)):
        trace = network.trace(test)
        found[f"{name}|winner"], found[f"{name}|passed"] = trace.winner, trace.passed
        for k, units in enumerate(network.parameters):
            found[f"{name}|{k}|centroids"], found[f"{name}|{k}|thresholds"] = units.centroids, units.thresholds
    np.savez(file, **found)


def apart(one, other):
    """The largest difference of parameters, and whether all decisions are the same, by training."""
    result = {}
    for name in dict.fromkeys(key.split("|")[0] for key in one):
        keys = [key for key in one if key.startswith(f"{name}|")]
        same = all(np.array_equal(one[key], other[key]) for key in keys if key.endswith(("winner", "passed")))
        with np.errstate(invalid="ignore"):  # thresholds may be infinite in both
            differ = max(
                float(np.nan_to_num(np.abs(one[key] - other[key])).max())
                for key in keys
                if key.endswith(("centroids", "thresholds"))
            )
        result[name] = {"same_decisions": same, "parameters_differ": differ}
    return result


def main(json_file=None, kernels=None):
    """Train with every set, compare with the first, print, and write the figures."""
    from timesurf.io import npz
    from timesurf.results import machine

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        recordings = Path(folder) / "digits.npz"
        npz.write(recordings, digits())
        for name, (cpu, features, blas) in SETS.items():
            file = Path(folder) / "networks.npz"
            chosen = {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": features, "OPENBLAS_CORETYPE": blas}
            environment = os.environ | chosen | {"NUMBA_CACHE_DIR": str(Path(kernels or folder) / name)}
            subprocess.run(
                [sys.executable, __file__, "--train", str(file), str(recordings)], env=environment, check=True
            )
            with np.load(file) as arrays:
                found[name] = dict(arrays)
            print(f"{name}: trained", flush=True)
    first, *others = found
    result = {"from": first, "differ": {name: apart(found[first], found[name]) for name in others}}
    for name, of in result["differ"].items():
        for training, figures in of.items():
            print(f"{name}, {training}: {figures}", flush=True)
    if json_file:
        with open(json_file, "w", encoding="utf-8") as out:
            json.dump(result | {"machine": machine.describe()}, out, indent=1)


if __name__ == "__main__":
    trained(*sys.argv[2:]) if sys.argv[1:2] == ["--train"] else main(*sys.argv[1:])
