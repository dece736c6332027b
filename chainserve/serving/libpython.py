"""The shared library of the running Python version, which Triton's Python stub is linked with."""

import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from chainserve.errors import NotFound


def library_name(version: tuple[int, int]) -> str:
    return f"libpython{version[0]}.{version[1]}.so.1.0"


def find_libpython() -> Path:
    """The interpreter's own library first, then what the loader knows, then the usual folders.

    Raises:
        NotFound: names the Debian package that brings it.
    """
    name = library_name(sys.version_info[:2])
    for candidate in _candidates(name):
        if candidate.is_file():
            return candidate
    raise NotFound(f"{name} not found: install it with `apt-get install {name.removesuffix('.so.1.0')}`")


def _candidates(name: str) -> Iterator[Path]:
    yield from (Path(folder, name) for folder in _interpreter_folders())
    yield from _loader_cache(name)
    yield from Path("/usr/lib").glob(f"*/{name}")
    yield from (Path(folder, name) for folder in ("/usr/lib", "/usr/local/lib"))


def _interpreter_folders() -> Iterator[str]:
    folder = sysconfig.get_config_var("LIBDIR")
    if folder:
        yield folder
        yield f"{folder}/{sysconfig.get_config_var('MULTIARCH')}"


def _loader_cache(name: str) -> Iterator[Path]:
    ldconfig = shutil.which("ldconfig") or "/sbin/ldconfig"
    if not Path(ldconfig).exists():
        return
    listing = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=False)  # noqa: S603 a fixed command
    for line in listing.stdout.splitlines():
        if line.strip().startswith(f"{name} "):
            yield Path(line.rsplit("=> ", 1)[1])
