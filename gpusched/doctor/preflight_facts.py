"""What is there before gpusched: Kubernetes, the GPU stack, the GPUs, and other software that sees GPU pods."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from gpusched.admission.messages import listed
from gpusched.core.fields import Field
from gpusched.core.names import DEFAULT_SCHEDULER, EXEMPT_LABEL
from gpusched.core.pool import Pool
from gpusched.doctor.gpu_software import mutating_pods, rewriting, schedulers_of
from gpusched.doctor.installation import OLDEST, TESTED
from gpusched.doctor.preflight import Fact, Site
from gpusched.state.node_state import NodeState

#: Parts of the names of DaemonSets that make GPUs a resource, and that describe them by labels.
_PLUGINS: Final = ("device-plugin", "gpu-plugin", "gpu-device", "nvidia-gpu-device", "dra-driver", "dra-kubelet-plugin")
#: Dialects whose labels are written by software on the node, with its name.
_DISCOVERY: Final = {"gfd": "GPU Feature Discovery", "amd": "AMD's node labeller", "intel": "Intel's labels of NFD"}
#: Names in one fact.
_NAMED: Final = 6


def version_of(text: str) -> tuple[int, int] | None:
    """Major and minor of a version such as `v1.37.2+k3s1`."""
    major, _, rest = text.removeprefix("v").partition(".")
    minor = rest.split(".")[0]
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else None


def facts(site: Site) -> tuple[Fact, ...]:
    """Everything that is there, in a fixed order."""
    return (
        Fact("Kubernetes", _kubernetes(site)),
        Fact("GPU Operator", _operator(site)),
        Fact("device plugins", _plugins(site)),
        Fact("GPU labels", _discovery(site)),
        Fact("RuntimeClasses", _runtime_classes(site)),
        *_nodes(site),
        Fact("other webhooks", _webhooks(site)),
        Fact("other schedulers", _schedulers(site)),
        Fact("exempt namespaces", _exempt(site)),
        Fact("gpusched", _standing(site)),
    )


def _kubernetes(site: Site) -> str:
    """Versions, and the parts of the API server that gpusched needs; extenders every kube-scheduler has."""
    around = site.around
    kubelets = {
        Field(item.tree).get("status").get("nodeInfo").get("kubeletVersion").text()
        for item in site.scene.standing
        if (item.group, item.kind) == ("", "Node")
    } - {""}
    parts = [around.version or "version not known"]
    if kubelets:
        parts.append(f"kubelets {_listed(sorted(kubelets))}")
    version = version_of(around.version)
    if version is not None:
        if version >= OLDEST and f"{version[0]}.{version[1]}" not in TESTED:
            parts[0] += f" (tested are {listed(TESTED)})"
        parts.append(f"matchConditions of webhooks {'served' if version >= OLDEST else 'MISSING'}")
    if around.guards is not None:
        parts.append(f"ValidatingAdmissionPolicy {'served' if around.guards else 'MISSING'}")
    return "; ".join(parts)


def _operator(site: Site) -> str:
    operator = site.scene.world.cluster.facts.operator
    if operator is None:
        return "none: no ClusterPolicy"
    version = "version not known" if operator.version is None else f"{operator.version[0]}.{operator.version[1]}"
    cdi = {None: "as the version has it", True: "on", False: "off"}[operator.cdi_enabled]
    return f"{version}; CDI {cdi}; NRI {'on' if operator.nri_enabled else 'off'}; class {operator.runtime_class}"


def _plugins(site: Site) -> str:
    """DaemonSets by name where they could be read, and what they make of the nodes."""
    found = sorted(
        f"{item.name} ({item.namespace})"
        for item in site.scene.standing
        if item.kind == "DaemonSet" and any(part in item.name for part in _PLUGINS)
    )
    nodes = Counter(pool.resource for state in _states(site) for pool in state.node.pools if pool.slots)
    nodes.update(resource for state in _states(site) for resource in state.node.dra_resources)
    parts = [_listed(found)] if found else []
    parts += [f"{resource} on {_counted(number, 'node')}" for resource, number in sorted(nodes.items())]
    return "; ".join(parts) or "none: no node offers a GPU"


def _discovery(site: Site) -> str:
    with_gpus = [state for state in _states(site) if state.node.pools]
    counts = Counter(name for state in with_gpus for name in state.node.dialects & _DISCOVERY.keys())
    parts = [f"{_DISCOVERY[name]} on {_counted(number, 'node')}" for name, number in sorted(counts.items())]
    bare = sum(not state.node.dialects & _DISCOVERY.keys() for state in with_gpus)
    if bare:
        parts.append(f"none of these on {_counted(bare, 'node')} with GPUs")
    return "; ".join(parts) or "none"


def _runtime_classes(site: Site) -> str:
    return _listed(sorted(site.scene.world.runtime_classes)) or "none"


def _nodes(site: Site) -> Iterator[Fact]:
    """A summary by what the GPUs are, and the nodes of which that is not known."""
    states = _states(site)
    with_gpus = [state for state in states if any(pool.slots for pool in state.node.pools)]
    yield Fact("nodes", f"{_counted(len(states), 'node')}, {len(with_gpus)} with GPUs")
    kinds: dict[str, dict[str, tuple[int, int]]] = {}
    unknown: dict[str, None] = {}
    for state in with_gpus:
        for pool in (pool for pool in state.node.pools if pool.slots):
            slots, used = kinds.setdefault(_kind(pool), {}).get(state.node.name, (0, 0))
            kinds[_kind(pool)][state.node.name] = slots + pool.slots, used + state.use(pool.resource).used
            if pool.family is None or pool.visible_memory_mib is None:
                unknown[state.node.name] = None
    for kind, sums in sorted(kinds.items()):
        slots, used = (sum(amounts) for amounts in zip(*sums.values(), strict=True))
        yield Fact("GPUs", f"{kind}: {_counted(len(sums), 'node')}, {used} of {_counted(slots, 'slot')} used")
    yield Fact("facts unknown", _listed(unknown) or "none")


def _kind(pool: Pool) -> str:
    sharing = pool.sharing.value if pool.sharing is not None else "sharing unknown"
    times = f"×{pool.replicas}" if pool.replicas is not None and pool.replicas > 1 else ""
    whole = "not shared" if sharing == "none" else f"{sharing}{times}"
    return f"{pool.family or f'{pool.vendor}, family unknown'}, {whole}"


def _webhooks(site: Site) -> str:
    if site.around.configurations is None:
        return "not known"
    found = _listed(mutating_pods(site.around.configurations))
    return f"{found} change pods at their creation" if found else "none changes pods at their creation"


def _schedulers(site: Site) -> str:
    around = site.around
    found = [*schedulers_of(around.groups or around.defined), *rewriting(around.configurations or ())]
    names = Counter(record.pod.spec.scheduler_name for record in site.scene.world.cluster.pods.values())
    found += [
        f"{_counted(number, 'GPU pod')} of {name}"
        for name, number in sorted(names.items())
        if name not in {"", DEFAULT_SCHEDULER}
    ]
    if not found and around.groups is None:
        return "none that the dump tells of"
    return "; ".join(found) or "none"


def _exempt(site: Site) -> str:
    """Namespaces that are there and exempt, by configuration or label."""
    cluster = site.scene.world.cluster
    present = set(site.scene.namespaces())
    configured = sorted(present.intersection(cluster.config.exempt_namespaces))
    labelled = sorted(
        name for name in present - set(configured) if cluster.namespace(name).labels.get(EXEMPT_LABEL) == "true"
    )
    return _listed([*configured, *(f"{name} (by label)" for name in labelled)]) or "none that is there"


def _standing(site: Site) -> str:
    objects = {item: None for overlay in site.around.overlays.values() for item in overlay.objects}
    found = sorted(f"{item.kind} {item.name}" for item in objects if item.standing)
    if found:
        return f"{_listed(found)} there already"
    return "not installed" if any(item.standing is False for item in objects) else "not known"


def _states(site: Site) -> list[NodeState]:
    return list(site.scene.world.cluster.nodes.values())


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _listed(names: Iterable[str]) -> str:
    return listed(names, _NAMED)
