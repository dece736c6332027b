"""The model's end of the pipe to the engine's process."""

import os
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from chainserve.engine.cpu.host import Add, Stop
from chainserve.engine.cpu.pipeline import Pieces
from chainserve.engine.cpu.requests import SequenceRequest
from chainserve.engine.cpu.settings import EngineSettings
from chainserve.errors import EngineDead, StageFailed

_EXIT_S = 5.0


class EngineLink:
    """`add` and `stop` from any thread, `receive` from one.

    Raises:
        EngineDead: from every method, once the process is gone.
    """

    def __init__(self, connection: "Connection[Any, Any]") -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def add(self, number: int, request: SequenceRequest) -> None:
        self._send(Add(number, request))

    def stop(self, number: int) -> None:
        self._send(Stop(number))

    def receive(self) -> Pieces:
        """Wait for the next step."""
        try:
            pieces: Pieces = self._connection.recv()
        except (EOFError, OSError) as error:
            raise EngineDead("its process ended") from error
        return pieces

    def close(self) -> None:
        """The process ends; `receive` raises. Only a shutdown wakes a thread that waits in it; a close would not."""
        with self._lock, suppress(OSError), socket.socket(fileno=os.dup(self._connection.fileno())) as both_ends:
            both_ends.shutdown(socket.SHUT_RDWR)

    def _send(self, item: Add | Stop) -> None:
        try:
            with self._lock:
                self._connection.send(item)
        except OSError as error:
            raise EngineDead("its process ended") from error


class EngineProcess:
    """Starts the engine's process and waits until it has loaded the engine.

    Raises:
        StageFailed: it could not be loaded; the text says why.
    """

    def __init__(self, engine_dir: Path, settings: EngineSettings) -> None:
        ours, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 our own module
                [_python(), "-m", __package__, str(theirs.fileno()), str(engine_dir), settings.model_dump_json()],
                pass_fds=[theirs.fileno()],
            )
        self.link = EngineLink(ours)
        self._wait_until_loaded(ours)

    def close(self) -> None:
        self.link.close()
        try:
            self._process.wait(_EXIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _wait_until_loaded(self, connection: "Connection[Any, Any]") -> None:
        try:
            problem: str = connection.recv()
        except (EOFError, OSError):
            problem = f"the process ended with status {self._process.wait()}"
        if problem:
            self.close()
            raise StageFailed("engine", problem)


def _python() -> str:
    """Triton's stub embeds Python: there `sys.executable` may not be one."""
    return shutil.which("python3") or sys.executable
