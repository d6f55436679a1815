"""Which path a network takes, decided without a card."""

import logging

import pytest

from tests.engines.cuda.networks import DEEPER, DIGITS, FOUR, POOLED, POOLED_TWICE, SENTENCES
from timesurf import Full, Window
from timesurf.engines.cuda import blocks as cudablocks
from timesurf.engines.cuda import deep as cudadeep
from timesurf.engines.cuda import paths
from timesurf.engines.cuda.work import Device, Work
from timesurf.layers import stack

H200 = Device(132, 232_448, 90)
BLOCKS, DEEP, GENERAL = "blocks of events", "layer by layer", "general"


@pytest.mark.parametrize(
    ("stages", "about", "path"),
    [
        (DIGITS, {}, BLOCKS),
        (DEEPER, {}, DEEP),
        (FOUR, {}, DEEP),
        (POOLED, {}, BLOCKS),
        (POOLED_TWICE, {}, DEEP),
        (SENTENCES, {}, GENERAL),
        (DIGITS, {"kind": "infer"}, BLOCKS),
        (DIGITS, {"kind": "trace"}, GENERAL),
        (DIGITS, {"open": False}, GENERAL),
        (DIGITS, {"delta": True}, GENERAL),
        (DEEPER, {"kind": "infer", "evidence": True}, GENERAL),
        (DIGITS, {"span": 1 << 24}, GENERAL),
        (DEEPER, {"span": 1 << 24}, GENERAL),
    ],
)
def test_every_network_takes_the_fastest_path_that_covers_it(stages, about, path, caplog):
    with caplog.at_level(logging.DEBUG, "timesurf"):
        assert paths.choose(Work(stages, **{"kind": "train"} | about), H200).name == path
    assert path in caplog.text


def test_old_and_small_cards_take_the_general_path():
    work = Work(DIGITS, "train", largest=8192)
    assert paths.choose(work, Device(68, 65_536, 75)).name == GENERAL
    assert paths.choose(work, Device(68, 49_152, 86)).name == GENERAL
    assert paths.choose(work, Device(84, 101_376, 86)).name == BLOCKS


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
    names = [kernel.name for kernel in (*found.layers, found.last, *found.learn)]
    assert names == ["layer0", "layer1", "last", "learn0", "learn1"]
    assert all(kernel.memory <= 232_448 for kernel in (*found.layers, *found.learn))
    assert cudadeep.deep(DEEPER, **room | {"learn": False}).learn == ()
    assert [kernel.name for kernel in cudadeep.deep(DIGITS, **room).learn] == ["learn0"]
    assert cudadeep.deep(SENTENCES, **room) is None
    many = stack([Window(9, units=32, tau=1), Window(3, units=65, tau=1), Full(tau=1)], (28, 28), 1, classes=10)
    assert cudadeep.deep(many, **room) is None
    assert all(kernel.memory <= 101_376 for kernel in cudadeep.deep(DEEPER, learn=True, shared=101_376).layers)
    assert cudadeep.deep(DEEPER, learn=True, shared=49_152) is None


@pytest.mark.parametrize(
    ("largest", "networks", "deterministic", "group"),
    [(128, 1, False, 8), (512, 1, False, 4), (2048, 1, False, 1), (128, 16, False, 1), (128, 16, True, 8)],
)
def test_few_recordings_are_shared_by_warps(largest, networks, deterministic, group):
    work = Work(DIGITS, "train", networks=networks, largest=largest, deterministic=deterministic)
    assert cudablocks.group_of(work, H200) == group


def test_chunks_of_a_batch_fit_into_half_of_the_free_memory():
    path = paths.choose(Work(DEEPER, "train"), H200)
    work = Work(DEEPER, "train", largest=100, longest=4096)
    assert path.setup(work, H200, 1 << 40).chunks == 1
    cut = path.setup(work, H200, 1 << 28)
    assert cut.chunks > 1
    assert (cut.chunks - 1) * cut.numbers["chunk"] < 100 <= cut.chunks * cut.numbers["chunk"]
    bytes_each = {name: 2 if name == "lines" else 4 for name in cut.spaces}
    written = sum(bytes_each[name] * size for name, (size, _) in cut.spaces.items() if name != "scratch")
    assert written <= 1 << 27
