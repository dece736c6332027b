import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from chainserve.admission.policy import AdmissionPolicy
from chainserve.branches.branch import StageBudget
from chainserve.clock import MonotonicClock
from chainserve.engine.protocol import ScriptedEngine
from chainserve.errors import DeadlineExceeded, InvalidInput, StageFailed, Unavailable
from chainserve.guards.refusal import Refusals
from chainserve.messages import (
    AnswerChunk,
    ChainRequest,
    ChatMessage,
    Context,
    FinishReason,
    Intent,
    Prompt,
    Role,
    Sampling,
    Verdict,
)
from chainserve.pipeline.chain import Chain, Stages
from chainserve.pipeline.policy import ChainPolicy, StageBudgets
from chainserve.streaming.windows import WindowPolicy

SHORT = StageBudget(timeout_ms=50)
POLICY = ChainPolicy(
    prompt_policy="",
    context_policy="",
    refusals="",
    default_route="default",
    admission=AdmissionPolicy(interactive=1, batch=1, max_input_chars=100, max_tokens=50, default_max_tokens=50),
    stages=StageBudgets(
        moderation=SHORT, intent=SHORT, context=SHORT, engine=StageBudget(timeout_ms=5000), output_moderation=SHORT
    ),
    streaming=WindowPolicy(first_chars=4, growth=1.0, max_chars=100, overlap_chars=4),
)
REFUSALS = Refusals(default={"en": "No.", "zh": "不行。"})
REQUEST = ChainRequest("id", (ChatMessage("user", "what now"),), Sampling(max_tokens=50), stream=True)


@dataclass
class Letters:
    """The fake decoder: a token id is a code point."""

    def push(self, ids: tuple[int, ...]) -> str:
        return "".join(map(chr, ids))


def speaking(text: str, **more: Any) -> ScriptedEngine:
    return ScriptedEngine([(ord(letter),) for letter in text], **more)


async def forever(*_: Any) -> Any:
    await asyncio.Event().wait()


async def broken(*_: Any) -> Any:
    raise RuntimeError("secret")


@dataclass
class World:
    """Stages that behave, each replaceable; and what the chain did with them."""

    engine: ScriptedEngine = field(default_factory=lambda: speaking("all is well here"))
    bad: str = "bomb"
    replaced: dict[str, Callable[..., Any]] = field(default_factory=dict)
    remembered: list[str] = field(default_factory=list)
    chunks: list[AnswerChunk] = field(default_factory=list)
    routes: list[str] = field(default_factory=list)

    async def moderate(self, text: str, role: Role) -> Verdict:
        return Verdict(flagged=self.bad in text, category="violence" if self.bad in text else "")

    async def classify(self, _: str) -> Intent:
        return Intent("weather", "travel", 0.9)

    async def fetch(self, _: ChainRequest) -> Context:
        return Context(profile="likes tea")

    def assemble(self, request: ChainRequest, intent: Intent, _: Context) -> Prompt:
        self.routes.append(intent.route)
        return Prompt(request.question, (1, 2, 3))

    async def remember(self, _: ChainRequest, answer: str) -> None:
        self.remembered.append(answer)

    def chain(self) -> Chain:
        names = ("moderate", "classify", "fetch", "assemble", "remember")
        calls = {name: self.replaced.get(name, getattr(self, name)) for name in names}
        stages = Stages(engine=self.engine, decoder=Letters, **calls)  # type: ignore[arg-type]
        return Chain(stages, POLICY, REFUSALS, MonotonicClock())

    def ask(self, request: ChainRequest = REQUEST) -> AnswerChunk:
        asyncio.run(self.chain().answer(request, self.chunks.append))
        return self.chunks[-1]

    @property
    def text(self) -> str:
        return "".join(chunk.text for chunk in self.chunks)


def test_a_clean_answer_leaves_in_pieces_and_is_remembered() -> None:
    world = World()
    last = world.ask()
    assert world.text == "all is well here"
    assert len(world.chunks) > 2
    assert last.finish_reason is FinishReason.STOP
    assert last.usage is not None
    assert (last.usage.input, last.usage.output, last.usage.wasted) == (3, 16, 0)
    assert world.remembered == ["all is well here"]


def test_the_report_tells_what_happened() -> None:
    report = World().ask().report
    names = [stage["name"] for stage in report["stages"]]  # type: ignore[attr-defined]
    assert set(names) == {"moderation", "intent", "context", "prompt", "prefill", "decode", "output_moderation"}
    assert report["intent"] == {"name": "weather", "route": "travel", "confidence": 0.9, "source": "classifier"}
    assert report["verdict"] == {"flagged": False, "category": "", "source": "moderation"}
    assert report["finish_reason"] == "stop"


def test_a_flagged_question_never_reaches_the_engine() -> None:
    world = World()
    last = world.ask(replace(REQUEST, messages=(ChatMessage("user", "make a bomb"),)))
    assert world.text == "No."
    assert last.finish_reason is FinishReason.CONTENT_FILTER
    assert world.engine.prompts == []
    assert world.remembered == []


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_what_stands_before_the_question_is_checked_too(role: Role) -> None:
    world = World()
    messages = (ChatMessage(role, "about a bomb"), ChatMessage("user", "go on"))
    assert world.ask(replace(REQUEST, messages=messages)).finish_reason is FinishReason.CONTENT_FILTER
    assert world.engine.prompts == []


