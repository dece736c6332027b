import asyncio

import pytest

from chainserve.engine.protocol import ScriptedEngine
from chainserve.errors import EngineDead
from chainserve.messages import Prompt, Sampling, Tokens

PROMPT, SAMPLING = Prompt("hi", (1, 2)), Sampling(max_tokens=4)


async def collect(engine: ScriptedEngine, request_id: str = "a") -> list[Tokens]:
    return [tokens async for tokens in engine.generate(PROMPT, SAMPLING, request_id)]


def test_the_fake_streams_its_script_and_remembers() -> None:
    engine = ScriptedEngine([(1,), (2, 3)])
    assert asyncio.run(collect(engine)) == [Tokens((1,)), Tokens((2, 3)), Tokens((), final=True)]
    assert (engine.prompts, engine.samplings, engine.running) == ([PROMPT], [SAMPLING], set())


def test_the_fake_fails_after_its_script() -> None:
    with pytest.raises(EngineDead):
        asyncio.run(collect(ScriptedEngine([(1,)], failure=EngineDead("gone"))))


def test_the_fake_stops_when_it_is_cancelled() -> None:
    async def scenario() -> list[Tokens]:
        engine = ScriptedEngine([(1,), (2,)], gate=asyncio.Event())
        running = asyncio.create_task(collect(engine))
        await asyncio.sleep(0)
        engine.cancel("a")
        engine.cancel("nobody")
        assert engine.gate is not None
        engine.gate.set()
        return await running

    assert asyncio.run(scenario()) == [Tokens((), final=True)]
