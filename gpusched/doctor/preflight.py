"""The records of a preflight: what a cluster is before gpusched is installed, and what installing it would change."""

from collections.abc import Mapping

import msgspec

from gpusched.doctor.check import Problem
from gpusched.doctor.scene import Probe, Scene, Tree
from gpusched.simulate.report import Count, Report, Violation


class Placed(msgspec.Struct, frozen=True):
    """An object that comes with an overlay, or that gpusched makes at work. `namespace` is empty for a cluster-scoped
    one; `made_by` is `overlay` or `gpusched`; `standing` tells whether it is there already, None where it is not known.
    """

    kind: str
    name: str
    namespace: str = ""
    api_version: str = "v1"
    made_by: str = "overlay"
    standing: bool | None = None


class Overlay(msgspec.Struct, frozen=True):
    """What one folder of manifests/overlays brings. With `opt_in` only Namespaces with a label are gpusched's business;
    `second_scheduler` is the one that its configuration names, empty for none.
    """

    objects: tuple[Placed, ...]
    opt_in: bool = False
    second_scheduler: str = ""


class Surroundings(msgspec.Struct, frozen=True):
    """What is known of a cluster beyond its nodes, pods and Namespaces. None where nobody could find out.

    `version` is the API server's, such as `v1.37.2+k3s1`; `groups` are the API groups that it serves, `defined`
    those that a dump has definitions of; `guards` tells
    whether it has ValidatingAdmissionPolicies; `configurations` are its webhook configurations. `overlays` are
    those there are by name, `shipped` the webhook configurations that are released. `unasked` are
    questions that the user's rights did not reach.
    """

    overlays: Mapping[str, Overlay]
    shipped: tuple[Tree, ...]
    version: str = ""
    groups: tuple[str, ...] | None = None
    defined: tuple[str, ...] = ()
    guards: bool | None = None
    configurations: tuple[Tree, ...] | None = None
    unasked: tuple[Probe, ...] = ()


class Site(msgspec.Struct, frozen=True):
    """What is looked at: the cluster as state and as objects, what is around it, and how its workloads were judged."""

    scene: Scene
    around: Surroundings
    judged: Report


class Fact(msgspec.Struct, frozen=True):
    """One thing that is so about the cluster, such as which GPU Operator it has."""

    title: str
    text: str


class Fitting(msgspec.Struct, frozen=True):
    """The overlay that fits, a folder of manifests/overlays, and by what it was chosen."""

    name: str
    why: str


class Webhook(msgspec.Struct, frozen=True):
    """One webhook to be registered: what it sees, and whether requests wait (`Fail`) while gpusched is away.

    `resources` of other API groups than the core's, apps and batch have their group behind a dot.
    """

    name: str
    phase: str
    resources: tuple[str, ...]
    failure_policy: str
    exempt: tuple[str, ...]


class Labelled(msgspec.Struct, frozen=True):
    """Label keys that gpusched would write on nodes: set, or changed from what stands there."""

    nodes: tuple[str, ...]
    keys: tuple[str, ...]


class NewPod(msgspec.Struct, frozen=True):
    """What a new pod that asks for one of a GPU resource gets in a Namespace without a policy.

    `runtime_class` is None where none is set; `why` says so either way.
    """

    resource: str
    runtime_class: str | None
    why: str
    tolerations: tuple[str, ...]


class Changes(msgspec.Struct, frozen=True):
    """Everything that installing changes; `opt_in` and `second_scheduler` as in `Overlay`."""

    objects: tuple[Placed, ...]
    opt_in: bool
    second_scheduler: str
    webhooks: tuple[Webhook, ...]
    labels: tuple[Labelled, ...]
    pods: tuple[NewPod, ...]


class Preflight(msgspec.Struct, frozen=True):
    """The whole finding. `violations` are present workloads that the rules speak against, `judged` of how many."""

    there: tuple[Fact, ...]
    overlay: Fitting
    changes: Changes
    violations: tuple[Violation, ...]
    counts: tuple[Count, ...]
    judged: int
    problems: tuple[Problem, ...]
