"""PURE. Nodes whose GPUs nobody can use, and for how long that has to last before it is worth telling."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from gpusched.core.codes import REASON_TEXT, Reason
from gpusched.core.constraints import Constraints
from gpusched.core.names import FACTS_ANNOTATION
from gpusched.core.node import Node
from gpusched.core.pool import Pool
from gpusched.core.resources import NVIDIA
from gpusched.dialects.admin import KEYS
from gpusched.dialects.inventory import NONE_OFFERED
from gpusched.kube.events import Reference
from gpusched.serve.telling.told import EventReason, Saying
from gpusched.state.cluster import Cluster

#: Seconds: two rounds at least.
_SETTLED: Final = 15.0
#: Seconds that MIG needs to be reconfigured, with a reboot where the card asks for one.
_RECONFIGURED: Final = 600.0
#: Seconds that a new node needs until driver and device plugin are installed.
_INSTALLED: Final = 900.0


class _Fault(NamedTuple):
    text: str
    patience: float


class _Fact(NamedTuple):
    """A fact of a pool that a rule may need. Where it has a `vendor`, a rule about it is about no other GPUs."""

    name: str
    known: Callable[[Pool], object]
    asked: Callable[[Constraints], object]
    vendor: str = ""


_FACTS: Final = (
    _Fact("family", lambda pool: pool.family, lambda rule: rule.families),
    _Fact("product", lambda pool: pool.product, lambda rule: rule.products or None),
    _Fact("gpu-memory", lambda pool: pool.visible_memory_mib, lambda rule: rule.min_memory or rule.max_memory),
    _Fact("sharing", lambda pool: pool.sharing, lambda rule: rule.sharing),
    _Fact("cuda", lambda pool: pool.cuda_version, lambda rule: rule.min_cuda, NVIDIA),
    _Fact("driver", lambda pool: pool.driver_version, lambda rule: rule.min_driver, NVIDIA),
)
#: Rules in force, each with a namespace that it holds for.
_Rules = Mapping[Constraints, str]


class UnusableNodes:
    """Remembers since when each fault of each node has been there."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], float] = {}

    def look(self, cluster: Cluster, now: float) -> Iterator[Saying | None]:
        """Nodes with faults that have lasted; None stands for a step without anything to say."""
        rules: dict[Constraints, str] = {}
        for name in sorted(cluster.namespaces()):
            rules.setdefault(cluster.resolution(name, {}).constraints, name)
            yield None
        since: dict[tuple[str, str], float] = {}
        for name, state in list(cluster.nodes.items()):
            texts = []
            for fault in _faults(state.node, rules):
                began = since[name, fault.text] = self._since.get((name, fault.text), now)
                if now - began >= fault.patience:
                    texts.append(fault.text)
            about = Reference("Node", name, uid=state.node.object.uid)
            yield Saying(about, EventReason.NODE_UNUSABLE, "; ".join(texts)) if texts else None
        self._since = since


def _faults(node: Node, rules: _Rules) -> Iterator[_Fault]:
    if NONE_OFFERED in node.notes:
        yield _Fault(f"{NONE_OFFERED}: look at the driver and the device plugin", _INSTALLED)
    for pool in node.pools:
        if pool.resource not in node.dra_resources:
            fault = _pool_fault(node, pool, rules)
            if fault is not None:
                yield _Fault(f"{pool.resource}: {fault.text}", fault.patience)


def _pool_fault(node: Node, pool: Pool, rules: _Rules) -> _Fault | None:
    capacity = node.object.capacity.get(pool.resource, 0)
    if pool.blocked is not None:
        patience = _RECONFIGURED if pool.blocked is Reason.RECONFIGURING else _SETTLED
        return _Fault("; ".join(pool.notes) or REASON_TEXT[pool.blocked], patience)
    if not pool.slots:
        return _Fault(f"none of {capacity} is healthy: look at the device plugin", _SETTLED) if capacity else None
    return _unknown_fault(pool, rules)


def _unknown_fault(pool: Pool, rules: _Rules) -> _Fault | None:
    for rule, namespace in rules.items():
        asked = [fact for fact in _FACTS if fact.asked(rule) is not None]
        names = [fact.name for fact in asked if fact.known(pool) is None]
        ours = all(fact.vendor in {"", pool.vendor} for fact in asked)
        if ours and names and rule.reason_against(pool) is Reason.FACTS_UNKNOWN:
            cure = f"; write it into the annotation {FACTS_ANNOTATION}" if set(names) <= set(KEYS) else ""
            return _Fault(
                f"{' and '.join(names)} unknown, which the policy of namespace {namespace} is about{cure}", _SETTLED
            )
    return None
