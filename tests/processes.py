"""Waiting for what another process does."""

import time


def until(sign, process):
    """Wait until something has happened in a process that still runs."""
    end = time.monotonic() + 300
    while not sign():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end, "nothing happened in five minutes"
        time.sleep(0.02)
