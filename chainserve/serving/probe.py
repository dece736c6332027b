"""Two questions to a running tritonserver, over HTTP: is it ready, and how many requests does it hold?"""

from http.client import HTTPConnection, HTTPException

from chainserve.environment import IN_FLIGHT_METRIC

_TIMEOUT_S = 5.0
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 asked, not bound
_OK = 200


def ready(host: str, port: int) -> bool:
    """Triton refuses connections until every model is loaded."""
    return _get(host, port, "/v2/health/ready") is not None


def in_flight(host: str, metrics_port: int) -> int | None:
    """Requests held by all models together; None if the metrics port does not answer."""
    text = _get(host, metrics_port, "/metrics")
    return None if text is None else _sum(text)


def _sum(metrics: str) -> int:
    lines = (
        line for line in metrics.splitlines() if line.startswith((f"{IN_FLIGHT_METRIC}{{", f"{IN_FLIGHT_METRIC} "))
    )
    return round(sum(float(line.rsplit(" ", 1)[1]) for line in lines))


def _get(host: str, port: int, path: str) -> str | None:
    connection = HTTPConnection(_EVERYWHERE.get(host, host), port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read().decode(errors="replace")
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()
    return body if response.status == _OK else None
