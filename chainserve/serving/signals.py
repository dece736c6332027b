"""Wait for a signal as for any other event: no handler, nothing runs in between."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

STOP = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
_WAKING = STOP | {signal.SIGCHLD}


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Within, the signals that ask to stop stay pending until `wait` takes them. What came too late is dropped."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WAKING)
    try:
        yield
    finally:
        while signal.sigtimedwait(_WAKING, 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def wait(seconds: float) -> bool:
    """Whether somebody asked to stop within `seconds`; sooner also when a child ended (then False)."""
    received = signal.sigtimedwait(_WAKING, seconds)
    return received is not None and received.si_signo in STOP
