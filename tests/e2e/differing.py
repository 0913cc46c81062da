"""Creates pods on a real control plane and says where the offline simulation of the same cluster says otherwise."""

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from gpusched.core.codes import Code, Reason
from gpusched.local.api import Response
from gpusched.local.cluster import Operations
from gpusched.policy.config import parse_config
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.reasons.explain import verdicts
from gpusched.simulate.run import Outcome, Simulation
from gpusched.simulate.world import World, load
from tests.build import Tree
from tests.e2e.scheduling import SECONDS, condition, node_of, path

_DUMPED = (
    "/api/v1/nodes",
    "/api/v1/namespaces",
    "/api/v1/pods",
    "/apis/node.k8s.io/v1/runtimeclasses",
)
_KINDS = {
    "nodes": ("v1", "Node"),
    "namespaces": ("v1", "Namespace"),
    "pods": ("v1", "Pod"),
    "runtimeclasses": ("node.k8s.io/v1", "RuntimeClass"),
}
_DENIED = re.compile(r'admission webhook "[^"]+" denied the request: (?P<text>.*)', re.DOTALL)
#: A gate that may go does so within a fraction of this: gpusched walks the line a tenth of a second after a change.
GATED_SECONDS = 1.5
#: How kube-scheduler begins its sentences, by what `simulate` calls the same.
_SENTENCES = {
    "node(s) had untolerated taint": "taint",
    "node(s) were unschedulable": "unschedulable",
    "node(s) didn't satisfy plugin(s) [InterPodAffinity]": "pod-affinity",
    "node(s) didn't match pod topology spread constraints": "spread",
    "node(s) didn't match pod affinity rules": "pod-affinity",
    "node(s) didn't match pod anti-affinity rules": "pod-affinity",
    "node(s) didn't satisfy existing pods anti-affinity rules": "pod-affinity",
}
_GROUPS = {
    Reason.NATIVE_TAINT: "taint",
    Reason.NATIVE_UNSCHEDULABLE: "unschedulable",
    Reason.NATIVE_SPREAD: "spread",
    Reason.NATIVE_POD_AFFINITY: "pod-affinity",
}


class Verdict(msgspec.Struct, frozen=True):
    """`kind` is denied, placed, gated or waiting; `text` the refusal, `node` where it stands."""

    kind: str
    text: str = ""
    node: str = ""
    warnings: tuple[str, ...] = ()


def dump(plane: Operations, config: Mapping[str, Any]) -> World:
    """The cluster as `simulate` reads it from `kubectl get -o yaml`."""
    manifests = []
    for place in _DUMPED:
        version, kind = _KINDS[place.rpartition("/")[2]]
        items: Any = plane.get(place)["items"]
        manifests += [_manifest(tree | {"apiVersion": version, "kind": kind}) for tree in items]
    parsed, faults = parse_config({"apiVersion": "gpusched.io/v1alpha1", "kind": "Config", **config})
    assert not list(faults)
    return load(manifests, parsed)


def _manifest(tree: Tree) -> Manifest:
    about = tree["metadata"]
    return Manifest("dump:1", tree, tree["kind"], tree["apiVersion"], about["name"], about.get("namespace", ""))


def really(plane: Operations, tree: Tree) -> Verdict:
    """Create the pod and wait until it is settled."""
    answer = plane.create(tree)
    if not answer.ok:
        return Verdict("denied", _denial(answer))
    place = path(tree["metadata"]["namespace"], tree["metadata"]["name"])
    asked = time.monotonic()
    verdict = plane.wait_for(
        place, lambda found: _settled(found, time.monotonic() - asked), SECONDS, f"verdict: {place}"
    )
    return msgspec.structs.replace(verdict, warnings=tuple(text for text in answer.warnings if _ours(text)))


def _ours(warning: str) -> bool:
    """Whether a warning is gpusched's and not the API server's own."""
    return warning.startswith(tuple(f"{code}: " for code in Code))


def _denial(answer: Response) -> str:
    found = _DENIED.fullmatch(answer.message)
    return found["text"] if found else f"{answer.status} {answer.message}"


def _settled(tree: Any, seconds: float) -> Verdict | None:
    node = node_of(tree)
    if node:
        return Verdict("placed", node=node)
    if tree["spec"].get("schedulingGates"):
        return Verdict("gated") if seconds > GATED_SECONDS else None
    said = condition(tree)
    return None if said is None else Verdict("waiting", said)


def simulated(world: World, tree: Tree) -> Outcome:
    simulation = Simulation(world)
    simulation.run([_manifest(tree)])
    return simulation.outcomes[0]


def differences(plane: Operations, tree: Tree, config: Mapping[str, Any] | None = None) -> Iterator[str]:
    """What the API server and kube-scheduler with gpusched say otherwise than `simulate` on a dump taken before."""
    before = dump(plane, config or {})
    # The simulation places its pod in the world that it is given.
    outcome = simulated(dump(plane, config or {}), tree)
    real = really(plane, tree)
    expected = _kind(outcome)
    if real.kind != expected:
        yield f"really {real.kind} {real.node}{real.text}; simulated {expected} {outcome.node} {_said(outcome)}"
    elif real.kind == "denied":
        if real.text != _said(outcome):
            yield f"really denied as {real.text!r}; simulated {_said(outcome)!r}"
    else:
        warnings = tuple(f"{finding.code}: {finding.message}" for finding in outcome.admission.warnings)
        if sorted(set(real.warnings)) != sorted(set(warnings)):
            yield f"really warned {real.warnings}; simulated {warnings}"
        yield from _of_nodes(before, outcome, real)


def _said(outcome: Outcome) -> str:
    return "\n".join(f"{finding.code}: {finding.message}" for finding in outcome.admission.refusals)


def _kind(outcome: Outcome) -> str:
    if not outcome.admission.allowed:
        return "denied"
    return "gated" if outcome.gated else "placed" if outcome.node else "waiting"


def _of_nodes(before: World, outcome: Outcome, real: Verdict) -> Iterator[str]:
    assert outcome.candidate is not None
    judged = {state.node.name: reason for state, reason in verdicts(outcome.planned, outcome.candidate, before)}
    if real.kind == "placed":
        if outcome.planned.tree["spec"].get("nodeName"):
            return
        if judged[real.node] is not None:
            yield f"really on {real.node}, which the simulation refuses as {judged[real.node]}"
        return
    if real.kind == "gated":
        return
    found = _counted(real.text)
    if found.pop("total") != len(judged):
        yield f"{len(judged)} nodes simulated: {real.text}"
    expected = Counter(_GROUPS[reason] for reason in judged.values() if reason in _GROUPS)
    if found != expected:
        yield f"nodes by reason: {dict(expected)} simulated, {dict(found)} of {real.text}: {judged}"


def _counted(text: str) -> Counter[str]:
    """Nodes by group of sentences. Affinity and resources are left out: a node without the resource is, to `simulate`,
    short of it even where the lowered policy refuses it too, and one node may be short of several resources.
    """
    head, _, rest = text.partition(" nodes are available: ")
    counts = Counter(total=int(head.partition("/")[2]))
    for part in rest.partition(" preemption:")[0].strip().rstrip(".").split(", "):
        number, _, sentence = part.partition(" ")
        group = next((group for begin, group in _SENTENCES.items() if sentence.startswith(begin)), None)
        if group is not None:
            counts[group] += int(number)
    return counts
