"""chain.toml: the policy of the chain, versioned with the model."""

from chainserve.admission.policy import AdmissionPolicy
from chainserve.branches.branch import StageBudget
from chainserve.config import Settings
from chainserve.streaming.windows import WindowPolicy


class StageBudgets(Settings):
    """How long each stage may take, at most; the request's own deadline cuts all of them short."""

    moderation: StageBudget
    intent: StageBudget
    context: StageBudget
    engine: StageBudget
    output_moderation: StageBudget


class ChainPolicy(Settings):
    """Files are named relative to chain.toml."""

    prompt_policy: str
    context_policy: str
    refusals: str
    default_route: str
    admission: AdmissionPolicy
    stages: StageBudgets
    streaming: WindowPolicy
