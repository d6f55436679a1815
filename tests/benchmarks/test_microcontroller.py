"""The benchmark of exported C: what it measures where nothing can be emulated."""

import shutil
from argparse import Namespace

import pytest

from benchmarks import microcontroller
from timesurf import Full, Network, Tile
from timesurf.datasets import sentences


@pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler is installed")
def test_without_an_emulator_accuracy_agreement_and_speed_are_measured(tmp_path, monkeypatch, capsys):
    here = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name.startswith(("qemu", "arm-none")) else here(name))
    emulator = microcontroller.firmware()
    assert emulator is None
    assert "qemu-system-arm" in capsys.readouterr().err
    train = sentences.make(4, seed=0)
    network = Network([Tile((5, 5), units=3, tau="2 ms"), Full(tau=1)], train.field, 1, train.classes)
    of = {"small": lambda folder, fold: (train, sentences.make(2, seed=1), lambda: network.fit(train, passes=1))}
    monkeypatch.setattr(microcontroller, "NETWORKS", of)
    monkeypatch.setattr(microcontroller, "TURNS", 1)
    found = microcontroller.measured("small", Namespace(folder=None, folds=1, models=tmp_path), emulator)
    assert min(found["ns_per_event"].values()) > 0
    for numbers in microcontroller.NUMBERS:
        assert "firmware" not in found[numbers]
        assert found[numbers]["check"]["decisions"] > 0
        assert found[numbers]["check"]["recording_accuracy"] >= 0
