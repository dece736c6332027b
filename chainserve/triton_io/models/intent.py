"""`intent`: one label and one route for each text; all requests of a batch in one pass of the encoder."""

from collections.abc import Sequence
from typing import Any

from chainserve.config import load_toml
from chainserve.intents.classifier import IntentClassifier
from chainserve.intents.settings import IntentSettings
from chainserve.messages import Intent
from chainserve.triton_io.batch import run_batch
from chainserve.triton_io.environment import version_dir
from chainserve.triton_io.tensors import RequestTensors, output


class IntentModel:
    def initialize(self, args: dict[str, Any]) -> None:
        home = version_dir(args)
        self._classifier = IntentClassifier.load(home, load_toml(home / "intent.toml", IntentSettings))

    def execute(self, requests: list[Any]) -> list[Any]:
        return run_batch(requests, _decode, self._classifier.classify, _encode)


def _decode(tensors: RequestTensors) -> list[str]:
    return tensors.texts("text") or []


def _encode(intents: Sequence[Intent]) -> list[Any]:
    shape = (len(intents), 1)
    return [
        output("intent", "TYPE_STRING", [intent.name for intent in intents], shape),
        output("route", "TYPE_STRING", [intent.route for intent in intents], shape),
        output("confidence", "TYPE_FP32", [intent.confidence for intent in intents], shape),
    ]
