"""The shared memory of one server: its own prefix, and nothing left behind.

Triton's stubs talk through files in /dev/shm. A server that was killed leaves them there, so each server holds a lock
beside its own, and the next one removes what belongs to a lock that nobody holds. (A process id would not do:
containers that share /dev/shm do not share process ids.)
"""

import fcntl
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

FOLDER = Path("/dev/shm")  # noqa: S108 the kernel's shared memory, not a scratch folder
_NAME = "chainserve_"
_LOCK = "_lock"


@contextmanager
def shared_memory(folder: Path = FOLDER) -> Iterator[str]:
    """Give a prefix for `shm-region-prefix-name`; remove everything under it at the end."""
    sweep(folder)
    prefix = f"{_NAME}{secrets.token_hex(6)}"
    lock = folder / f"{prefix}{_LOCK}"
    with lock.open("x") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        try:
            yield f"{prefix}_"
        finally:
            _remove(folder, prefix)


def sweep(folder: Path = FOLDER) -> None:
    """Remove the leftovers of servers that are gone."""
    for lock in folder.glob(f"{_NAME}*{_LOCK}"):
        with suppress(FileNotFoundError, PermissionError), lock.open() as file:
            if _nobody_holds(file):
                _remove(folder, lock.name.removesuffix(_LOCK))


def _nobody_holds(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove(folder: Path, prefix: str) -> None:
    for file in folder.glob(f"{prefix}_*"):
        file.unlink(missing_ok=True)
