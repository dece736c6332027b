"""Every config.pbtxt says what chainserve.triton_io.contract says."""

from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import DataType, ModelConfig

from chainserve.triton_io.contract import CONTRACTS, Tensor

REPOSITORY = Path(__file__).parents[1] / "model_repository"
CONFIGS = sorted([*REPOSITORY.glob("*/config.pbtxt"), *REPOSITORY.glob("*/configs/*.pbtxt")])


def read(path: Path) -> Any:
    return text_format.Parse(path.read_text(encoding="utf-8"), ModelConfig())


def model_of(path: Path) -> str:
    return path.relative_to(REPOSITORY).parts[0]


def tensor(declared: Any, *, optional: bool = False) -> Tensor:
    scalar = declared.HasField("reshape") and not declared.reshape.shape
    return Tensor(declared.name, DataType.Name(declared.data_type), tuple(declared.dims), optional, scalar)


def by_name(tensors: Any) -> dict[str, Tensor]:
    return {tensor.name: tensor for tensor in tensors}


@pytest.fixture(params=CONFIGS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def path(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def test_inputs_and_outputs(path: Path) -> None:
    config, contract = read(path), CONTRACTS[model_of(path)]
    assert by_name(tensor(item, optional=item.optional) for item in config.input) == by_name(contract.inputs)
    assert by_name(map(tensor, config.output)) == by_name(contract.outputs)
    assert len(config.input) == len(contract.inputs)
    assert len(config.output) == len(contract.outputs)


def test_the_model_itself(path: Path) -> None:
    config = read(path)
    assert config.name == model_of(path)
    assert config.model_transaction_policy.decoupled == CONTRACTS[config.name].decoupled
    assert config.max_batch_size > 0
    assert config.platform == "ensemble" or config.backend


def test_python_models_are_an_import(path: Path) -> None:
    config = read(path)
    if config.backend == "python":
        lines = (REPOSITORY / config.name / "1" / "model.py").read_text().splitlines()
        code = [line for line in lines if line and not line.startswith("#")]
        assert len(code) == 1
        assert code[0].startswith("from chainserve.triton_io.models.")
        assert code[0].endswith(" as TritonPythonModel")


def test_an_ensemble_maps_only_tensors_that_exist(path: Path) -> None:
    config = read(path)
    produced = {item.name for item in config.input}
    for step in config.ensemble_scheduling.step:
        contract = CONTRACTS[step.model_name]
        assert set(step.input_map) <= {item.name for item in contract.inputs}
        assert set(step.output_map) <= {item.name for item in contract.outputs}
        assert {item.name for item in contract.inputs if not item.optional} <= set(step.input_map)
        produced |= set(step.output_map.values())
    for step in config.ensemble_scheduling.step:
        assert set(step.input_map.values()) <= produced
    if config.platform == "ensemble":
        assert {item.name for item in config.output} <= produced


def test_every_contract_has_its_model() -> None:
    assert {model_of(path) for path in CONFIGS} == set(CONTRACTS)


def test_order_is_kept_where_a_stream_passes() -> None:
    config = read(REPOSITORY / "postprocessing" / "config.pbtxt")
    assert config.dynamic_batching.preserve_ordering
    assert [group.count for group in config.instance_group] == [1]
