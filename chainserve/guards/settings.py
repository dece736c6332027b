"""moderation.toml: the categories in order, and what each does to whom."""

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


class ModerationSettings(Settings):
    """`order` is the order of the scores in every answer; it names each key of `categories` once."""

    encoder: str = "use"
    threads: int = Field(default=1, ge=1)
    heads: str = "heads.npz"
    max_chars: int = Field(ge=1)
    window_tokens: int = Field(ge=8)
    overlap_tokens: int = Field(ge=0)
    order: tuple[str, ...]
    categories: dict[str, CategoryPolicy]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if sorted(self.order) != sorted(self.categories):
            raise ValueError("order must name each of the categories once")
        if self.overlap_tokens >= self.window_tokens:
            raise ValueError("overlap_tokens must be less than window_tokens")
        return self

    def policies(self, role: Role) -> list[Policy]:
        """In the order of the scores."""
        return [getattr(self.categories[name], role) for name in self.order]
