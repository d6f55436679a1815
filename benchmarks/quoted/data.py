"""Reading and transforming data."""

from benchmarks.number import Number, read


def data():
    of = read("epoch_command")
    yield f"60,000 recordings, {Number(of.events_in_file / 1e6)} million events in {Number(of.bytes / 1e9):.1} GB"
    yield f"mapped pages included, is {Number(of.command.peak_bytes / 1e6)} MB"
