"""The Python processes ("stubs") in which tritonserver runs its models: which of them died?

Triton 24.10 neither starts a dead stub again nor tells: the model stays "ready", what it held is never answered, and
what comes next fails for ever. It collects the exit of a stub only if it ended that one itself, to unload its model: so
a stub that stays a zombie died.
"""

import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from chainserve.clock import Clock

PROC = Path("/proc")
SETTLE_S = 0.5
"""A stub that Triton ends is a zombie too, until Triton looks."""

_STUB = "triton_python_backend_stub"
_COMM = _STUB[:15]  # as much of a name as the kernel keeps
_ZOMBIE = "Z"
_EXIT_CODE = 49  # its place in /proc/PID/stat, counted from the state


@dataclass(frozen=True)
class DeadStub:
    model: str
    exit_code: int

    def __str__(self) -> str:
        number = self.exit_code & 0x7F
        how = f"was killed by {signal.Signals(number).name}" if number else f"ended ({self.exit_code >> 8})"
        return f"the process of model {self.model} {how}"


class StubWatch:
    """The stubs of one tritonserver, which is the process `server`."""

    def __init__(self, server: int, clock: Clock, proc: Path = PROC) -> None:
        self._server, self._clock, self._proc = str(server), clock, proc
        self._models: dict[str, str] = {}
        self._zombie_since: dict[str, float] = {}

    def dead(self) -> DeadStub | None:
        """One that died by itself. To be called again and again: only a living stub tells its model's name."""
        now, zombies = self._clock.now(), {}
        for pid, stat in self._stubs():
            if stat[0] == _ZOMBIE:
                zombies[pid] = stat
            else:
                self._learn(pid)
        self._zombie_since = {pid: self._zombie_since.get(pid, now) for pid in zombies}
        settled = [pid for pid, since in self._zombie_since.items() if now - since >= SETTLE_S]
        return self._describe(settled[0], zombies[settled[0]]) if settled else None

    def _stubs(self) -> Iterator[tuple[str, list[str]]]:
        """Process id, and /proc/PID/stat from the state on, of the server's stubs."""
        for folder in self._proc.glob("[0-9]*"):
            with suppress(OSError):  # it has gone meanwhile
                # The name in parentheses may hold anything.
                head, _, tail = (folder / "stat").read_text(errors="replace").rpartition(") ")
                stat = tail.split()
                if stat[1] == self._server and head.partition("(")[2] == _COMM:
                    yield folder.name, stat

    def _learn(self, pid: str) -> None:
        """Its command: the stub, then `<repository>/<model>/<version>/model.py`."""
        with suppress(OSError):
            command = (self._proc / pid / "cmdline").read_text(errors="replace").split("\0")
            if command[0].endswith(_STUB):
                self._models[pid] = Path(command[1]).parts[-3]

    def _describe(self, pid: str, stat: list[str]) -> DeadStub:
        return DeadStub(self._models.get(pid, "unknown"), int(stat[_EXIT_CODE]))
