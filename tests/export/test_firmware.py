"""The example firmware on an emulated microcontroller: the same decisions as on this machine, within small memories."""

import importlib.util
from pathlib import Path

import pytest

from tests.export.cases import run
from timesurf import export, presets
from timesurf.datasets import sentences

about = importlib.util.spec_from_file_location(
    "firmware", Path(__file__).parents[2] / "examples" / "microcontroller" / "run.py"
)
firmware = importlib.util.module_from_spec(about)
about.loader.exec_module(firmware)
pytestmark = pytest.mark.skipif(bool(firmware.missing()), reason=f"not installed: {', '.join(firmware.missing())}")


@pytest.mark.parametrize("numbers", ["float32", "int8"])
def test_same_decisions_on_an_emulated_cortex_m(numbers, tmp_path):
    """The paper's network fits into 32 kB of flash and 16 kB of RAM: the linker would refuse it otherwise."""
    train, test = sentences.make(30, seed=0), sentences.make(3, seed=1)
    network = presets.SENTENCES.network(train, train.classes, 0).fit(train, passes=1)
    model = export.prepared(network, "net", numbers=numbers)
    size = firmware.build(model, tmp_path, flash=32 << 10, ram=16 << 10)
    found = firmware.run(test, tmp_path)
    ran, decided = run(network, test, numbers=numbers)
    assert found["decisions"] == decided.tolist()
    assert found["kept"] == (ran.code >= 0).mean()
    assert 100 < found["instructions_per_event"] < 3000
    assert size["flash"] < 8 << 10
