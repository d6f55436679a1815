"""Faults, fuzzing, mutants and long runs."""

from benchmarks.number import Number, read
from benchmarks.quoted.words import row

FAULTS = {  # words of faults.json: those of the page
    "a disk that becomes read-only in the middle": "a disk that becomes read-only during the run",
    "no more memory for the threads of a training, at a random amount": (
        "a random limit on the memory of a training's threads"
    ),
    "no checkpoint yet, begun anew": "no checkpoint yet, started again",
    "an error, no checkpoint yet, begun anew": "an error, no checkpoint yet, started again",
    "bus error, no checkpoint yet, begun anew": "bus error, no checkpoint yet, started again",
    "between two": "between two files",
    "found, and passed over": "detected, and skipped",
    "enough, resumed": "memory sufficed, resumed",
}


FUZZED = {
    "npz": "recordings, `.npz`", "poker": "POKER-DVS", "mnist": "MNIST", "nmnist": "N-MNIST, `.bin`",
    "tonic": "tonic's data sets", "model": "model files", "checkpoint": "checkpoints",
    "config": "configurations, TOML", "csv": "CSV", "dat": "DAT", "raw": "RAW (EVT)", "es": "Event Stream",
    "aedat4": "AEDAT4", "aedat2": "AEDAT 2", "aedat3": "AEDAT 3", "nas": "NAS, `.aedat`",
}  # fmt: skip


FUZZED_LIVE = {
    "udp": "UDP datagrams", "stdin": "standard input", "session": "`Session.push`", "transform": "transforms",
}  # fmt: skip


MUTATED = {"first draw": "without most of `engines/cpu`", "second draw": "without kernels"}


def reliability():
    for fault in read("faults").faults:
        ended = sorted(fault.ended.items(), key=lambda item: -item[1])
        how = "; ".join(f"{number} x {FAULTS.get(name, name)}" for name, number in ended)
        yield row(FAULTS.get(fault.fault, fault.fault), f"{fault.injected}", how, "nothing" if not fault.lost else "?")
    targets = read("fuzz").targets
    for name, label in FUZZED.items():
        yield row(label, *fuzzed(targets[name]), f"{targets[name].inputs_per_s}")
    yield row("all", f"{Number(sum(of.inputs for of in targets.values()))}", "", "none", "", "", "")
    for name, label in FUZZED_LIVE.items():
        yield row(label, *fuzzed(read("fuzz_live").targets[name]))
    for name, of in read("endurance").streams.items():
        yield row(name, f"{of.events}", f"{of.growth_bytes:k} kB")
    yield f"Compared with the same day as one recording, {read('endurance').votes_differ} votes differ"
    for name, of in read("mutants").items():
        label = f"| {name.removesuffix(' draw')}, `--seed {of.seed}` |"
        caught = Number(sum(result.caught for result in of.results))
        modules = MUTATED.get(name, "all")
        share = f"{Number(caught / len(of.results)):.1%}".replace(" %", "%")
        yield f"{label} {modules} | {Number(len(of.results))} | {caught} ({share}) |"


def fuzzed(of):
    """What an attempt at one reader showed, without the speed."""
    refused = f"{Number(of.refused / of.inputs):%}".replace(" %", "%")
    found = f"{Number(len(of.findings))}" if of.findings else "none"
    return f"{of.inputs}", refused, found, f"{of.slowest_s:m} ms", f"{Number(of.memory_beyond_file / 1e6):.2} MB"
