"""The files of a search index.

index.json       how it was made, with the hashes of the other two
passages.jsonl   one {"text", "source"} a line
vectors.npy      float32 [n, dimension], rows of length 1, in the same order
"""

import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationError

from chainserve.config import Settings
from chainserve.encoder import Vectors
from chainserve.errors import InvalidInput, NotFound
from chainserve.messages import Passage

FILE_NAME = "index.json"
PASSAGES_FILE = "passages.jsonl"
VECTORS_FILE = "vectors.npy"

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Recipe(Settings):
    """What an index is made of: the same recipe makes the same index.

    Attributes:
        encoder: "use", or the name of the ONNX folder.
        width: columns of a passage, at most.
        documents: hash by source.
    """

    version: Literal[1] = 1
    encoder: str
    width: int = Field(ge=1)
    documents: dict[str, Sha256]


class IndexManifest(Settings):
    recipe: Recipe
    passages: int = Field(ge=1)
    dimension: int = Field(ge=1)
    files: dict[str, Sha256]

    @classmethod
    def load(cls, folder: Path) -> "IndexManifest":
        """Read `folder`/index.json.

        Raises:
            NotFound: there is no index; the text says which command makes one.
            InvalidInput: the manifest is damaged.
        """
        path = folder / FILE_NAME
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise NotFound(f"no index in {folder} ({error.strerror}): run `chainserve-build index`") from error
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise damaged(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def encoder_name(source: str) -> str:
    """`source` as load_encoder takes it. A folder's own name: the same encoder may lie elsewhere on another machine."""
    return source if source == "use" else Path(source).resolve().name


def damaged(path: Path, problem: str) -> InvalidInput:
    return InvalidInput(str(path), f"{problem}; run `chainserve-build index --force`")


def save(folder: Path, recipe: Recipe, passages: Sequence[Passage], vectors: Vectors) -> None:
    """Write an index into `folder`; the manifest last."""
    files = {PASSAGES_FILE: _lines(passages), VECTORS_FILE: _array(vectors)}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    manifest = IndexManifest(
        recipe=recipe,
        passages=len(passages),
        dimension=vectors.shape[1],
        files={name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    )
    (folder / FILE_NAME).write_text(json.dumps(manifest.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")


def read(folder: Path, manifest: IndexManifest) -> tuple[list[Passage], Vectors]:
    """Passages and vectors, in the same order.

    Raises:
        InvalidInput: a file is missing, or is not what was built.
    """
    passages = [Passage(**json.loads(line)) for line in _bytes(folder, manifest, PASSAGES_FILE).splitlines()]
    vectors: Vectors = np.load(io.BytesIO(_bytes(folder, manifest, VECTORS_FILE)), allow_pickle=False)
    return passages, vectors


def is_whole(folder: Path, manifest: IndexManifest) -> bool:
    return all(_has(folder / name, digest) for name, digest in manifest.files.items())


def _bytes(folder: Path, manifest: IndexManifest, name: str) -> bytes:
    if not _has(folder / name, manifest.files.get(name, "")):
        raise damaged(folder / name, "is missing or not what was built")
    return (folder / name).read_bytes()


def _has(path: Path, digest: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest


def _lines(passages: Sequence[Passage]) -> bytes:
    rows: list[dict[str, Any]] = [{"text": passage.text, "source": passage.source} for passage in passages]
    # U+2028 and the like are line breaks to `str`, not to bytes: the file is read as bytes.
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _array(vectors: Vectors) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, vectors.astype(np.float32), allow_pickle=False)
    return buffer.getvalue()
