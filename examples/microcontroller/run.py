"""Export a network, build the firmware around it, run it under QEMU: decisions, sizes, instructions per event.

python examples/microcontroller/run.py digits.tsf test.npz --numbers int8 --calibrate train.npz

Needs arm-none-eabi-gcc and qemu-system-arm. The emulated board is Arm's MPS2 with a Cortex-M4 that has an FPU (AN386).
QEMU counts instructions, not cycles: events per second at a clock rate are computed as if each took one cycle. Loads,
branches, and flash that is slower than the core take more.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np

from timesurf import Network, export
from timesurf.cli.data import load, load_test
from timesurf.cli.preparing import fitted
from timesurf.events import Recordings
from timesurf.export.check import CROSS
from timesurf.export.model import Model

HERE = Path(__file__).parent
TOOLS = (CROSS[0], "arm-none-eabi-size", "qemu-system-arm")
INSTRUCTIONS_PER_TICK = 40  # -icount shift=0: 1 ns each, and a tick is 40 ns
EVENT = np.dtype([("x", "<u2"), ("y", "<u2"), ("p", "<u2"), ("begins", "<u2"), ("t", "<u4")])


def missing() -> list[str]:
    """Tools that are not installed."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def build(model: Model, folder: Path, flash: int = 4 << 20, ram: int = 4 << 20) -> dict[str, int]:
    """Compile and link the firmware into `firmware.elf`, for so many bytes of memory: what it takes."""
    export.write(model, folder)
    sources = [HERE / "startup.c", HERE / "main.c", folder / f"{model.name}.c"]
    sizes = [f"-Wl,--defsym=FLASH_SIZE={flash}", f"-Wl,--defsym=RAM_SIZE={ram}"]
    subprocess.run(
        [
            *CROSS, "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", f"-DDIMENSIONS={len(model.coordinates)}",
            f"-I{HERE}", f"-I{folder}", "-nostartfiles", "--specs=nano.specs", "-Wl,--gc-sections", *sizes,
            f"-T{HERE / 'board.ld'}", "-o", folder / "firmware.elf", *sources,
        ],
        check=True,
    )  # fmt: skip
    table = subprocess.run([TOOLS[1], "-A", folder / "firmware.elf"], check=True, capture_output=True, text=True).stdout
    section = {
        row[0]: int(row[1])
        for row in (line.split() for line in table.splitlines())
        if len(row) == 3 and row[1].isdigit()
    }
    return {
        "flash": section[".text"] + section.get(".data", 0),
        "ram": section[".bss"] + section[".stack"] + section.get(".data", 0),
    }


def run(recordings: Recordings, folder: Path, timeout: float = 120) -> dict[str, Any]:
    """Run `firmware.elf` over recordings: decisions, share of events kept, instructions per event."""
    events = np.zeros(int(recordings.offsets[-1]), EVENT)
    for name, values in zip("xy", recordings.coords, strict=False):
        events[name] = values
    events["p"], events["t"] = recordings.p, np.asarray(recordings.t, np.int64) & 0xFFFFFFFF
    events["begins"][np.asarray(recordings.offsets[:-1])] = 1
    loaded = folder / "events.bin"
    loaded.write_bytes(np.uint32(len(events)).tobytes() + events.tobytes())
    command = [
        TOOLS[2], "-M", "mps2-an386", "-icount", "shift=0", "-nographic", "-monitor", "none", "-serial", "stdio",
        "-kernel", folder / "firmware.elf", "-device", f"loader,file={loaded},addr=0x21000000,force-raw=on",
    ]  # fmt: skip
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as emulator:
        limit = threading.Timer(timeout, emulator.kill)
        limit.start()
        assert emulator.stdout is not None
        for line in emulator.stdout:
            if line.strip() == "end":
                break
            lines.append(line.split())
        limit.cancel()
        emulator.kill()
    if not lines or lines[-1][0] != "events":
        raise RuntimeError(f"The firmware did not end within {timeout} s; it sent {lines}.")
    figures = dict(zip(lines[-1][::2], map(int, lines[-1][1::2]), strict=True))
    decisions = [int(line[-1]) if line[-2] == "class" else -1 for line in lines[:-1]]
    per_event = figures["ticks"] * INSTRUCTIONS_PER_TICK / figures["events"]
    return {
        "decisions": decisions, "events": figures["events"], "kept": figures["kept"] / figures["events"],
        "instructions_per_event": per_event, "most_instructions": figures["most"] * INSTRUCTIONS_PER_TICK,
        "events_per_second_100_MHz": 100e6 / per_event, "events_per_second_480_MHz": 480e6 / per_event,
    }  # fmt: skip


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("data", help="recordings: a file, a folder or a data set")
    parser.add_argument("--numbers", default="float32", choices=list(export.NUMBERS))
    parser.add_argument("--calibrate", help="recordings to choose scales by")
    parser.add_argument("--recordings", type=int, default=5, help="how many to run, the first")
    args = parser.parse_args()
    if missing():
        raise SystemExit(f"Not installed: {', '.join(missing())}.")
    network = Network.load(args.model)
    recordings = fitted(load_test(args.data, None, {}), network, {}, args.data)[: args.recordings]
    sample = None if args.calibrate is None else fitted(load(args.calibrate), network, {}, args.calibrate)
    model = export.prepared(network, "net", numbers=args.numbers, calibration=sample)
    with tempfile.TemporaryDirectory() as place:
        result = build(model, Path(place)) | run(recordings, Path(place))
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
