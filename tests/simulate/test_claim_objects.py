"""What the claims of a pod and their objects say, through the answer of `why`."""

from collections.abc import Iterable

import pytest

from gpusched.core.read_pod import read_pod
from gpusched.simulate.reasons.obstacle import obstacle
from tests.build import Tree, pod
from tests.simulate.scene import world_of

VOLUMES = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}
EPHEMERAL = {"volumes": [{"name": "d", "ephemeral": {"volumeClaimTemplate": {}}}]}
DEVICES = {"resourceClaims": [{"name": "g", "resourceClaimName": "gpu"}]}
TEMPLATED = {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "gpus"}]}
UNBOUND = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
ALLOCATED = "0/1 nodes are available: 1 cannot allocate all claims."
ABSENT_CLAIM = '0/1 nodes are available: persistentvolumeclaim "data" not found.'


def _object(kind: str, name: str, group: str = "", **parts: object) -> Tree:
    metadata = {"name": name} if kind == "StorageClass" else {"name": name, "namespace": "team-a"}
    return {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind, "metadata": metadata, **parts}


def _pvc(name: str = "data", storage: str = "fast", phase: str = "Pending") -> Tree:
    return _object("PersistentVolumeClaim", name, spec={"storageClassName": storage}, status={"phase": phase})


def _class(name: str, mode: str = "Immediate") -> Tree:
    return _object("StorageClass", name, "storage.k8s.io", volumeBindingMode=mode)


def _device_claim(name: str, request: Tree) -> Tree:
    return _object("ResourceClaim", name, "resource.k8s.io", spec={"devices": {"requests": [request]}})


def _device_template(name: str, device_class: str) -> Tree:
    inner = {"devices": {"requests": [{"deviceClassName": device_class}]}}
    return _object("ResourceClaimTemplate", name, "resource.k8s.io", spec={"spec": inner})


def told(tree: Tree, word: str, *cluster: Tree, listed: Iterable[str] = ()) -> tuple[str, str] | None:
    if word:
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": word}
        tree = {**tree, "status": {"conditions": [condition]}}
    world = world_of(*cluster)
    world.claim_kinds.update(listed)
    found = obstacle(tree, read_pod(tree, []), world)
    return None if found is None else (found.cause, found.change)


_SEE = "See what the claim waits for (a StorageClass, its provisioner, a volume): kubectl -n team-a describe pvc"


