"""`timesurf` and `python -m timesurf`: the command line as a process of its own, which Ctrl-C ends without a traceback.

Nothing but this file is imported before Ctrl-C is taken care of. `KeyboardInterrupt` is not raised while a module is
being imported, because packages report it as an error of their own, and it is raised again where Python would only
print it: in a destructor, or in a function that was called from C. What else destructors complain about after an
interrupt is its consequence (something was made by half) and is not shown.
"""

import signal
import sys
from types import FrameType
from typing import Any

_AGAIN = 0.05  # s until an interrupt that came at a bad moment is raised again
_interrupts = 0  # so far


def main() -> None:
    """Run the command line. After Ctrl-C the exit code is 130; a further Ctrl-C ends the process at once."""
    takes_interrupts = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not ignored, as after nohup
    try:
        if takes_interrupts:
            sys.unraisablehook = _unraisable
            signal.signal(signal.SIGINT, _interrupt)
        from timesurf.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        sys.exit(130)
    finally:
        if takes_interrupts:  # everything is written: what is left is waiting for threads
            if hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise `KeyboardInterrupt`, or try again shortly if a module is being imported or one was just not raised."""
    global _interrupts
    _interrupts += 1
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib") or frame.f_code is _unraisable.__code__:
            if _soon():
                return
            break
        frame = frame.f_back
    raise KeyboardInterrupt


def _unraisable(about: Any) -> None:
    """Raise an interrupt again that Python could not pass on; show anything else as usual if there was none."""
    if isinstance(about.exc_value, KeyboardInterrupt):
        _soon()
    elif not _interrupts:
        sys.__unraisablehook__(about)


def _soon() -> bool:
    """Interrupt the main thread again in a moment; False where there is no such timer (Windows)."""
    if not hasattr(signal, "setitimer"):
        return False
    signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, _AGAIN)
    return True


if __name__ == "__main__":
    main()
