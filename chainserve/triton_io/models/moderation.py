"""`moderation`: a verdict for each text; all requests of a batch in one pass of the encoder."""

from collections.abc import Sequence
from typing import Any, cast

from chainserve.config import load_toml
from chainserve.errors import InvalidInput
from chainserve.guards.decision import Check
from chainserve.guards.moderator import Moderator
from chainserve.guards.settings import ModerationSettings, Role
from chainserve.messages import Verdict
from chainserve.triton_io.batch import run_batch
from chainserve.triton_io.environment import version_dir
from chainserve.triton_io.tensors import RequestTensors, output

_ROLES = ("user", "assistant")


class ModerationModel:
    def initialize(self, args: dict[str, Any]) -> None:
        home = version_dir(args)
        self._settings = load_toml(home / "moderation.toml", ModerationSettings)
        self._moderator = Moderator.load(home, self._settings)

    def execute(self, requests: list[Any]) -> list[Any]:
        return run_batch(requests, self._decode, self._moderator.moderate, _encode)

    def _decode(self, tensors: RequestTensors) -> list[Check]:
        texts = tensors.texts("text") or []
        roles = tensors.texts("role") or ["user"] * len(texts)
        return [Check(self._bounded(text), _role(role)) for text, role in zip(texts, roles, strict=True)]

    def _bounded(self, text: str) -> str:
        limit = self._settings.max_chars
        if len(text) > limit:
            raise InvalidInput("text", f"at most {limit} characters, got {len(text)}")
        return text


def _role(role: str) -> Role:
    if role not in _ROLES:
        raise InvalidInput("role", f"must be {' or '.join(_ROLES)}, got other text of {len(role)} characters")
    return cast("Role", role)


def _encode(verdicts: Sequence[Verdict]) -> list[Any]:
    shape = (len(verdicts), 1)
    scores = [score for verdict in verdicts for score in verdict.scores]
    return [
        output("flagged", "TYPE_BOOL", [verdict.flagged for verdict in verdicts], shape),
        output("category", "TYPE_STRING", [verdict.category for verdict in verdicts], shape),
        output("scores", "TYPE_FP32", scores, (len(verdicts), len(scores) // len(verdicts))),
    ]
