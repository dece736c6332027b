"""moderation.toml and rules.toml: the categories in order, and what each does to whom."""

import re
from typing import Literal, Self

from pydantic import Field, model_validator

from chainserve.config import Settings

Role = Literal["user", "assistant"]
PII = "pii"


class Policy(Settings):
    """`flag` refuses at `threshold` and above; `score` only reports."""

    threshold: float = Field(gt=0, le=1)
    action: Literal["flag", "score"] = "flag"


class CategoryPolicy(Settings):
    user: Policy
    assistant: Policy


class GuardSettings(Settings):
    """`order` is the order of the scores in every answer; it names each key of `categories` once."""

    max_chars: int = Field(ge=1)
    order: tuple[str, ...]
    categories: dict[str, CategoryPolicy]

    @model_validator(mode="after")
    def _same_names(self) -> Self:
        if sorted(self.order) != sorted(self.categories):
            raise ValueError("order must name each of the categories once")
        return self

    def policies(self, role: Role) -> list[Policy]:
        """In the order of the scores."""
        return [getattr(self.categories[name], role) for name in self.order]


class ModerationSettings(GuardSettings):
    """The primary guard: heads over an encoder."""

    encoder: str = "use"
    threads: int = Field(default=1, ge=1)
    heads: str = "heads.npz"
    window_tokens: int = Field(ge=8)
    overlap_tokens: int = Field(ge=0)

    @model_validator(mode="after")
    def _windows_move_on(self) -> Self:
        if self.overlap_tokens >= self.window_tokens:
            raise ValueError("overlap_tokens must be less than window_tokens")
        return self


class RulesSettings(GuardSettings):
    """The second guard: an n-gram table, without an encoder, and `patterns` (regular expressions) of a category.

    A match scores `pattern_score`. Latin case does not matter.
    """

    table: str = "rules.npz"
    pattern_score: float = Field(gt=0, le=1)
    patterns: dict[str, tuple[re.Pattern[str], ...]]

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        unknown = sorted(set(self.patterns) - set(self.order))
        if unknown:
            raise ValueError(f"patterns: no category {', '.join(unknown)}")
        return self
