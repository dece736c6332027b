"""A gRPC client that costs little: it shares the cores with the engine it measures.

gRPC's own Python client needs about 0.2 ms of a core for each message. Here the stream's frames are read by `h2` in one
thread, and the messages in them are taken apart after the clock has stopped.
"""

import socket
import struct
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.events
import h2.settings
from tritonclient.grpc import service_pb2

_METHOD = "/inference.GRPCInferenceService/ModelStreamInfer"
_WINDOW = 2**31 - 1
_CHUNK = 1 << 16
_TIMEOUT_S = 60.0


@dataclass
class Arrivals:
    """What came back on one stream."""

    data: bytearray = field(default_factory=bytearray)

    def messages(self) -> list[service_pb2.ModelStreamInferResponse]:
        """Before each message stand one byte for compression and four for its length."""
        found, at = [], 0
        while at < len(self.data):
            (length,) = struct.unpack_from(">I", self.data, at + 1)
            found.append(service_pb2.ModelStreamInferResponse.FromString(bytes(self.data[at + 5 : at + 5 + length])))
            at += 5 + length
        return found


class LeanStreams:
    """One connection; one ModelStreamInfer call at a time, all its requests sent first."""

    def __init__(self, port: int) -> None:
        self._authority = f"127.0.0.1:{port}"
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.settimeout(_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._http = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self._http.initiate_connection()
        self._http.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: _WINDOW})
        self._http.increment_flow_control_window(_WINDOW - 65535)
        self._flush()

    def send(self, requests: list[service_pb2.ModelInferRequest]) -> int:
        stream = int(self._http.get_next_available_stream_id())
        headers = [(":method", "POST"), (":scheme", "http"), (":path", _METHOD), (":authority", self._authority)]
        self._http.send_headers(stream, [*headers, ("content-type", "application/grpc"), ("te", "trailers")])
        for request in requests:
            message = request.SerializeToString()
            self._http.send_data(stream, b"\0" + struct.pack(">I", len(message)) + message)
        self._http.end_stream(stream)
        self._flush()
        return stream

    def receive(self, stream: int, *, first_only: bool = False) -> Arrivals:
        """Everything until the stream ends, or until its first message came; the rest is then for `receive` again."""
        arrivals, ended = Arrivals(), False
        while not ended and not (first_only and arrivals.data):
            for event in self._http.receive_data(self._read()):
                if isinstance(event, h2.events.DataReceived) and event.stream_id == stream:
                    arrivals.data += event.data
                ended = ended or (isinstance(event, h2.events.StreamEnded) and event.stream_id == stream)
            self._flush()
        return arrivals

    def close(self) -> None:
        self._socket.close()

    def _read(self) -> bytes:
        data = self._socket.recv(_CHUNK)
        if not data:
            raise SystemExit("the server closed the connection")
        return data

    def _flush(self) -> None:
        if waiting := self._http.data_to_send():
            self._socket.sendall(waiting)
