"""Weights from a Hugging Face hub: a repository with a GGUF, or with an OpenVINO IR."""

import json
import logging
import re
from pathlib import Path
from typing import Any

from chainserve.engine.manifest import sha256_of
from chainserve.errors import ChainserveError, InvalidInput, NotFound, Unavailable, Unsupported
from chainserve_build.openvino_ir import IR_FILES
from chainserve_build.sources import Weights

_ID = re.compile(r"^(?P<repo>[\w.-]+/[\w.-]+)(@(?P<revision>[\w./-]+))?(:(?P<file>[\w./-]+\.gguf))?$")

_IR_COMPANIONS = (
    "tokenizer.json",
    "generation_config.json",
    "config.json",
    "tokenizer_config.json",
    "chat_template.jinja",
)

# In this order: exact as it is, exact but twice the size.
_PREFERRED = ("q8_0", "f16")


class Hub:
    """`ORG/REPO`, `ORG/REPO@REVISION`, and `:FILE.gguf` behind either to pick one of several."""

    space = 0

    def __init__(self, identifier: str) -> None:
        match = _ID.match(identifier)
        if match is None:
            raise InvalidInput("--hub", "takes ORG/REPO, ORG/REPO@REVISION or ORG/REPO:FILE.gguf")
        self._repo, self._revision, self._file = match["repo"], match["revision"], match["file"]
        self._source = f"hub:{identifier}"

    def is_origin(self, source: str, sha256: str) -> bool:  # noqa: ARG002 only a download would tell
        return source == self._source

    def fetch(self, folder: Path) -> Weights:
        """Raises: Unavailable without network; NotFound; Unsupported when the repository has nothing usable."""
        try:
            return self._fetch(folder)
        except ChainserveError:
            raise
        except Exception as error:  # the hub's client raises its own, requests', httpx's and OSError
            raise hub_error(self._repo, error) from error

    def _fetch(self, folder: Path) -> Weights:
        import huggingface_hub  # noqa: PLC0415 slow to load, and only this needs it

        # Its retries are told on stderr; ours is one line at the end.
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
        files = huggingface_hub.HfApi().list_repo_files(self._repo, revision=self._revision)
        wanted = wanted_files(files, self._file)
        huggingface_hub.snapshot_download(self._repo, revision=self._revision, allow_patterns=wanted, local_dir=folder)
        main = next(name for name in wanted if name.endswith((".gguf", "openvino_model.bin")))
        path = folder / main if main.endswith(".gguf") else folder
        return Weights(self._repo.split("/")[1], path, self._source, sha256_of(folder / main))


def wanted_files(files: list[str], chosen: str | None) -> list[str]:
    """Which files of a repository to fetch."""
    if chosen is not None:
        if chosen not in files:
            raise NotFound(f"--hub: the repository has no {chosen}")
        return [chosen]
    if set(IR_FILES) <= set(files):
        return [*IR_FILES, *(name for name in _IR_COMPANIONS if name in files)]
    return [_pick_gguf([name for name in files if name.endswith(".gguf") and "-of-" not in name])]


def _pick_gguf(names: list[str]) -> str:
    for mark in _PREFERRED:
        matching = [name for name in names if mark in name.lower()]
        if matching:
            return min(matching, key=len)
    if len(names) == 1:
        return names[0]
    if names:
        raise InvalidInput("--hub", f"pick a file with ORG/REPO:FILE.gguf, one of {', '.join(sorted(names))}")
    raise Unsupported("--hub: the repository has neither a GGUF in one file nor an OpenVINO IR")


def complete_ir(folder: Path) -> int:
    """Write the files that our tokenizer wants and some IR repositories lack; the context length in tokens."""
    config = _object(folder / "config.json")
    _complete_generation(folder, config)
    template = folder / "chat_template.jinja"
    if not template.is_file():
        text = _object(folder / "tokenizer_config.json").get("chat_template")
        if not isinstance(text, str):
            raise Unsupported("the repository has no chat template: chainserve needs a chat model")
        template.write_text(text, encoding="utf-8")
    return _context_length(config)


def _complete_generation(folder: Path, config: dict[str, Any]) -> None:
    generation = _object(folder / "generation_config.json") or config
    kept = {key: generation[key] for key in ("eos_token_id", "bos_token_id", "pad_token_id") if key in generation}
    (folder / "generation_config.json").write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def _context_length(config: dict[str, Any]) -> int:
    length = config.get("max_position_embeddings")
    if not isinstance(length, int):
        raise InvalidInput("config.json", "max_position_embeddings is missing")
    return length


def _object(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def hub_error(repo: str, error: Exception) -> ChainserveError:
    """One line out of what the hub's client said."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status in {401, 403, 404}:
        return NotFound(f"hub {repo}: no such repository, or it is not public ({status})")
    return Unavailable(f"hub {repo}: not reachable ({type(error).__name__}); give a file with --gguf PATH instead")
