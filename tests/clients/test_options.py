from dataclasses import fields

import pytest
from fake_triton import read_inputs

from chainserve.triton_io.contract import CHAIN
from chainserve_client import ChainOptions
from chainserve_client.wire import build_request

BYTES = {"TYPE_STRING": "BYTES"}
# What the client sends by itself.
OWN = {"text_input", "messages", "stream"}


def test_options_are_the_inputs_of_the_chain() -> None:
    declared = {t.name: BYTES.get(t.dtype, t.dtype.removeprefix("TYPE_")) for t in CHAIN.inputs}
    offered = {option.name: option.metadata["datatype"] for option in fields(ChainOptions)}
    assert offered == {name: datatype for name, datatype in declared.items() if name not in OWN}


def test_only_what_was_given_is_sent() -> None:
    request = build_request("chain", "你好", ChainOptions(top_p=0.5, stop_words=()), stream=True)
    assert set(read_inputs(request)) == {"text_input", "top_p"} | OWN - {"messages"}
    assert read_inputs(request)["text_input"] == ["你好"]


def test_every_request_has_its_own_id_and_asks_for_an_end() -> None:
    one, two = (build_request("chain", "hi", ChainOptions(), stream=True) for _ in range(2))
    assert one.id != two.id
    assert one.parameters["triton_enable_empty_final_response"].bool_param


def test_unknown_option_is_an_error() -> None:
    with pytest.raises(TypeError, match="max_token"):
        ChainOptions(max_token=3)  # type: ignore[call-arg]
