"""What a name means to `why`: one object, or an error that lists those which it may mean."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final, NamedTuple

from gpusched.cli.access import Access, Ambiguous
from gpusched.cli.inputs import Inputs
from gpusched.cli.selection import targets
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.reasons.shortfall import Shortfalls, why_refused
from gpusched.simulate.reasons.waits import Waits
from gpusched.simulate.reasons.why import (
    Target,
    Why,
    find_planned,
    find_standing,
    find_workloads,
    parse_target,
    why_planned,
    why_standing,
    why_workload,
)
from gpusched.simulate.run import Simulation
from gpusched.simulate.world import World

#: How alike a misspelt name must be, of 1.
_ALIKE: Final = 0.8
#: Objects of one name that are listed.
_LISTED: Final = 6


class Identity(NamedTuple):
    """What tells an object from all others."""

    namespace: str
    kind: str
    name: str

    def __str__(self) -> str:
        """As the command takes it."""
        return f"-n {self.namespace} {self.kind.lower()}/{self.name}"


def one_of(name: str, found: Iterable[Identity]) -> Identity | None:
    """The one object of the name; None without any. Raises Ambiguous for several."""
    distinct = sorted(set(found))
    if len(distinct) > 1:
        more = f" or {len(distinct) - _LISTED} more" if len(distinct) > _LISTED else ""
        listed = ", or ".join(map(str, distinct[:_LISTED]))
        raise Ambiguous(f"{len(distinct)} objects have the name {name}: write {listed}{more}")
    return distinct[0] if distinct else None


def answers_about(name: str, access: Access, inputs: Inputs, simulation: Simulation) -> list[Why]:
    """The answer about a pod, or of a workload about all its pods that have no node, and what it lacks; about one that
    has a node where all do. Raises Ambiguous for a name of several objects.
    """
    for target in targets(name, access, inputs):
        outcomes = find_planned(simulation, target)
        if outcomes:
            one_of(name, (_identity(outcome.planned.manifest) for outcome in outcomes))
            chosen = [outcome for outcome in outcomes if outcome.node is None] or outcomes[:1]
            shared = Waits(simulation.world)
            return [why_planned(outcome, simulation, shared) for outcome in chosen]
        answers = _standing(name, target, inputs, simulation)
        if answers:
            return answers
    return []


def _standing(name: str, target: Target, inputs: Inputs, simulation: Simulation) -> list[Why]:
    """The same about what is in the cluster, and about workloads of the manifests that make no pods."""
    pods = find_standing(inputs.standing, target) if target.kind in {"", "pod"} else []
    workloads = [] if target.kind == "pod" else find_workloads([*inputs.manifests, *inputs.standing], target)
    # One that another one of the same name made is not what is meant.
    outer = [item for item in workloads if not _controlled(item, workloads)]
    found = one_of(name, map(_identity, (*pods, *outer)))
    if pods:
        return _about_pods(pods, simulation.world)
    for manifest in outer:
        answers = _of_workload(manifest, inputs, simulation)
        if answers:
            return answers
    if found is not None or target.kind in {"", "pod"}:
        return []
    # A dump may have pods without the workload that made them.
    made = find_standing(inputs.standing, target)
    one_of(name, (Identity(item.namespace, target.kind, target.name) for item in made))
    return _about_pods(made, simulation.world)


def _of_workload(manifest: Manifest, inputs: Inputs, simulation: Simulation) -> list[Why]:
    world = simulation.world
    lack = Shortfalls(inputs.standing, inputs.failures, world).of(manifest)
    lacking = [why_refused(lack, world)] if lack is not None else []
    target = Target(manifest.kind.lower(), manifest.namespace, manifest.name)
    answers = _about_pods(find_standing(inputs.standing, target), world)
    if lacking:
        return lacking + [answer for answer in answers if not _rests(answer)]
    if not answers:
        answer = why_workload(manifest, simulation)
        answers = [answer] if answer is not None else []
    return answers


def _about_pods(pods: Sequence[Manifest], world: World) -> list[Why]:
    """Those that have no node, or else one: a pod that runs before one that has ended."""
    shared = Waits(world)
    answers = [why_standing(item, world, shared) for item in pods]
    waiting = [answer for answer in answers if not _rests(answer)]
    return waiting or sorted(answers, key=lambda answer: bool(answer.finished))[:1]


def _rests(answer: Why) -> bool:
    return bool(answer.finished) or answer.view.placement is not None


def _identity(manifest: Manifest) -> Identity:
    return Identity(manifest.namespace, manifest.kind, manifest.name)


def _controlled(manifest: Manifest, others: Iterable[Manifest]) -> bool:
    """Whether one of the others made the object."""
    metadata = manifest.tree.get("metadata")
    references = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    owners = [item for item in references if isinstance(item, dict)] if isinstance(references, list) else []
    known = {_identity(item) for item in others}
    return any((manifest.namespace, owner.get("kind"), owner.get("name")) in known for owner in owners)


def nowhere(name: str, access: Access, inputs: Inputs) -> str:
    """That nothing has the name, with names that may be meant."""
    place = ("the manifests or " if inputs.manifests else "") + ("the cluster" if inputs.live else "the dump")
    where = f" in namespace {access.namespace}" if access.namespace else ""
    elsewhere = sorted(
        {
            f"{item.namespace}/{item.name}"
            for target in parse_target(name)
            for item in find_standing(inputs.standing, target)
        }
    )
    if elsewhere:
        hint = f"; there is {', '.join(elsewhere[:3])}"
    else:
        known = {f"{item.namespace}/{item.name}": item for item in inputs.standing if item.namespace}
        last = {full.rpartition("/")[2]: full for full in sorted(known, reverse=True)}
        near = get_close_matches(name, known, 1) or [
            last[short] for short in get_close_matches(name.rpartition("/")[2], last, 1, _ALIKE)
        ]
        hint = f"; did you mean {near[0]}?" if near else ""
    readable = " that could be read" if inputs.errors else ""
    return f"no pod or workload {name}{where} in {place}{readable}{hint}"
