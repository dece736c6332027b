from pathlib import Path

import pytest
from pydantic import ValidationError

from chainserve.config import load_toml
from chainserve.intents.settings import IntentSettings
from chainserve.prompt.policy import Budgets, PromptPolicy, Wording

REPOSITORY = Path(__file__).parents[2] / "model_repository"


def test_the_shipped_policy_knows_the_routes_of_the_intent_model() -> None:
    policy = load_toml(REPOSITORY / "prompt_assembly" / "1" / "prompt.toml", PromptPolicy)
    intents = load_toml(REPOSITORY / "intent" / "1" / "intent.toml", IntentSettings)
    assert set(policy.routes) <= {*intents.routes, intents.default_route}
    assert policy.default_route == intents.default_route


def test_the_default_route_must_be_there() -> None:
    words = Wording(en="a", zh="b")
    with pytest.raises(ValidationError, match="no text for the default route 'default'"):
        PromptPolicy(
            budgets=Budgets(profile=1, passages=1, history=1), profile=words, reference=words, routes={"kitchen": words}
        )
