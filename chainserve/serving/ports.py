"""Are the ports free? Asked before the minute that loading takes, not after it."""

import errno
import socket
from dataclasses import astuple

from chainserve.errors import InvalidInput, Unavailable
from chainserve.serving.options import Ports

_HIGHEST = 65535


def check_ports(host: str, ports: Ports) -> None:
    """Raises:
    Unavailable: names the port that is in use.
    InvalidInput: a port twice or out of range, or an address that is not this machine's.
    """
    numbers = astuple(ports)
    if len(set(numbers)) != len(numbers) or not all(0 < port <= _HIGHEST for port in numbers):
        raise InvalidInput("ports", f"three different ports from 1 to {_HIGHEST} are needed")
    for port in numbers:
        _check(host, port)


def _check(host: str, port: int) -> None:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            # As tritonserver does: a port whose last connections are still closing is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except socket.gaierror as error:
        raise InvalidInput("host", f"not an address of this machine: {error.strerror}") from error
    except PermissionError as error:
        raise Unavailable(f"port {port} needs more rights: {error.strerror}") from error
    except OSError as error:
        in_use = error.errno == errno.EADDRINUSE
        problem = f"is in use on {host}" if in_use else f"cannot be used on {host}: {error.strerror}"
        raise Unavailable(f"port {port} {problem}") from error
