"""The machine that figures were measured on."""

import os
import platform
import sys
from types import SimpleNamespace

import timesurf
from timesurf.results import machine


def says(monkeypatch, text):
    """The system describes its processor so."""
    monkeypatch.setattr(machine, "Path", lambda _: SimpleNamespace(read_text=lambda **_: text))


def test_a_machine_is_described_by_processor_cores_and_versions(monkeypatch):
    says(monkeypatch, "vendor: x\nmodel name\t: A 9: fast\nmodel name: B\n")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(3 + process), raising=False)
    monkeypatch.setattr(platform, "platform", lambda *, terse: f"here, {terse}")
    found = machine.describe()
    assert (found["processor"], found["cores"], found["system"]) == ("A 9: fast", 3, "here, True")
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert machine.describe()["cores"] == 7
    assert (found["timesurf"], found["python"]) == (timesurf.__version__, platform.python_version())
    assert found["numpy"]
    assert "gpu" not in found
    monkeypatch.setattr(machine, "gpu", lambda: {"name": "G"})
    assert machine.describe("cuda")["gpu"] == {"name": "G"}


def test_a_machine_without_a_description_has_a_name_all_the_same(monkeypatch):
    says(monkeypatch, "nothing")
    monkeypatch.setattr(platform, "processor", lambda: "")
    monkeypatch.setattr(platform, "machine", lambda: "riscv")
    assert machine.describe()["processor"] == "riscv"
    monkeypatch.setattr(platform, "processor", lambda: "chip")
    assert machine.describe()["processor"] == "chip"
    assert machine._version("no-such-package") is None


def test_a_gpu_by_its_name_and_memory(monkeypatch):
    runtime = SimpleNamespace(
        getDeviceProperties=lambda number: {"name": b"card %d" % number, "totalGlobalMem": 7},
        driverGetVersion=lambda: 1, runtimeGetVersion=lambda: 2,
    )  # fmt: skip
    cupy = SimpleNamespace(
        cuda=SimpleNamespace(runtime=runtime, Device=lambda: SimpleNamespace(id=4)), __version__="13"
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    assert machine.gpu() == {"name": "card 4", "memory": 7, "driver": 1, "runtime": 2, "cupy": "13"}
