"""The tritonserver process: a session of its own, dead when we are, its words in a log file."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from chainserve.serving.server_log import error_line

_STOPPED = b"All models are stopped"


class ServerProcess:
    """`log` is written anew; the log of the run before is kept beside it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        if log.exists():
            log.replace(log.with_suffix(".previous.log"))
        self.log = log
        launch = [sys.executable, "-m", "chainserve.serving.launch", str(os.getpid()), *command]
        with log.open("wb") as output:
            # A session of its own: Ctrl-C in the terminal reaches us alone, and we drain first.
            self._process = subprocess.Popen(  # noqa: S603 a command of ours
                launch,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def exit_code(self) -> int | None:
        """None while it runs; negative for the signal that killed it."""
        return self._process.poll()

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        """The server and its stubs, at once."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def models_stopped(self) -> bool:
        """Whether, on its way out, the server has finished every request."""
        return _STOPPED in self.log.read_bytes()

    def last_words(self) -> str:
        """How it ended and why, in one line that names the log."""
        code = self.exit_code()
        ended = f"was killed by {signal.Signals(-code).name}" if code is not None and code < 0 else f"ended ({code})"
        why = error_line(self.log)
        return f"tritonserver {ended}{': ' if why else ''}{why} [log: {self.log}]"
