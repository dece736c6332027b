"""`chain`: the front door. Decoupled: `execute` hands requests to the event loop and returns."""

import uuid
from pathlib import Path
from typing import Any

from chainserve.admission.request import Admission
from chainserve.clock import MonotonicClock
from chainserve.config import load_toml
from chainserve.context.interfaces import ContextStore, Session
from chainserve.context.settings import ContextSettings
from chainserve.context.store import Store
from chainserve.engine.manifest import EngineManifest
from chainserve.engine.word_lists import word_lists
from chainserve.errors import Unavailable
from chainserve.guards.language import language_of
from chainserve.guards.refusal import Refusals
from chainserve.messages import ChainRequest, Context, Intent, Prompt
from chainserve.pipeline.chain import Chain, Stages
from chainserve.pipeline.policy import ChainPolicy
from chainserve.prompt.assembler import PromptAssembler
from chainserve.prompt.policy import PromptPolicy
from chainserve.tokenizer import StreamDecoder, Tokenizer
from chainserve.triton_io.answers import AnswerSender
from chainserve.triton_io.chain_inputs import chain_fields
from chainserve.triton_io.engine_calls import EngineCalls, TritonEngine
from chainserve.triton_io.environment import data_dir, draining, engine_dir, version_dir
from chainserve.triton_io.loop import EventLoopThread
from chainserve.triton_io.service import DecoupledModel, RequestSender
from chainserve.triton_io.stage_calls import StageCalls
from chainserve.triton_io.tensors import RequestTensors

# Every request holds up to four blocking calls: three branches, or the engine's stream beside an output check.
WORKERS_A_REQUEST = 4


class ChainModel(DecoupledModel):
    def initialize(self, args: dict[str, Any]) -> None:
        home = version_dir(args)
        policy = load_toml(home / "chain.toml", ChainPolicy)
        refusals = load_toml(home / policy.refusals, Refusals)
        self._admission = Admission(policy.admission)
        self.start("chain", WORKERS_A_REQUEST * (policy.admission.interactive + policy.admission.batch))
        self._chain = Chain(_stages(args, home, policy, self.loop), policy, refusals, MonotonicClock())

    async def answer(self, request: Any, sender: RequestSender) -> None:
        admitted = self._admit(request)
        await self._chain.answer(admitted, AnswerSender(sender, admitted.stream).emit)

    def _admit(self, request: Any) -> ChainRequest:
        if draining():
            raise Unavailable("the server is going down")
        # The engine's `stop` input goes by request id, and clients choose theirs freely: ours are unique.
        request_id = f"{request.request_id() or 'chain'}-{uuid.uuid4().hex[:12]}"
        return self._admission.admit(request_id, chain_fields(RequestTensors(request)))


def _stages(args: dict[str, Any], home: Path, policy: ChainPolicy, loop: EventLoopThread) -> Stages:
    engine_home = engine_dir(args)
    tokenizer = Tokenizer.load(engine_home)
    calls = StageCalls.on(loop)
    limits = load_toml(home / policy.context_policy, ContextSettings).store
    store = Store(data_dir(args), limits)

    async def remember(request: ChainRequest, answer: str) -> None:
        await loop.blocking(lambda: _save(store, request, answer))

    return Stages(
        moderate=calls.moderate,
        classify=calls.classify,
        fetch=calls.fetch,
        assemble=_assemble(home, policy, tokenizer, EngineManifest.load(engine_home)),
        engine=TritonEngine(EngineCalls(loop), lambda words: word_lists(tokenizer, words)),
        decoder=lambda: StreamDecoder(tokenizer),
        remember=remember,
    )


def _assemble(home: Path, policy: ChainPolicy, tokenizer: Tokenizer, engine: EngineManifest) -> Any:
    assembler = PromptAssembler(tokenizer, load_toml(home / policy.prompt_policy, PromptPolicy), language_of)

    def assemble(request: ChainRequest, intent: Intent, context: Context) -> Prompt:
        return assembler.assemble(
            request.messages, intent.route, context, request.sampling.max_tokens, engine.context_length
        )

    return assemble


def _save(store: ContextStore, request: ChainRequest, answer: str) -> None:
    session = Session(request.tenant, request.user_id, request.session_id)
    store.append_turn(session, request.question, answer)
