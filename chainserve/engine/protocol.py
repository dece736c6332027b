"""The boundary between the chain and whatever generates tokens."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from chainserve.errors import ChainserveError
from chainserve.messages import Prompt, Sampling, Tokens


class Engine(Protocol):
    def generate(self, prompt: Prompt, sampling: Sampling, request_id: str) -> AsyncGenerator[Tokens, None]:
        """Increments of token ids, the last one `final`. Closing the generator before its end stops the request.

        Raises:
            InvalidInput: the engine cannot honour the prompt or the sampling.
            EngineDead: the engine is gone.
        """
        ...

    def cancel(self, request_id: str) -> None:
        """Stop a running request; its stream ends with what it has. An unknown id does nothing. Returns at once."""
        ...


@dataclass
class ScriptedEngine:
    """The fake: answers every prompt with the same increments, and remembers what it was asked.

    Args:
        increments: the ids to stream, one tuple an increment.
        failure: raised after the increments, instead of the end.
        gate: when given, each increment waits until the gate is set.
    """

    increments: Sequence[tuple[int, ...]]
    failure: ChainserveError | None = None
    gate: asyncio.Event | None = None
    prompts: list[Prompt] = field(default_factory=list)
    samplings: list[Sampling] = field(default_factory=list)
    running: set[str] = field(default_factory=set)
    cancelled: list[str] = field(default_factory=list)

    async def generate(self, prompt: Prompt, sampling: Sampling, request_id: str) -> AsyncGenerator[Tokens, None]:
        self.prompts.append(prompt)
        self.samplings.append(sampling)
        self.running.add(request_id)
        try:
            for ids in self.increments:
                await self._turn()
                if request_id in self.cancelled:
                    break
                yield Tokens(ids)
            if self.failure is not None:
                raise self.failure
            yield Tokens((), final=True)
        finally:
            self.running.discard(request_id)

    def cancel(self, request_id: str) -> None:
        if request_id in self.running:
            self.cancelled.append(request_id)

    async def _turn(self) -> None:
        await (asyncio.sleep(0) if self.gate is None else self.gate.wait())
