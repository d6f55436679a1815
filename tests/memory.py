"""How much memory a call needs."""

import tracemalloc


def peak(call):
    """Bytes that a call needed at most beyond what was there before, and what it returned."""
    tracemalloc.start()
    try:
        found = call()
        return tracemalloc.get_traced_memory()[1], found
    finally:
        tracemalloc.stop()
