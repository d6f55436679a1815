"""Sizes for the CUDA kernels, and the kernels themselves as far as a compiler can tell. tests/gpu runs them."""

import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pytest

from timesurf import Full, SettingError, Tile, Window, engines
from timesurf.engines.cuda import blocks as cudablocks
from timesurf.engines.cuda import deep as cudadeep
from timesurf.engines.cuda import general as cudaplan
from timesurf.errors import MissingEngineError
from timesurf.layers import stack

DIGITS = stack([Window(9, units=32, tau="10 ms"), Full(tau="1 ms")], (28, 28), 1, classes=10)
DEEPER = stack([Window(9, units=32, tau=1), Window(3, units=64, tau=1), Full(tau=1)], (28, 28), 1, classes=10)
FOUR = stack([Window(n, units=n + 8, tau=1) for n in (3, 5, 1)] + [Full(tau=1)], (6, 5), 2, classes=3)
SENTENCES = stack([Tile((5, 5), units=3, tau=2000), Tile((3, 1), units=6, tau=1), Full(tau=1)], (30, 5), 1, classes=2)


def test_steps_lead_to_the_entries_of_a_surface():
    """On a padded map of numbers, corner + steps is the neighbourhood, cut out by slices."""
    (stage,) = stack([Window(3, units=1, tau=1)], (4, 5), 2)
    padded = np.arange(6 * 7 * 2).reshape(6, 7, 2)
    steps = cudaplan.plan((stage,)).steps[0]
    for x, y in ((0, 0), (3, 4), (1, 2)):
        corner = padded[x, y, 0]
        np.testing.assert_array_equal(padded.ravel()[corner + steps], padded[x : x + 3, y : y + 3].ravel())


def test_what_does_not_fit_is_refused_with_the_way_out():
    with pytest.raises(SettingError, match="use engine='cpu'"):
        cudaplan.plan(stack([Tile((200, 200), units=2, tau=1), Full(tau=1)], (400, 400), 1, classes=2))


def test_without_cupy_the_engine_says_what_to_install():
    try:
        import cupy  # noqa: F401
    except ImportError:
        with pytest.raises(MissingEngineError, match=r"timesurf\[cuda\]"):
            engines.load("cuda")
        assert engines.load("auto").__name__ == "timesurf.engines.cpu.engine"


def test_blocks_of_events_cover_what_they_say():
    room = {"learn": True, "group": 1, "shared": 232_448}
    assert cudablocks.blocks(DIGITS, **room).warps == 8
    assert cudablocks.blocks(SENTENCES, **room) is None
    many = stack([Window(9, units=64, tau=1), Full(tau=1)], (28, 28), 1, classes=10)
    assert cudablocks.blocks(many, **room) is None
    assert cudablocks.blocks(many, **room | {"learn": False}) is not None
    small_card = cudablocks.blocks(DIGITS, **room | {"shared": 101_376})
    assert 2 <= small_card.warps < 8
    assert small_card.memory <= 101_376
    assert cudablocks.blocks(DIGITS, **room | {"shared": 49_152}) is None


def test_layer_by_layer_covers_what_it_says():
    room = {"learn": True, "shared": 232_448}
    found = cudadeep.deep(DEEPER, **room)
    assert [kernel.name for kernel in (*found.layers, found.last, *found.learn)] == [
        "layer0", "layer1", "last", "learn0", "learn1"
    ]  # fmt: skip
    assert all(kernel.memory <= 232_448 for kernel in (*found.layers, *found.learn))
    assert cudadeep.deep(DEEPER, **room | {"learn": False}).learn == ()
    assert cudadeep.deep(DIGITS, **room) is None
    assert cudadeep.deep(SENTENCES, **room) is None
    many = stack([Window(9, units=32, tau=1), Window(3, units=65, tau=1), Full(tau=1)], (28, 28), 1, classes=10)
    assert cudadeep.deep(many, **room) is None
    assert all(kernel.memory <= 101_376 for kernel in cudadeep.deep(DEEPER, learn=True, shared=101_376).layers)
    assert cudadeep.deep(DEEPER, learn=True, shared=49_152) is None


def sources():
    """Every kernel for some networks, by name."""
    for name, stages in (("digits", DIGITS), ("sentences", SENTENCES)):
        for deterministic in (False, True):
            yield f"general, {name}, deterministic {deterministic}", cudaplan.plan(stages, deterministic).source
    for learn, group, deterministic in ((True, 1, False), (True, 4, True), (False, 1, False), (False, 4, False)):
        found = cudablocks.blocks(DIGITS, learn=learn, group=group, shared=101_376, deterministic=deterministic)
        yield f"blocks, learn {learn}, group {group}", found.source
    for learn, deterministic in ((True, False), (True, True), (False, False)):
        for name, stages in (("three", DEEPER), ("four", FOUR)):
            path = cudadeep.deep(stages, learn=learn, shared=166_912, deterministic=deterministic)
            yield f"layer by layer, {name}, learn {learn}, deterministic {deterministic}", path.source
    yield "simulator", files("timesurf.datasets").joinpath("exposure.cu").read_text()


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc, CUDA's compiler, is not here")
@pytest.mark.parametrize(("name", "source"), [pytest.param(*pair, id=pair[0]) for pair in sources()])
def test_kernels_compile(name, source, tmp_path):
    (tmp_path / "kernels.cu").write_text(source)
    words = ["nvcc", "-cubin", "-arch=sm_80", "-std=c++17", "-o", "kernels.cubin", "kernels.cu"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
