"""A folder of .md and .txt files."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chainserve.errors import InvalidInput, NotFound

SUFFIXES = (".md", ".txt")
MAX_FILE_BYTES = 16_000_000
# They tell about the folder, not about its subject.
IGNORED = ("README.md", "LICENSE.md", "LICENSE.txt")


@dataclass(frozen=True)
class Document:
    """`source` is the path below the folder, with slashes."""

    source: str
    text: str
    sha256: str


def read_documents(folder: Path) -> list[Document]:
    """Every document below `folder`, in the order of their paths; hidden ones and README and LICENSE are left out.

    Raises:
        NotFound: no such folder, or nothing to index in it.
        InvalidInput: a file is too large or no UTF-8; names it.
    """
    if not folder.is_dir():
        raise NotFound(f"documents: no folder {folder}")
    documents = [_read(folder, path) for path in _paths(folder)]
    if not documents:
        raise NotFound(f"documents: no {' or '.join(SUFFIXES)} file in {folder}")
    return documents


def _paths(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix in SUFFIXES and path.name not in IGNORED and not hidden and path.is_file():
            yield path


def _read(folder: Path, path: Path) -> Document:
    source = path.relative_to(folder).as_posix()
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise InvalidInput(source, f"{size} bytes, the limit is {MAX_FILE_BYTES}")
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(source, f"must be UTF-8 text, is not at byte {error.start}") from None
    return Document(source, text, hashlib.sha256(data).hexdigest())
