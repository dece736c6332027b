"""What is asked of a guard, and how its scores become a verdict: the policy of the role decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from chainserve.errors import InvalidInput
from chainserve.guards.settings import PII, GuardSettings, Role
from chainserve.messages import Verdict


@dataclass(frozen=True)
class Check:
    """One text to judge, and who said it."""

    text: str
    role: Role = "user"


class Guard(Protocol):
    def moderate(self, checks: Sequence[Check]) -> list[Verdict]:
        """One verdict a check, in their order."""
        ...


def decide(scores: Sequence[float], role: Role, settings: GuardSettings, source: str) -> Verdict:
    """`scores` in the order of the settings. The top category is the flagged one with the highest score."""
    flagged = [
        (score, name)
        for score, name, policy in zip(scores, settings.order, settings.policies(role), strict=True)
        if policy.action == "flag" and score >= policy.threshold
    ]
    category = max(flagged)[1] if flagged else ""
    return Verdict(bool(flagged), category, tuple(scores), source)


def columns(labels: Sequence[str], settings: GuardSettings) -> list[int]:
    """Where each category of the settings stands in `labels` followed by personal data.

    Raises:
        InvalidInput: the model and the settings name different categories.
    """
    if {*labels, PII} != set(settings.order):
        raise InvalidInput("order", f"must name {', '.join(labels)} and {PII}: the categories of the model")
    return [(*labels, PII).index(name) for name in settings.order]
