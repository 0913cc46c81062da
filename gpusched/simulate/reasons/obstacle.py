"""What keeps a pod waiting that is not judged here: another scheduler, or what kube-scheduler says of volumes and
claims.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from gpusched.admission.scheduler_name import calls_gpusched
from gpusched.core.codes import REASON_TEXT
from gpusched.core.names import DEFAULT_SCHEDULER, OWN_NAMESPACE
from gpusched.core.pod import Pod
from gpusched.policy.model import Config
from gpusched.simulate.claim_objects import PodClaims
from gpusched.simulate.reasons.pod_status import scheduler_word
from gpusched.simulate.world import World


class Obstacle(msgspec.Struct, frozen=True):
    """Why it waits and what to do, sentences without a final period. `passing` may be over by now: then only `cause` is
    told. `absolute` holds whatever nodes say.
    """

    cause: str
    change: str = ""
    passing: bool = False
    absolute: bool = False


#: How reasons of kube-scheduler begin that are judged here too (pkg/scheduler/framework/plugins, ErrReason).
_JUDGED: Final = (
    "Insufficient ",
    "Too many pods",
    "node(s) had untolerated taint",
    "node(s) had taint",
    "that the pod didn't tolerate",
    "node(s) were unschedulable",
    "node(s) didn't match Pod's node affinity",
    "node(s) didn't match the requested node name",
    # Said of all nodes but that of a DaemonSet's pod (pkg/scheduler/schedule_one.go, findNodesThatFitPod).
    "node(s) didn't satisfy plugin(s) [NodeAffinity]",
    "node(s) didn't match pod ",
    "node(s) didn't satisfy existing pods anti-affinity",
    "node(s) didn't have free ports",
    "waiting for the preemption",
    *REASON_TEXT.values(),
)
#: A part of its message to what it means and what to do; {ns} stands for the namespace and other such for the pod's
#: claims, \1 for what was found.
_MEANINGS: Final = tuple(
    (re.compile(pattern), cause, change)
    for pattern, cause, change in (
        (
            r'^persistentvolumeclaim "([^"]+)" not found',
            r"PersistentVolumeClaim \1 does not exist in namespace {ns}",
            r"Create PersistentVolumeClaim \1 in namespace {ns}, or correct claimName in spec.volumes",
        ),
        (
            r'controller to create the persistentvolumeclaim "([^"]+)"',
            r"PersistentVolumeClaim \1 of an ephemeral volume has not been created yet",
            r"See what keeps it from being created: kubectl -n {ns} get events",
        ),
        (
            r'persistentvolumeclaim "([^"]+)" is being deleted',
            r"PersistentVolumeClaim \1 is being deleted",
            r"Create PersistentVolumeClaim \1 anew once it is gone, or use another",
        ),
        (
            r"bound to non-existent p",
            r"a PersistentVolumeClaim of it is bound to a PersistentVolume that is gone",
            r"Delete the claim and create it anew, or restore the volume: kubectl -n {ns} get pvc",
        ),
        (
            r"unbound immediate PersistentVolumeClaims",
            r"{unbound} not bound to a volume yet",
            r"See what the claim waits for (a StorageClass, its provisioner, a volume): {see_unbound}",
        ),
        (
            r"find available persistent volumes to bind",
            r"no PersistentVolume there matches {unbound_claims}",
            r"Create a volume that matches, or name a StorageClass that makes them: {see_unbound}",
        ),
        (
            r'storage ?class(?:\.storage\.k8s\.io)? "([^"]+)"',
            r"StorageClass \1 does not exist",
            r"Create StorageClass \1, or name another in {unbound_claims}",
        ),
        (
            r"PersistentVolume's node affinity|volume node affinity|no available volume zone",
            r"{volume} can be used on other nodes only",
            r"Let the pod go where the volume is, or use one that these nodes reach: {see_volume}",
        ),
        (
            r"enough free storage",
            r"{classes} has too little storage left there",
            r"Ask for less in {unbound_claims}, or free storage",
        ),
        (
            r"max volume count",
            r"as many volumes are attached there as may be",
            r"Wait until a pod with volumes ends, or use fewer volumes",
        ),
        (
            r"ReadWriteOncePod|no available disk",
            r"{volume} is in use by another pod",
            r"Wait until that pod ends, or use a volume that several pods may share",
        ),
        (
            r'resourceclaim(?:\.resource\.k8s\.io)? "([^"]+)" not found',
            r"ResourceClaim \1 does not exist in namespace {ns}",
            r"Create ResourceClaim \1 in namespace {ns}, or correct its name in spec.resourceClaims",
        ),
        (
            r"device class (\S+) does not exist",
            r"DeviceClass \1, which its ResourceClaim names, does not exist",
            r"Create DeviceClass \1, or name another in the ResourceClaim",
        ),
        (
            r"ResourceClaim not created yet",
            r"its ResourceClaim has not been created from {template} yet",
            r"See that the template exists: kubectl -n {ns} get resourceclaimtemplates{template_names}",
        ),
        (
            r"cannot allocate all claims|resourceclaim not available on the node",
            r"no device there is free for {devices}",
            r"Wait until a pod with such a claim ends, or ask for less in the ResourceClaim",
        ),
        (
            r"(?i)resource ?claim",
            r"{devices} cannot be served yet",
            r"See what the claims wait for: kubectl -n {ns} describe resourceclaims{device_names}",
        ),
        (
            r'^Post "|connection refused|Client\.Timeout',
            r"kube-scheduler cannot reach an extender",
            rf"See that gpusched runs: kubectl -n {OWN_NAMESPACE} get pods",
        ),
    )
)
#: What is to be filled in.
_BLANK: Final = re.compile(r"\{(\w+)\}|\\1")
#: What claims and classes of the cluster tell better.
_OF_CLAIMS: Final = re.compile(r"(?i)persistent ?volume|storage ?class|resource ?claim")
_ALL_NODES: Final = re.compile(r"^0/\d+ nodes are available: ")
_COUNT: Final = re.compile(r"^\d+ ")


def obstacle(tree: Mapping[str, object], pod: Pod, world: World) -> Obstacle | None:
    """What the pod waits for besides; None where nobody says so. `tree` is the pod with its status."""
    name, word, config = pod.spec.scheduler_name, scheduler_word(tree), world.cluster.config
    if not calls_gpusched(name, config):
        return _of_another(name, word, config)
    parts = _parts(word)
    foreign = [part for part in parts if not _judged(part)]
    claims = PodClaims(tree, pod.namespace, world.claims, world.claim_kinds)
    certain = list(claims.certain())
    told = certain + [_meaning(part, claims.words()) for part in foreign if not (certain and _OF_CLAIMS.search(part))]
    if not told:
        return Obstacle(", ".join(parts), passing=True) if parts else None
    return Obstacle("; ".join(dict.fromkeys(cause for cause, _ in told)), told[0][1])


def _of_another(name: str, word: str, config: Config) -> Obstacle:
    served = " and ".join(item for item in (DEFAULT_SCHEDULER, config.second_scheduler) if item)
    change = f"Remove spec.schedulerName: {name}, or start a scheduler of that name"
    if not word:
        cause = f"it waits for a scheduler named {name}, which has said nothing; gpusched serves {served}"
        return Obstacle(cause, change, absolute=True)
    return Obstacle(f"scheduler {name} says: {word}", f"See what {name} wants, or remove spec.schedulerName")


def _parts(word: str) -> list[str]:
    """What it says of nodes, each once and without numbers, which change from try to try."""
    if not _ALL_NODES.match(word):
        return [word] if word else []
    # After the first sentence comes what preemption would do.
    of_nodes = _ALL_NODES.sub("", word).partition(". ")[0].rstrip(".")
    return list(dict.fromkeys(_COUNT.sub("", part) for part in of_nodes.split(", ") if part))


def _judged(part: str) -> bool:
    return part.startswith(_JUDGED) or "gpusched: " in part


def _meaning(part: str, words: Mapping[str, str]) -> tuple[str, str]:
    for pattern, cause, change in _MEANINGS:
        match = pattern.search(part)
        if match is not None:
            return _filled(cause, match, words), _filled(change, match, words)
    return f"kube-scheduler says: {part}", f"See what kube-scheduler asks for: kubectl -n {words['ns']} describe pod"


def _filled(text: str, match: re.Match[str], words: Mapping[str, str]) -> str:
    return _BLANK.sub(lambda blank: words[blank[1]] if blank[1] else match[1], text)
