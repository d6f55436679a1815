"""What commands print."""

from benchmarks.number import read


def commands():
    found = read("poker")
    yield f"classifies {found.right} of {found.recordings} recordings of POKER-DVS"
