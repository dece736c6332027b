import socket

import pytest

from chainserve.errors import InvalidInput, Unavailable
from chainserve.serving.options import Ports
from chainserve.serving.ports import check_ports

HOST = "127.0.0.1"


def free() -> tuple[int, int, int]:
    sockets = [socket.create_server((HOST, 0)) for _ in range(3)]
    http, grpc, metrics = (each.getsockname()[1] for each in sockets)
    for each in sockets:
        each.close()
    return http, grpc, metrics


def test_free_ports_pass() -> None:
    assert check_ports(HOST, Ports(*free())) is None


def test_a_listening_port_is_named() -> None:
    http, grpc, _ = free()
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Unavailable, match=f"^port {port} is in use on {HOST}$"):
            check_ports(HOST, Ports(http, grpc, port))


@pytest.mark.parametrize("ports", [Ports(1, 1, 2), Ports(0, 1, 2), Ports(1, 2, 65536)])
def test_ports_must_differ_and_exist(ports: Ports) -> None:
    with pytest.raises(InvalidInput, match="three different ports"):
        check_ports(HOST, ports)


def test_an_address_that_is_not_ours() -> None:
    with pytest.raises(Unavailable, match=r"cannot be used on 192\.0\.2\.1"):
        check_ports("192.0.2.1", Ports(*free()))


def test_a_host_that_is_no_address() -> None:
    with pytest.raises(InvalidInput, match="^host: "):
        check_ports("300.0.0.1.", Ports(*free()))
