"""One request through the chain.

    admission -> [ moderation | (intent | context) -> prompt ] -> engine -> windows -> moderation -> client

The guard, the classifier and the context run at the same time. The engine starts once the guard has passed the input
and the prompt is ready; its text leaves only when the guard has passed it too.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from chainserve.admission.lanes import Lanes
from chainserve.branches.branch import Branch
from chainserve.branches.group import together
from chainserve.clock import Clock
from chainserve.deadline import Deadline
from chainserve.engine.protocol import Engine
from chainserve.errors import DeadlineExceeded, StageFailed
from chainserve.guards.refusal import Refusals
from chainserve.messages import AnswerChunk, ChainRequest, Context, FinishReason, Intent, Prompt, Role, Verdict
from chainserve.pipeline.policy import ChainPolicy
from chainserve.pipeline.run import Run
from chainserve.streaming.release import HeldText, release
from chainserve.streaming.stop_words import StopWords
from chainserve.streaming.windows import WindowPlan
from chainserve.timeline import Timeline

Emit = Callable[[AnswerChunk], None]


class Decoder(Protocol):
    """Ids in, whole characters out."""

    def push(self, ids: Iterable[int]) -> str: ...


@dataclass(frozen=True)
class Stages:
    """What the chain calls. `assemble` is computed in process; the others may be anywhere."""

    moderate: Callable[[str, Role], Awaitable[Verdict]]
    classify: Callable[[str], Awaitable[Intent]]
    fetch: Callable[[ChainRequest], Awaitable[Context]]
    assemble: Callable[[ChainRequest, Intent, Context], Prompt]
    engine: Engine
    decoder: Callable[[], Decoder]
    remember: Callable[[ChainRequest, str], Awaitable[None]]


class Chain:
    """Used from one event loop. Cancel the task of `answer` when the client is gone."""

    def __init__(self, stages: Stages, policy: ChainPolicy, refusals: Refusals, clock: Clock) -> None:
        self._stages, self._policy, self._refusals, self._clock = stages, policy, refusals, clock
        self._lanes = Lanes(policy.admission)
        # A guard that cannot be asked has not passed anything.
        closed = Verdict(flagged=True, category="unavailable", source="fallback")
        budgets = policy.stages
        self._guard = Branch("moderation", budgets.moderation, closed)
        self._output_guard = Branch("output_moderation", budgets.output_moderation, closed)
        self._intent = Branch("intent", budgets.intent, Intent("", policy.default_route, source="default"))
        self._context = Branch("context", budgets.context, Context())

    async def answer(self, request: ChainRequest, emit: Emit) -> None:
        """Emit the answer in cleared pieces; the last chunk has the finish reason, the usage and the report.

        Raises:
            Unavailable: no place is free.
            DeadlineExceeded: the deadline passed before any text was cleared.
            InvalidInput: the prompt does not fit the engine.
            StageFailed: the engine broke.
        """
        with self._lanes.permit(request.priority):
            seconds = None if request.timeout_ms is None else request.timeout_ms / 1e3
            run = Run(request, Deadline.after(self._clock, seconds), Timeline(self._clock))
            finish = await self._run(run, emit)
            emit(run.last(finish))
        if finish in {FinishReason.STOP, FinishReason.LENGTH}:
            await self._stages.remember(request, run.answer)

    async def _run(self, run: Run, emit: Emit) -> FinishReason:
        async with together() as group:
            guard = group.create_task(self._moderate_input(run))
            prompt = group.create_task(self._assemble(run))
            run.verdict = await guard
            if run.verdict.flagged:
                prompt.cancel()
        if run.verdict.flagged:
            return self._refuse(run, run.verdict, emit)
        return await self._generate(run, prompt.result(), emit)

    async def _moderate_input(self, run: Run) -> Verdict:
        sent = run.request.untrusted_text
        return await self._guard.run(lambda: self._stages.moderate(sent, "user"), run.deadline, run.timeline)

    async def _assemble(self, run: Run) -> Prompt:
        request = run.request
        async with together() as group:
            intent = group.create_task(
                self._intent.run(lambda: self._stages.classify(request.question), run.deadline, run.timeline)
            )
            context = group.create_task(
                self._context.run(lambda: self._stages.fetch(request), run.deadline, run.timeline)
            )
        run.intent = intent.result()
        with run.timeline.stage("prompt"):
            return self._stages.assemble(request, run.intent, context.result())

    def _refuse(self, run: Run, verdict: Verdict, emit: Emit) -> FinishReason:
        emit(run.chunk(self._refusals.text(verdict.category, run.request.question)))
        return FinishReason.CONTENT_FILTER

    async def _generate(self, run: Run, prompt: Prompt, emit: Emit) -> FinishReason:
        run.prompt = prompt
        held = HeldText(WindowPlan(self._policy.streaming))
        try:
            async with asyncio.timeout(run.deadline.within(self._policy.stages.engine.timeout_ms / 1e3)):
                async with together() as group:
                    decode = group.create_task(self._decode(run, prompt, held))
                    verdict = await release(held, self._check(run), lambda text: emit(run.chunk(text)))
                    decode.cancel()
        except (TimeoutError, DeadlineExceeded):
            return self._late(run)
        if verdict is None:
            return decode.result()
        run.verdict = verdict
        return FinishReason.CONTENT_FILTER if run.answer else self._refuse(run, verdict, emit)

    def _check(self, run: Run) -> Callable[[str], Awaitable[Verdict]]:
        async def check(text: str) -> Verdict:
            return await self._output_guard.run(
                lambda: self._stages.moderate(text, "assistant"), run.deadline, run.timeline
            )

        return check

    async def _decode(self, run: Run, prompt: Prompt, held: HeldText) -> FinishReason:
        """Pull the engine's tokens into `held`. Leaving early, for whatever reason, stops the engine."""
        sampling = run.request.sampling
        decoder, stop = self._stages.decoder(), StopWords(sampling.stop_words)
        stage = run.timeline.begin("prefill")
        async with aclosing(self._stages.engine.generate(prompt, sampling, run.request.request_id)) as stream:
            async for tokens in stream:
                if stage.name == "prefill":
                    run.timeline.end(stage)
                    stage = run.timeline.begin("decode")
                held.add(stop.push(decoder.push(tokens.ids)))
                run.count(len(tokens.ids), len(held.text))
                if stop.stopped:
                    break
        run.timeline.end(stage)
        # What the decoder still holds is part of a character that `max_tokens` cut off: no text.
        held.add(stop.flush())
        held.close()
        full = run.output_tokens >= sampling.max_tokens and not stop.stopped
        return FinishReason.LENGTH if full else FinishReason.STOP

    def _late(self, run: Run) -> FinishReason:
        if not run.deadline.passed:
            raise StageFailed("engine", "took longer than its budget")
        if not run.answer:
            raise DeadlineExceeded("engine")
        return FinishReason.DEADLINE
