"""Signals of processes that tests start, without code between fork and exec.

Such code (`preexec_fn`) makes Python fork the whole process, and handlers of OpenBLAS then join its threads, which can
wait for each other for ever. A process takes over which signals are ignored, and starts with the default for all that
have a handler: so what a process is to do with a signal is set here before it starts.
"""

import contextlib
import signal


@contextlib.contextmanager
def heard():
    """Signals that are ignored here, as after nohup or in a shell's background, end processes that are started now."""
    names = [name for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)]
    ignored = [sign for sign in (getattr(signal, name) for name in names) if signal.getsignal(sign) is signal.SIG_IGN]
    for sign in ignored:
        signal.signal(sign, signal.default_int_handler if sign == signal.SIGINT else lambda *_: None)
    try:
        yield
    finally:
        for sign in ignored:
            signal.signal(sign, signal.SIG_IGN)


@contextlib.contextmanager
def ignored(sign):
    """Processes that are started now ignore this signal."""
    before = signal.signal(sign, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(sign, before)
