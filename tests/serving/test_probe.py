import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from chainserve.serving.probe import in_flight, ready

METRICS = """# HELP chainserve_in_flight Requests now held by a model
# TYPE chainserve_in_flight gauge
chainserve_in_flight{model="chain"} 2
chainserve_in_flight{model="tensorrt_llm"} 3.0
chainserve_in_flight_of_another_kind{model="x"} 9
nv_inference_count{model="chain"} 100
"""


@contextmanager
def answering(status: int, body: str) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_arguments: object) -> None:
            """Quiet."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_in_flight_adds_up_the_models() -> None:
    with answering(200, METRICS) as port:
        assert in_flight("127.0.0.1", port) == 5


def test_no_gauge_is_nothing_in_flight() -> None:
    with answering(200, "nv_inference_count 1\n") as port:
        assert in_flight("0.0.0.0", port) == 0


def test_a_server_that_does_not_answer_is_neither_ready_nor_idle() -> None:
    with answering(200, "") as port:
        assert ready("127.0.0.1", port)
    assert not ready("127.0.0.1", port)
    assert in_flight("127.0.0.1", port) is None


def test_a_refusal_is_not_ready() -> None:
    with answering(400, "") as port:
        assert not ready("127.0.0.1", port)
