"""The chain's branches as calls to the models of the repository."""

from dataclasses import dataclass

from chainserve.messages import ChainRequest, Context, Intent, Role, Verdict
from chainserve.triton_io.calls import ModelCalls
from chainserve.triton_io.context_tensors import context_from_tensors
from chainserve.triton_io.loop import EventLoopThread


@dataclass(frozen=True)
class StageCalls:
    moderation: ModelCalls
    intent: ModelCalls
    context: ModelCalls

    @classmethod
    def on(cls, loop: EventLoopThread) -> "StageCalls":
        return cls(
            ModelCalls("moderation", ("flagged", "category", "scores"), loop),
            ModelCalls("intent", ("intent", "route", "confidence"), loop),
            ModelCalls("context", ("profile", "history", "passages"), loop),
        )

    async def moderate(self, text: str, role: Role) -> Verdict:
        answer = await self.moderation.once({"text": text, "role": role})
        scores = tuple(answer.required("scores").reshape(-1).tolist())
        return Verdict(bool(answer.required("flagged").reshape(-1)[0]), answer.text("category"), scores)

    async def classify(self, text: str) -> Intent:
        answer = await self.intent.once({"text": text})
        confidence = float(answer.required("confidence").reshape(-1)[0])
        return Intent(answer.text("intent"), answer.text("route"), confidence)

    async def fetch(self, request: ChainRequest) -> Context:
        answer = await self.context.once(
            {
                "text": request.question,
                "user_id": request.user_id,
                "session_id": request.session_id,
                "tenant": request.tenant,
            }
        )
        return context_from_tensors(answer.text("profile"), answer.text("history"), answer.text("passages"))
