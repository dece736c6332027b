import threading
import time
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

from chainserve.triton_io.environment import draining
from chainserve.triton_io.in_flight import InFlight, release_metrics


class TritonPythonModel:
    def initialize(self, _args: dict[str, str]) -> None:
        self.in_flight = InFlight("ticker")

    def execute(self, requests: list[Any]) -> None:
        for request in requests:
            self.in_flight.enter()
            threading.Thread(target=self.tick, args=(request,)).start()

    def finalize(self) -> None:
        release_metrics(self)

    def tick(self, request: Any) -> None:
        sender = request.get_response_sender()
        count = 0 if draining() else int(pb_utils.get_input_tensor_by_name(request, "count").as_numpy()[0, 0])
        for number in range(count):
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("number", np.array([[number]], np.int32))]))
            time.sleep(0.05)
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        self.in_flight.leave()
