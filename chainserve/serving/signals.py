"""Wait for a signal as for any other event: the handlers do nothing, the signals' numbers arrive in a pipe."""

import select
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_READ = 64


class Signals:
    def __init__(self, pipe: socket.socket) -> None:
        self._pipe = pipe

    def wait(self, seconds: float) -> bool:
        """Whether somebody asked to stop within `seconds`; sooner also when a child ended (then False)."""
        if not select.select([self._pipe], [], [], seconds)[0]:
            return False
        return any(number in STOP for number in self._pipe.recv(_READ))


@contextmanager
def caught_signals() -> Iterator[Signals]:
    """Within, the signals that ask to stop wait for `wait` instead of ending the process. Main thread only.

    What was ignored at the start (SIGINT in a script's background, SIGHUP under nohup) stays ignored.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    with reader, writer:
        descriptor = signal.set_wakeup_fd(writer.fileno())
        handlers = {number: signal.signal(number, _leave_it) for number in _not_ignored()}
        try:
            yield Signals(reader)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(descriptor)


def _not_ignored() -> list[signal.Signals]:
    return [number for number in (*STOP, signal.SIGCHLD) if signal.getsignal(number) is not signal.SIG_IGN]


def _leave_it(_number: int, _frame: object) -> None:
    """A handler is needed for the number to be written; the number is all we want."""
