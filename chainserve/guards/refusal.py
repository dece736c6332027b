"""What a refused user reads, in the user's language. The texts are configuration."""

from typing import Self

from pydantic import Field, model_validator

from chainserve.config import Settings
from chainserve.guards.language import Language, language_of


class Refusals(Settings):
    """`default` speaks every language; `categories` says something better for some, where it has the language."""

    default: dict[Language, str]
    categories: dict[str, dict[Language, str]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _default_is_complete(self) -> Self:
        missing = {"en", "zh"} - set(self.default)
        if missing:
            raise ValueError(f"default: no text for {', '.join(sorted(missing))}")
        return self

    def text(self, category: str, question: str) -> str:
        """The refusal for `category` ("" where none is known), in the language of `question`."""
        language = language_of(question)
        return self.categories.get(category, {}).get(language, self.default[language])
