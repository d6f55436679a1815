"""The kernels, as far as a compiler can tell. tests/gpu runs them."""

import shutil
import subprocess
from importlib.resources import files

import pytest

from tests.engines.cuda.networks import DEEPER, DIGITS, FOUR, POOLED, POOLED_TWICE, SENTENCES
from timesurf.engines.cuda import moving
from timesurf.engines.cuda.blocks import blocks
from timesurf.engines.cuda.deep import deep
from timesurf.engines.cuda.general import plan
from timesurf.engines.cuda.scan import scan
from timesurf.engines.cuda.winners import winners
from timesurf.engines.cuda.work import Device


def sources():
    """Every kernel for some networks, by name."""
    for name, stages in (("digits", DIGITS), ("sentences", SENTENCES)):
        for deterministic in (False, True):
            yield f"general, {name}, deterministic {deterministic}", plan(stages, deterministic).source
    for learn, group, deterministic in ((True, 1, False), (True, 4, True), (False, 1, False), (False, 4, False)):
        found = blocks(DIGITS, learn=learn, group=group, shared=101_376, deterministic=deterministic)
        yield f"blocks, learn {learn}, group {group}", found.source
    for learn, deterministic in ((True, False), (True, True), (False, False)):
        for name, stages in (("three", DEEPER), ("four", FOUR)):
            path = deep(stages, learn=learn, shared=166_912, deterministic=deterministic)
            yield f"layer by layer, {name}, learn {learn}, deterministic {deterministic}", path.source
    for name, stages in (("pooled", POOLED), ("pooled twice", POOLED_TWICE), ("sentences", SENTENCES)):
        yield f"general, {name}, delta and evidence", plan(stages, True, delta=True, evidence=True).source
    pooled = blocks(POOLED, learn=True, group=2, shared=232_448)
    yield "blocks, pooled", pooled.source
    for learn in (True, False):
        yield f"layer by layer, pooled, learn {learn}", deep(POOLED_TWICE, learn=learn, shared=166_912).source
    for name, stages in (("digits", DIGITS), ("pooled", POOLED)):
        for measured in (False, True):
            kernel = winners(stages[0], Device(108, 166_912, 80), measured=measured)
            yield f"winners, {name}, measured {measured}", kernel.source
    for name, about in (("learn", {}), ("delta", {"delta": True}), ("evidence", {"evidence": True})):
        path = scan(POOLED[1:], learn=name != "evidence", shared=166_912, deterministic=name == "delta", **about)
        yield f"scan, pooled, {name}", path.source
    yield "layer by layer, one window", deep(POOLED, learn=True, shared=166_912).source
    yield "moving", moving.source((34, 30), (4, 3), 512)
    yield "moving along a line, not pooled", moving.source((64,), (), 2)
    yield "simulator", files("timesurf.datasets").joinpath("exposure.cu").read_text("utf-8")


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc, CUDA's compiler, is not here")
@pytest.mark.parametrize(("name", "source"), [pytest.param(*pair, id=pair[0]) for pair in sources()])
def test_kernels_compile(name, source, tmp_path):
    (tmp_path / "kernels.cu").write_text(source, "utf-8")
    quick = ["-Xcicc", "-O0", "-Xptxas", "-O0"]  # tests/gpu compiles them with all optimisations
    words = ["nvcc", "-cubin", "-arch=sm_80", "-std=c++17", *quick, "-o", "kernels.cubin", "kernels.cu"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