def test_a_refusal_does_not_wait_for_slower_branches() -> None:
    world = World(replaced={"classify": forever, "fetch": forever})
    world.ask(replace(REQUEST, messages=(ChatMessage("user", "做bomb"),)))
    assert world.text == "不行。"
    assert world.chunks[-1].report["intent"] is None


@pytest.mark.parametrize("guard", [forever, broken])
def test_a_guard_that_cannot_be_asked_refuses(guard: Callable[..., Any]) -> None:
    world = World(replaced={"moderate": guard})
    last = world.ask()
    assert last.finish_reason is FinishReason.CONTENT_FILTER
    assert world.engine.prompts == []
    assert last.report["verdict"] == {"flagged": True, "category": "unavailable", "source": "fallback"}


@pytest.mark.parametrize("stage", [forever, broken])
def test_late_or_broken_helpers_are_left_out(stage: Callable[..., Any]) -> None:
    world = World(replaced={"classify": stage, "fetch": stage})
    last = world.ask()
    assert world.text == "all is well here"
    assert world.routes == ["default"]
    assert last.report["intent"]["source"] == "default"  # type: ignore[index]


def test_a_bad_answer_ends_at_the_last_cleared_character() -> None:
    world = World(engine=speaking("fine so far, a bomb is here, and more"))
    last = world.ask()
    assert last.finish_reason is FinishReason.CONTENT_FILTER
    assert "fine so far, a bomb".startswith(world.text)
    assert "bomb" not in world.text
    assert world.engine.running == set()
    assert last.usage is not None
    assert last.usage.wasted > 0
    assert world.remembered == []


def test_an_answer_bad_from_its_first_word_is_refused() -> None:
    world = World(engine=speaking("bomb bomb bomb"))
    assert world.ask().finish_reason is FinishReason.CONTENT_FILTER
    assert world.text == "No."


def test_a_stop_word_on_text_ends_the_answer_and_the_engine() -> None:
    world = World()
    sampling = Sampling(max_tokens=50, stop_words=("well",))
    assert world.ask(replace(REQUEST, sampling=sampling)).finish_reason is FinishReason.STOP
    assert world.text == "all is "
    assert world.engine.running == set()


def test_a_full_answer_has_length_as_its_reason() -> None:
    world = World()
    last = world.ask(replace(REQUEST, sampling=Sampling(max_tokens=16)))
    assert last.finish_reason is FinishReason.LENGTH


def test_the_deadline_before_any_text_is_an_error_and_stops_the_engine() -> None:
    world = World(engine=speaking("never", gate=asyncio.Event()))
    with pytest.raises(DeadlineExceeded, match="deadline exceeded in engine"):
        world.ask(replace(REQUEST, timeout_ms=40))
    assert world.engine.running == set()


def test_the_deadline_after_some_text_ends_with_what_was_cleared() -> None:
    class Stalling(ScriptedEngine):
        async def _turn(self) -> None:
            await (asyncio.sleep(0) if len(world.text) < 7 else asyncio.Event().wait())

    world = World()
    world.engine = Stalling(speaking("all is well here").increments)
    last = world.ask(replace(REQUEST, timeout_ms=60))
    assert last.finish_reason is FinishReason.DEADLINE
    assert "all is well here".startswith(world.text)
    assert world.text


def test_a_broken_engine_is_an_error_without_its_secrets() -> None:
    world = World(engine=speaking("a", failure=StageFailed("tensorrt_llm")))
    with pytest.raises(StageFailed, match="tensorrt_llm: failed"):
        world.ask()


def test_a_prompt_that_does_not_fit_is_said_plainly() -> None:
    def too_long(*_: Any) -> Prompt:
        raise InvalidInput("text_input", "too long")

    with pytest.raises(InvalidInput, match="too long"):
        World(replaced={"assemble": too_long}).ask()


def test_one_more_than_there_are_places_is_refused() -> None:
    world = World(engine=speaking("slow", gate=asyncio.Event()))

    async def both() -> None:
        chain = world.chain()
        first = asyncio.create_task(chain.answer(REQUEST, world.chunks.append))
        await asyncio.sleep(0)
        with pytest.raises(Unavailable, match="full"):
            await chain.answer(REQUEST, world.chunks.append)
        first.cancel()

    asyncio.run(both())


def test_cancelling_the_answer_stops_the_engine() -> None:
    world = World(engine=speaking("slow", gate=asyncio.Event()))

    async def leave() -> None:
        answer = asyncio.create_task(world.chain().answer(REQUEST, world.chunks.append))
        while not world.engine.running:  # noqa: ASYNC110 the scripted engine has no event for it
            await asyncio.sleep(0)
        answer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await answer

    asyncio.run(leave())
    assert world.engine.running == set()
