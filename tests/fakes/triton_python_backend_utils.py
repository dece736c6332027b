"""The part of Triton's `triton_python_backend_utils` that unit tests need: it exists only inside Triton's stub."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1


class TritonError(Exception):
    UNKNOWN, INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE, UNSUPPORTED, ALREADY_EXISTS, CANCELLED = range(8)

    def __init__(self, message: str, code: int = INTERNAL) -> None:
        super().__init__(message)
        self.text, self._code = message, code

    def message(self) -> str:
        return self.text

    def code(self) -> int:
        return self._code


class TritonModelException(Exception):
    pass


class Logger:
    lines: ClassVar[list[str]] = []

    @classmethod
    def log_error(cls, text: str) -> None:
        cls.lines.append(text)

    log_info = log_warn = log_verbose = log_error


class Tensor:
    def __init__(self, name: str, array: np.ndarray) -> None:
        self._name, self._array = name, array

    def name(self) -> str:
        return self._name

    def as_numpy(self) -> np.ndarray:
        return self._array


@dataclass
class InferenceResponse:
    output_tensors: list[Tensor] = field(default_factory=list)
    error: TritonError | None = None

    def has_error(self) -> bool:
        return self.error is not None


@dataclass
class ResponseSender:
    sent: list[InferenceResponse] = field(default_factory=list)
    closed: bool = False
    cancelled: bool = False

    def send(self, response: InferenceResponse | None = None, flags: int = 0) -> None:
        if response is not None:
            self.sent.append(response)
        self.closed = self.closed or flags == TRITONSERVER_RESPONSE_COMPLETE_FINAL

    def is_cancelled(self) -> bool:
        return self.cancelled


@dataclass
class Request:
    tensors: dict[str, np.ndarray]
    name: str = ""
    sender: ResponseSender = field(default_factory=ResponseSender)

    def request_id(self) -> str:
        return self.name

    def get_response_sender(self) -> ResponseSender:
        return self.sender

    def is_cancelled(self) -> bool:
        return self.sender.cancelled


def get_input_tensor_by_name(request: Request, name: str) -> Tensor | None:
    array = request.tensors.get(name)
    return None if array is None else Tensor(name, array)


class _Metric:
    def __init__(self) -> None:
        self.amount = 0.0

    def increment(self, by: float) -> None:
        self.amount += by

    def set(self, to: float) -> None:
        self.amount = to

    def value(self) -> float:
        return self.amount


class MetricFamily:
    COUNTER, GAUGE, HISTOGRAM = range(3)

    def __init__(self, name: str, description: str, kind: int) -> None:
        self.name, self.description, self.kind = name, description, kind

    def Metric(self, labels: dict[str, str], buckets: Any = None) -> _Metric:  # noqa: N802 Triton's name
        return _Metric()
