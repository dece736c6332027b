"""A folder that is either whole or not there: made beside its place, then moved into it."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chainserve.errors import Unavailable


@contextmanager
def built_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder; when the block ends well it takes the place of `target`.

    What interrupted builds left is swept first. One build of a target at a time.

    Raises:
        Unavailable: another build of `target` is running.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target):
        sweep(target)
        folder = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
        try:
            yield folder
            _sync(folder)
            _put(folder, target)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def sweep(target: Path) -> None:
    """Remove half-made folders of `target`. Only while holding its lock."""
    for stale in target.parent.glob(f"{_prefix(target)}*"):
        shutil.rmtree(stale)


def require_space(folder: Path, needed: int) -> None:
    """Raises: Unavailable when the disk of `folder` has fewer than `needed` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise Unavailable(f"{folder} needs {needed >> 20} MB of free disk, there are {free >> 20} MB")


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    with (target.parent / f".{target.name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Unavailable(f"another build of {target} is running") from None
        yield


def _prefix(target: Path) -> str:
    return f".{target.name}.building-"


def _put(folder: Path, target: Path) -> None:
    folder.chmod(0o755)
    old = folder.with_name(f"{folder.name}-old")
    if target.exists():
        target.rename(old)
    folder.rename(target)
    _sync_path(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def _sync(folder: Path) -> None:
    for path in [*folder.rglob("*"), folder]:
        _sync_path(path)


def _sync_path(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
