"""intent.toml: which intents there are, where each leads, and when to abstain."""

from typing import Self

from pydantic import Field, model_validator

from chainserve.config import Settings


class IntentSettings(Settings):
    """`routes` maps a route to its intents; every intent has one route. `default_route` has none: it takes the rest."""

    encoder: str = "use"
    threads: int = Field(default=1, ge=1)
    head: str = "head.npz"
    abstain_below: float = Field(ge=0, le=1)
    max_chars: int = Field(default=2000, ge=2)
    default_route: str = "default"
    routes: dict[str, tuple[str, ...]]

    @model_validator(mode="after")
    def _each_intent_once(self) -> Self:
        intents = [intent for names in self.routes.values() for intent in names]
        twice = sorted({intent for intent in intents if intents.count(intent) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)}: in more than one route")
        return self

    def route_of(self) -> dict[str, str]:
        return {intent: route for route, intents in self.routes.items() for intent in intents}
