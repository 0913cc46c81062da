"""What is examined: a cluster as state and as objects, and what was found out about gpusched's installation on it."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from gpusched.core.pod import Pod
from gpusched.simulate.manifest import InputFault, Manifest
from gpusched.simulate.world import World

Tree = Mapping[str, object]


class Probe(msgspec.Struct, frozen=True):
    """The outcome of asking something: `problem` is empty where all is well; `known` false means that it could not be
    asked, for the reason in `problem`.
    """

    name: str
    problem: str = ""
    known: bool = True


class Installation(msgspec.Struct, frozen=True):
    """gpusched on a live cluster. `present` false means that nothing of it is there.

    `webhooks` are both webhook configurations as they stand, `shipped` as they are released; `policies` names the
    admission policies that are missing. `lease_age` is in seconds, None where nobody has ever led; `lease_seconds` is
    how long a Lease counts. `extender` false means that kube-scheduler is offered none, as where the webhook alone is
    installed.
    """

    present: bool = False
    extender: bool = True
    webhooks: tuple[Tree, ...] = ()
    shipped: tuple[Tree, ...] = ()
    #: Other webhooks that see pods when they are created, by the names of their configurations.
    strangers: tuple[str, ...] = ()
    missing_policies: tuple[str, ...] = ()
    bundles: tuple[Probe, ...] = ()
    expiry: tuple[Probe, ...] = ()
    dry_run: Probe | None = None
    holder: str = ""
    lease_known: bool = True
    lease_age: float | None = None
    lease_seconds: float = 15.0
    replicas: tuple[Probe, ...] = ()
    #: How far the clock of a replica is from the API server's, where it is worth telling.
    clocks: tuple[Probe, ...] = ()
    scheduler: tuple[Probe, ...] = ()
    version: tuple[int, int] | None = None


class Scene(msgspec.Struct):
    """`pods` are all pods of the cluster with their objects, finished ones too; `failures` events about pods that could
    not be created. `age` gives the seconds since a time stamp of the API server, None where it cannot be read.
    """

    world: World
    standing: Sequence[Manifest]
    pods: Sequence[tuple[Pod, Tree]]
    config_faults: Sequence[InputFault] = ()
    age: Callable[[str], float | None] = lambda _stamp: None
    installation: Installation | None = None
    failures: Sequence[Manifest] = ()

    def namespaces(self) -> list[str]:
        """Names of the Namespaces in order, without those being deleted: nobody mends their policy any more."""
        going = {item.name for item in self.standing if item.kind == "Namespace" and _deleting(item.tree)}
        return sorted(set(self.world.cluster.namespaces()) - going)


def _deleting(tree: Tree) -> bool:
    metadata = tree.get("metadata")
    return isinstance(metadata, Mapping) and bool(metadata.get("deletionTimestamp"))
