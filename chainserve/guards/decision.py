"""From scores to a verdict: the policy of the role decides."""

from collections.abc import Sequence

from chainserve.guards.settings import ModerationSettings, Role
from chainserve.messages import Verdict


def decide(scores: Sequence[float], role: Role, settings: ModerationSettings, source: str) -> Verdict:
    """`scores` in the order of the settings. The top category is the flagged one with the highest score."""
    flagged = [
        (score, name)
        for score, name, policy in zip(scores, settings.order, settings.policies(role), strict=True)
        if policy.action == "flag" and score >= policy.threshold
    ]
    category = max(flagged)[1] if flagged else ""
    return Verdict(bool(flagged), category, tuple(scores), source)
