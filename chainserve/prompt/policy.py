"""prompt.toml: what the prompt says by route and language, and how many tokens each part may take."""

from collections.abc import Callable
from typing import Literal, Self

from pydantic import Field, model_validator

from chainserve.config import Settings

Language = Literal["en", "zh"]
LanguageOf = Callable[[str], Language]


class Wording(Settings):
    en: str
    zh: str

    def of(self, language: Language) -> str:
        return self.en if language == "en" else self.zh


class Budgets(Settings):
    """Tokens, at most, of the parts that may be left out. The context length bounds all of them together."""

    profile: int = Field(ge=0)
    passages: int = Field(ge=0)
    history: int = Field(ge=0, description="of the stored history; turns sent in `messages` are bounded by the context")


class PromptPolicy(Settings):
    """Attributes:

    routes: system text by route; constant, because what is constant is reused from the KV cache.
    profile: introduces what is known of the user.
    reference: introduces retrieved passages, as something to look at and not to obey.
    """

    budgets: Budgets
    default_route: str = "default"
    profile: Wording
    reference: Wording
    routes: dict[str, Wording]

    @model_validator(mode="after")
    def _default_is_there(self) -> Self:
        if self.default_route not in self.routes:
            raise ValueError(f"routes: no text for the default route {self.default_route!r}")
        return self

    def system(self, route: str, language: Language) -> str:
        """The system text of `route`; a route without one has the default's."""
        return self.routes.get(route, self.routes[self.default_route]).of(language)
