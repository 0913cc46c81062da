"""Why nodes do not match what a pod says of labels, taints and other pods, in words that name the values."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gpusched.core.pod import Pod, PodAffinityTerm
from gpusched.core.selector import NodeTerm, Requirement
from gpusched.native.affinity import node_affinity_reason
from gpusched.native.pod_affinity import broken_terms
from gpusched.native.taints import FILTERING_EFFECTS, tolerates
from gpusched.native.term import term_matches
from gpusched.policy.rule import label_values, named
from gpusched.simulate.admit import Candidate
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState

_OLDER: Final = "its affinity, lowered from an older policy, does not match"


def taints(candidate: Candidate, states: Iterable[NodeState]) -> str:
    """The taints that are not tolerated."""
    tolerations = candidate.pod.spec.tolerations
    found = {
        f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        for state in states
        for taint in state.node.object.taints
        if taint.effect in FILTERING_EFFECTS and not tolerates(tolerations, taint)
    }
    verb = "is" if len(found) == 1 else "are"
    return f"taint {named(sorted(found))} {verb} not tolerated" if found else ""


def node_affinity(candidate: Candidate, states: Sequence[NodeState]) -> str:
    """The entries of node selector and required node affinity that do not match, and what the nodes have instead."""
    if all(node_affinity_reason(candidate.plain, state.node.object) is None for state in states):
        return _OLDER
    labels = [state.node.object.labels for state in states]
    entries = sorted(candidate.plain.node_selector.items())
    lacking = [(key, value) for key, value in entries if any(own.get(key) != value for own in labels)]
    parts = [f"nodeSelector {named([f'{key}={value}' for key, value in lacking])}"] if lacking else []
    keys = [key for key, _ in lacking]
    failing = list(dict.fromkeys(_failing(candidate.plain.node_affinity or (), states)))
    if failing or not lacking:
        written = " or ".join(dict.fromkeys(map(str, failing)))
        parts.append(f"required node affinity{f' {written}' if written else ''}")
        keys += [part.key for part in failing]
    there = "; ".join(label_values(key, labels) for key in dict.fromkeys(keys) if key != "metadata.name")
    verb = "does" if len(parts) == 1 and len(lacking) < 2 else "do"
    return f"{' and '.join(parts)} {verb} not match{f': {there}' if there else ''}"


def _failing(terms: Iterable[NodeTerm], states: Sequence[NodeState]) -> Iterator[Requirement]:
    """The requirements that keep a term from matching, where no other term does."""
    for state in states:
        seen = state.node.object
        if not any(term.matches(seen.name, seen.labels) for term in terms):
            for term in terms:
                yield from (part for part in term.expressions if not part.matches(seen.labels))
                yield from (part for part in term.fields if not part.matches({"metadata.name": seen.name}))


def pod_affinity(candidate: Candidate, states: Sequence[NodeState], world: World) -> str:
    """The rules about other pods that are broken, on one node with the name of a pod that breaks them."""
    pod, rules, found = candidate.pod, world.ledger.outlook(candidate.pod).affinity, dict[str, None]()
    for state in states:
        seen = state.node.object
        unmet, own, others = broken_terms(pod, rules, seen)
        for term in unmet:
            where = f"in the same {term.topology_key}" if term.topology_key in seen.labels else ""
            lack = where or f"and the node has no label {term.topology_key}"
            found[f"affinity to pods with {_selector(term)}: there is none {lack}"] = None
        for term in own:
            there = _there(pod, term, state, world) if len(states) == 1 else ""
            found[f"anti-affinity to pods with {_selector(term)} in the same {term.topology_key}{there}"] = None
        if others:
            found["anti-affinity of a pod that runs there"] = None
    return "; ".join(found)


def _selector(term: PodAffinityTerm) -> str:
    return ",".join(map(str, term.selector or ())) or "any label"


def _there(pod: Pod, term: PodAffinityTerm, state: NodeState, world: World) -> str:
    """A pod that the term speaks of."""
    key, labels = term.topology_key, world.ledger.namespace_labels
    for node in world.ledger.nodes.values():
        if node.object.labels.get(key) != state.node.object.labels.get(key):
            continue
        for bound in node.bound.values():
            if term_matches(term, pod.namespace, bound.pod, labels) and world.may_name(bound.pod.namespace):
                return f": {bound.pod.namespace}/{bound.pod.name} is there"
    return ""


def spread(candidate: Candidate, states: Sequence[NodeState], world: World) -> str:
    """The topology spread constraints that are broken, on one node with the numbers of pods."""
    found = dict[str, None]()
    pod = candidate.pod
    for state in states:
        labels = state.node.object.labels
        for limit, rule in zip(world.ledger.outlook(pod).spread, pod.spec.spread, strict=True):
            value, what = labels.get(limit.topology_key), f"maxSkew {rule.max_skew} over {limit.topology_key}"
            if value is None:
                found[f"{what}: the node has no such label"] = None
            elif limit.counts.get(value, 0) > limit.most:
                count, least = limit.counts[value], min(limit.counts.values())
                numbers = (
                    f"{value} has {count} such {'pod' if count == 1 else 'pods'} already, another {least}"
                    if len(states) == 1
                    else ""
                )
                found[f"{what}: {numbers or 'too many such pods are there already'}"] = None
    return "; ".join(found)
