"""The Engine protocol over the `tensorrt_llm` model: the same for the compiled engine and the CPU engine."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

from chainserve.messages import Prompt, Sampling, Tokens
from chainserve.triton_io.calls import ModelCalls, Response
from chainserve.triton_io.loop import EventLoopThread
from chainserve.triton_io.tensors import Array


class EngineCalls:
    """Requests to `tensorrt_llm` that stop when nobody reads their answers any more."""

    def __init__(self, loop: EventLoopThread) -> None:
        self._loop = loop
        self._calls = ModelCalls("tensorrt_llm", ("output_ids", "sequence_length"), loop)

    async def responses(self, inputs: Mapping[str, Any], request_id: str) -> AsyncGenerator[Response, None]:
        """The engine's responses. Closing the generator before its end stops the engine."""
        finished = False
        try:
            async with aclosing(self._calls.stream(inputs, request_id)) as stream:
                async for response in stream:
                    yield response
            finished = True
        finally:
            if not finished:
                self.cancel(request_id)

    def cancel(self, request_id: str) -> None:
        """Stop a running request; nobody waits for it.

        Triton does not cancel the child of a cancelled request. NVIDIA's contract has a `stop` input for that, sent
        with the id of the request to stop.
        """
        stop = self._calls.request({"input_lengths": 0, "request_output_len": 0, "stop": True}, request_id)
        self._loop.start_blocking(lambda: self._calls.drain(stop))


class TritonEngine:
    """`bad_words` turns words into the engine's word list, int32 [2, n]."""

    def __init__(self, calls: EngineCalls, bad_words: Callable[[tuple[str, ...]], Array]) -> None:
        self._calls, self._bad_words = calls, bad_words

    async def generate(self, prompt: Prompt, sampling: Sampling, request_id: str) -> AsyncGenerator[Tokens, None]:
        """Increments of token ids. Closing the generator before its end stops the engine."""
        inputs = {**_prompt(prompt), **_sampling(sampling), **self._words(sampling)}
        async with aclosing(self._calls.responses(inputs, request_id)) as responses:
            async for response in responses:
                yield Tokens(_ids(response))

    def cancel(self, request_id: str) -> None:
        self._calls.cancel(request_id)

    def _words(self, sampling: Sampling) -> dict[str, Any]:
        return {"bad_words_list": self._bad_words(sampling.bad_words)} if sampling.bad_words else {}


def _prompt(prompt: Prompt) -> dict[str, Any]:
    return {
        "input_ids": prompt.ids,
        "input_lengths": len(prompt.ids),
        "streaming": True,
        "exclude_input_in_output": True,
    }


def _sampling(sampling: Sampling) -> dict[str, Any]:
    guide = sampling.guide
    return {
        "request_output_len": sampling.max_tokens,
        "min_tokens": sampling.min_tokens,
        "temperature": sampling.temperature,
        "runtime_top_k": sampling.top_k,
        "runtime_top_p": sampling.top_p,
        "seed": sampling.seed,
        "repetition_penalty": sampling.repetition_penalty,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
        "guided_decoding_guide_type": guide.kind if guide else None,
        "guided_decoding_guide": guide.text if guide else None,
    }


def _ids(response: Response) -> tuple[int, ...]:
    """The new ids of the only beam: `output_ids` [1, 1, n] padded with -1, `sequence_length` [1, 1]."""
    count = int(response.required("sequence_length").reshape(-1)[0])
    return tuple(response.required("output_ids").reshape(-1)[:count].tolist())