@pytest.mark.parametrize(
    ("spec", "word", "cluster", "cause", "change"),
    [
        (VOLUMES, UNBOUND, (), "PersistentVolumeClaim data is not bound to a volume yet", f"{_SEE} data"),
        (EPHEMERAL, UNBOUND, (), "a PersistentVolumeClaim of it is not bound to a volume yet", _SEE),
        (
            {"volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("a", "b", "c")]},
            UNBOUND,
            (_pvc("a"), _pvc("b", phase="Bound"), _pvc("c", storage="")),
            "PersistentVolumeClaims a (StorageClass fast), c are not bound to a volume yet",
            f"{_SEE} a c",
        ),
        (
            VOLUMES,
            UNBOUND,
            (_pvc(), _class("slow")),
            "PersistentVolumeClaim data is not bound: StorageClass fast, which it names, does not exist",
            "Create StorageClass fast, or name another in PersistentVolumeClaim data",
        ),
        (
            VOLUMES,
            "",
            (_pvc(), _class("fast")),
            "PersistentVolumeClaim data (StorageClass fast) is not bound to a volume yet",
            "See what it waits for: kubectl -n team-a describe pvc data",
        ),
        (
            VOLUMES,
            ABSENT_CLAIM,
            (_pvc("other"),),
            "PersistentVolumeClaim data does not exist in namespace team-a",
            "Create PersistentVolumeClaim data in namespace team-a, or correct claimName in spec.volumes",
        ),
        (
            DEVICES,
            "",
            (_device_claim("other", {}),),
            "ResourceClaim gpu does not exist in namespace team-a",
            "Create ResourceClaim gpu in namespace team-a, or correct its name in spec.resourceClaims",
        ),
        (
            DEVICES,
            ALLOCATED,
            (_device_claim("gpu", {"exactly": {"deviceClassName": "gpu.example.com"}}),),
            "no device there is free for ResourceClaim gpu (DeviceClass gpu.example.com)",
            "Wait until a pod with such a claim ends, or ask for less in the ResourceClaim",
        ),
        (
            DEVICES,
            ALLOCATED,
            (_device_claim("gpu", {"firstAvailable": [{"deviceClassName": "a"}, {"deviceClassName": "b"}]}),),
            "no device there is free for ResourceClaim gpu (DeviceClass a, b)",
            "Wait until a pod with such a claim ends, or ask for less in the ResourceClaim",
        ),
        (
            TEMPLATED,
            "0/1 nodes are available: waiting for resource claim: ResourceClaim not created yet",
            (),
            "its ResourceClaim has not been created from ResourceClaimTemplate gpus yet",
            "See that the template exists: kubectl -n team-a get resourceclaimtemplates gpus",
        ),
        (
            TEMPLATED,
            ALLOCATED,
            (_device_template("gpus", "gpu.example.com"),),
            "no device there is free for the claims of ResourceClaimTemplate gpus (DeviceClass gpu.example.com)",
            "Wait until a pod with such a claim ends, or ask for less in the ResourceClaim",
        ),
        (
            TEMPLATED,
            "",
            (_object("ResourceClaimTemplate", "others", "resource.k8s.io"),),
            "ResourceClaimTemplate gpus does not exist in namespace team-a",
            "Create ResourceClaimTemplate gpus in namespace team-a, or correct its name in spec.resourceClaims",
        ),
    ],
)
def test_claims_are_named(spec: Tree, word: str, cluster: tuple[Tree, ...], cause: str, change: str) -> None:
    assert told(pod("p", **spec), word, *cluster) == (cause, change)


@pytest.mark.parametrize(
    "cluster",
    [
        # Nobody looked at claims, or at classes.
        (),
        (_pvc(),),
        # It is bound once the pod has a node.
        (_pvc(), _class("fast", "WaitForFirstConsumer")),
        (_pvc(phase="Bound"), _class("other")),
    ],
)
def test_what_may_be_well_is_no_obstacle(cluster: tuple[Tree, ...]) -> None:
    assert told(pod("p", **VOLUMES), "", *cluster) is None


def test_what_is_said_of_other_things_is_told_besides() -> None:
    word = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims, 1 node(s) were on a bad day."
    found = told(pod("p", **VOLUMES), word, _pvc(), _class("slow"))

    assert found is not None
    assert found[0] == (
        "PersistentVolumeClaim data is not bound: StorageClass fast, which it names, does not exist; "
        "kube-scheduler says: node(s) were on a bad day"
    )


@pytest.mark.parametrize(
    ("spec", "cluster", "listed", "cause"),
    [
        (
            {"resourceClaims": [{"name": "g", "resourceClaimName": "gpu"}]},
            (),
            "ResourceClaim",
            "ResourceClaim gpu does not exist in namespace team-a",
        ),
        (
            {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "t"}]},
            (),
            "ResourceClaimTemplate",
            "ResourceClaimTemplate t does not exist in namespace team-a",
        ),
        (VOLUMES, (), "PersistentVolumeClaim", "PersistentVolumeClaim data does not exist in namespace team-a"),
        (
            VOLUMES,
            (_pvc(),),
            "StorageClass",
            "PersistentVolumeClaim data is not bound: StorageClass fast, which it names, does not exist",
        ),
    ],
)
def test_a_cluster_that_has_none_of_a_kind(spec: Tree, cluster: tuple[Tree, ...], listed: str, cause: str) -> None:
    """A dump of one says nothing of it, an API server that lists none does."""
    tree = pod("p", **spec)

    assert told(tree, "", *cluster) is None
    found = told(tree, "", *cluster, listed=[listed])
    assert found is not None
    assert found[0] == cause
