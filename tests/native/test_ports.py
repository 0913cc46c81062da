import pytest

from gpusched.core.codes import Reason
from gpusched.core.pod import Container, ContainerKind
from gpusched.native.ports import host_ports, keeps_from, ports_reason, ports_taken
from tests.native.records import booked, make_node, make_pod, with_ports

ANY = "0.0.0.0"  # noqa: S104 - a value, nothing is bound


@pytest.mark.parametrize(
    ("taken", "wanted", "conflict"),
    [
        (("TCP", ANY, 80), ("TCP", ANY, 80), True),
        (("TCP", ANY, 80), ("TCP", ANY, 81), False),
        (("TCP", ANY, 80), ("UDP", ANY, 80), False),
        (("TCP", "10.0.0.1", 80), ("TCP", "10.0.0.2", 80), False),
        (("TCP", "10.0.0.1", 80), ("TCP", "10.0.0.1", 80), True),
        (("TCP", "10.0.0.1", 80), ("TCP", ANY, 80), True),
        (("TCP", ANY, 80), ("TCP", "10.0.0.1", 80), True),
        (("TCP", "::", 80), ("TCP", "10.0.0.1", 80), False),
        (("", "", 80), ("TCP", "10.0.0.1", 80), True),
        (("TCP", "", 0), ("TCP", "", 0), False),
    ],
)
def test_conflict_on_ip_protocol_and_port(
    taken: tuple[str, str, int], wanted: tuple[str, str, int], conflict: bool
) -> None:
    ledger = booked([make_node()], (make_pod("old", containers=with_ports(taken)), "n1"))
    ports = host_ports(make_pod("new", containers=with_ports(wanted)))

    assert ports_reason(ports, ledger.node("n1").ports) == (Reason.NATIVE_RESOURCES if conflict else None)
    assert ports_taken(ports, ledger.node("n1").ports) == (ports if conflict else ())
    (old,) = ledger.node("n1").bound.values()
    assert [keeps_from(old.pod, port) for port in ports] == [conflict for _ in ports]


def test_sidecars_hold_ports_and_other_init_containers_do_not() -> None:
    pod = make_pod(
        containers=(
            Container("init", ContainerKind.INIT, 0, host_ports=(("TCP", "", 1),)),
            Container("side", ContainerKind.SIDECAR, 1, host_ports=(("TCP", "", 2),)),
            Container("main", ContainerKind.APP, 0, host_ports=(("UDP", "::1", 3),)),
        )
    )

    assert host_ports(pod) == (("TCP", ANY, 2), ("UDP", "::1", 3))
