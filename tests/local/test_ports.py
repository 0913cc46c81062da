import socket

from gpusched.local.ports import LOOPBACK, free_ports, taken


def test_free_ports_differ_and_are_free():
    ports = free_ports(20)

    assert len(set(ports)) == 20
    assert not any(taken(port) for port in ports)


def test_port_that_something_listens_on_is_taken():
    with socket.create_server((LOOPBACK, 0)) as server:
        assert taken(server.getsockname()[1])
