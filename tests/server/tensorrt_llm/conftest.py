"""A stream to `tensorrt_llm`, and prompts in ids."""

from collections.abc import Iterator

import pytest
from engine_client import Stream
from running_server import ENGINE, Server

from chainserve.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.load(ENGINE)


@pytest.fixture
def stream(server: Server) -> Iterator[Stream]:
    with Stream(server.grpc) as opened:
        yield opened


@pytest.fixture(scope="module")
def paris(tokenizer: Tokenizer) -> list[int]:
    return tokenizer.encode("<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n")


@pytest.fixture(scope="module")
def story(tokenizer: Tokenizer) -> list[int]:
    return tokenizer.encode("<|im_start|>user\nTell me a long story.<|im_end|>\n<|im_start|>assistant\n")
