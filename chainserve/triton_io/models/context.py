"""`context`: profile, history and passages for each question; all questions of a batch in one pass of the encoder."""

from pathlib import Path
from typing import Any

import triton_python_backend_utils as pb_utils

from chainserve.config import load_toml
from chainserve.context.index import DocumentIndex
from chainserve.context.index_files import encoder_name
from chainserve.context.interfaces import Session
from chainserve.context.retrieval import Query, Retrieval, Search
from chainserve.context.settings import ContextSettings
from chainserve.context.store import Store
from chainserve.encoder import load_encoder
from chainserve.guards.language import language_of
from chainserve.triton_io.batch import run_batch
from chainserve.triton_io.context_tensors import context_to_tensors
from chainserve.triton_io.environment import data_dir, version_dir
from chainserve.triton_io.tensors import RequestTensors

INDEX = "index"
"""The folder of the search index below the data folder."""


class ContextModel:
    def initialize(self, args: dict[str, Any]) -> None:
        settings = load_toml(version_dir(args) / "context.toml", ContextSettings)
        data = data_dir(args)
        self._store = Store(data, settings.store)
        self._retrieval = Retrieval(self._store, _search(data / INDEX, settings), settings)

    def execute(self, requests: list[Any]) -> list[Any]:
        return run_batch(requests, _decode, self._retrieval.fetch, context_to_tensors)

    def finalize(self) -> None:
        self._store.close()


def _search(folder: Path, settings: ContextSettings) -> Search | None:
    """None without an index. One that is damaged or of another encoder stops the model from loading."""
    if not folder.exists():
        pb_utils.Logger.log_warn(f"context: no index in {folder}, there will be no passages: `chainserve-build index`")
        return None
    encoder = load_encoder(settings.encoder, settings.threads)
    index = DocumentIndex.load(folder, encoder, encoder_name(settings.encoder), settings.threads)
    return Search(index, encoder, settings.search, language_of)


def _decode(tensors: RequestTensors) -> list[Query]:
    texts = tensors.texts("text") or []
    nobody = [""] * len(texts)
    callers = (tensors.texts(name) or nobody for name in ("tenant", "user_id", "session_id"))
    return [Query(text, Session(*caller)) for text, *caller in zip(texts, *callers, strict=True)]
