"""Host ports: which a pod wants, and whether a node still has them, as kube-scheduler's NodePorts plugin judges."""

from collections.abc import Mapping
from typing import Final

from gpusched.core.codes import Reason
from gpusched.core.pod import ContainerKind, Pod

#: A host port as (protocol, IP, port).
HostPort = tuple[str, str, int]
#: (protocol, port) → the IPs it is taken on, one entry per holder.
PortBook = dict[tuple[str, int], list[str]]

_ANY_IP: Final = "0.0.0.0"  # noqa: S104 - a value to compare, nothing is bound


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """Host ports of app containers and sidecars; other init containers' never count.

    Rules: pkg/scheduler/util/utils.go, GetHostPorts; pkg/scheduler/framework/types.go, HostPortInfo.sanitize
    (no IP means 0.0.0.0, no protocol TCP).
    """
    return tuple(
        (protocol or "TCP", ip or _ANY_IP, port)
        for container in pod.spec.containers
        if container.host_ports and container.kind is not ContainerKind.INIT
        for protocol, ip, port in container.host_ports
        if port > 0
    )


def ports_reason(wanted: tuple[HostPort, ...], taken: Mapping[tuple[str, int], list[str]]) -> Reason | None:
    """`native-resources` when a wanted port is taken: a host port is a resource of which each node has one."""
    for port in wanted:
        if _conflicts(port, taken):
            return Reason.NATIVE_RESOURCES
    return None


def ports_taken(wanted: tuple[HostPort, ...], taken: Mapping[tuple[str, int], list[str]]) -> tuple[HostPort, ...]:
    """Those of the wanted ports that are taken."""
    return tuple(port for port in wanted if _conflicts(port, taken))


def keeps_from(pod: Pod, port: HostPort) -> bool:
    """Whether the pod, on a node, keeps this port from others."""
    book: PortBook = {}
    for protocol, ip, number in host_ports(pod):
        book.setdefault((protocol, number), []).append(ip)
    return _conflicts(port, book)


def _conflicts(wanted: HostPort, taken: Mapping[tuple[str, int], list[str]]) -> bool:
    protocol, ip, port = wanted
    holders = taken.get((protocol, port))
    if holders is None:
        return False
    return ip == _ANY_IP or _ANY_IP in holders or ip in holders
