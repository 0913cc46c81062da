"""The demo: the sample cluster on a local control plane with gpusched, and the sample workloads applied to it."""

import json
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec
import yaml

from gpusched.admission.templates import kind_of, templates_of
from gpusched.core.names import STATUS_PREFIX
from gpusched.local.api import Response
from gpusched.local.apply import metadata
from gpusched.local.binaries import Binaries
from gpusched.local.control_plane import ControlPlane
from gpusched.local.demo_pods import PATHS, Sighting, admitted_pods, manifests_of, newest_event, sighting
from gpusched.local.errors import ApiError, ChildDiedError, LocalError
from gpusched.local.guard import Guard
from gpusched.local.installed import Installed, documents
from gpusched.local.options import Options
from gpusched.local.process import last_lines
from gpusched.placement.quota import liftable
from gpusched.policy.model import Config
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.reasons.why import Target, find_standing
from gpusched.simulate.world import World, load

Tree = dict[str, object]

#: kwok ends the pods of Jobs after a second; those of the demo train on, so that others have to wait.
_ENDING_STAGE: Final = "job-pod-complete"
_SETTLE_SECONDS: Final = 60.0
_EVENT_SECONDS: Final = 20.0
_ATTEMPTS: Final = 3
_PORT_TAKEN: Final = "address already in use"


class Samples(msgspec.Struct, frozen=True):
    """The sample files: nodes, what stands beside them, pods that run already, and the workloads to apply."""

    nodes: list[Tree]
    surroundings: list[Tree]
    running: list[Tree]
    workloads: list[Tree]


class Applied(msgspec.Struct, frozen=True):
    """One applied object and the server's answer; `wanted` is the number of pods that it asks for."""

    group: str
    kind: str
    namespace: str
    name: str
    wanted: int
    answer: Response

    @property
    def target(self) -> Target:
        """What finds its pods."""
        return Target(self.kind.lower(), self.namespace, self.name)


class Fate(msgspec.Struct, frozen=True):
    """What became of an applied object: its pods, and what webhooks changed in the first of them at its creation."""

    applied: Applied
    pods: tuple[Sighting, ...]
    patch: tuple[dict[str, object], ...]


def read_samples(folder: Path) -> Samples:
    """The objects of `cluster.yaml` and `workloads.yaml`.

    Raises:
        OSError: a file cannot be read.

    """
    cluster = documents(folder / "cluster.yaml")
    return Samples(
        nodes=[tree for tree in cluster if tree["kind"] == "Node"],
        surroundings=[tree for tree in cluster if tree["kind"] not in {"Node", "Pod"}],
        running=[_to_create(tree) for tree in cluster if tree["kind"] == "Pod"],
        workloads=documents(folder / "workloads.yaml"),
    )


class DemoCluster:
    """Nodes, namespaces and running pods of the samples with gpusched installed, as a context manager.

    What it started is gone when it is left, however that happens.
    """

    plane: ControlPlane
    gpusched: Installed

    def __init__(self, binaries: Binaries, samples: Samples, progress: Callable[[str], None]) -> None:
        self._binaries = binaries
        self._samples = samples
        self._progress = progress
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stages = _lasting_stages(stack.enter_context(Guard()).folder)
            options = Options(stages=stages, audit=True)
            self.plane = stack.enter_context(ControlPlane(self._binaries, options, self._progress))
            self._furnish()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def apply(self, tree: Tree) -> Applied:
        """Create a workload and wait until each of its pods has a node, or it is clear why not.

        Raises:
            LocalError: it did not come to rest.

        """
        templates = templates_of(tree, []) or ()
        group, kind = kind_of(tree)
        about = metadata(tree)
        applied = Applied(
            group=group,
            kind=kind,
            namespace=str(about.get("namespace") or "default"),
            name=str(about.get("name")),
            wanted=sum(template.replicas or 0 for template in templates),
            answer=self.plane.create(tree),
        )
        if applied.answer.ok:
            what = f"pods of {kind} {applied.namespace}/{applied.name} decided"
            self.plane.wait_until(lambda: self._settled(applied), _SETTLE_SECONDS, what)
        return applied

    def standing(self) -> list[Manifest]:
        """What `kubectl get nodes,ns,runtimeclasses,pods -A` gives at this moment."""
        return [manifest for path in PATHS for manifest in manifests_of(self.plane.get(path))]

    def fates(self, applied: Iterable[Applied], standing: list[Manifest]) -> list[Fate]:
        """What became of these objects by the time of a dump."""
        created = admitted_pods(self.plane.logs / "audit.log")
        return [
            Fate(
                applied=each,
                pods=tuple(sighting(manifest) for manifest in find_standing(standing, each.target)),
                patch=next((ops for manifest, ops in created if find_standing([manifest], each.target)), ()),
            )
            for each in applied
        ]

    def write_dump(self, standing: Iterable[Manifest]) -> Path:
        """The objects as a file that `--cluster` takes; it lasts as long as the control plane."""
        path = self.plane.folder / "dump.json"
        items = [manifest.tree for manifest in standing]
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
        return path

    def event(self, pod: Sighting) -> str:
        """What kube-scheduler's newest event about a pod says, which comes a moment after the condition; empty if none
        comes: events are a courtesy.
        """
        path = f"/api/v1/namespaces/{pod.namespace}/events"
        query = {"fieldSelector": f"involvedObject.uid={pod.uid}"}
        what = f"an event of kube-scheduler about {pod.namespace}/{pod.name}"
        try:
            return self.plane.wait_until(lambda: newest_event(self.plane.get(path, query=query)), _EVENT_SECONDS, what)
        except (ApiError, ChildDiedError):
            raise
        except LocalError:
            return ""

    def _furnish(self) -> None:
        samples, plane = self._samples, self.plane
        self._progress(f"creating {len(samples.nodes)} nodes and the namespaces with their policies")
        plane.create_nodes(samples.nodes)
        # Before gpusched: it has read them all when it says that it is ready.
        plane.apply(samples.surroundings)
        self._progress("installing gpusched: roles, webhooks, the extender in kube-scheduler's configuration")
        self.gpusched = self._install()
        plane.wait_until(lambda: "labels: complete" in self.gpusched.admin("/readyz")[1], what="labels on all nodes")
        self._progress(f"creating {len(samples.running)} pods that run before the others come")
        for tree in samples.running:
            self.apply(tree).answer.expect()

    def _install(self) -> Installed:
        for attempt in range(1, _ATTEMPTS + 1):
            installed = Installed(self.plane)
            try:
                # Never left by itself: it lives in this control plane, and ends with it.
                return installed.__enter__()
            except ChildDiedError as error:
                if attempt == _ATTEMPTS or _PORT_TAKEN not in last_lines(error.log, 40).lower():
                    raise
                self._progress("a port was taken by someone else meanwhile: once more with others")
        raise AssertionError("the last attempt returns or raises")

    def _settled(self, applied: Applied) -> bool:
        standing = self.standing()
        pods = [sighting(manifest) for manifest in find_standing(standing, applied.target)]
        if not all(pod.decided for pod in pods):
            return False
        # A StatefulSet makes the next pod when the one before is ready.
        complete = len(pods) >= applied.wanted or (applied.kind == "StatefulSet" and any(pod.waits for pod in pods))
        gated = {pod.uid for pod in pods if pod.gates}
        return complete and not (gated and gated & set(liftable(world_of(standing).cluster)))


def world_of(standing: Iterable[Manifest]) -> World:
    """The cluster as `why` sees it, under the configuration that the demo runs with."""
    return load(standing, Config())


def _to_create(tree: Tree) -> Tree:
    """A pod of the sample cluster as its user would have written it.

    Created with spec.nodeName it would have passed neither kube-scheduler nor gpusched; a node selector brings it to
    the same node by the way that all pods go.
    """
    about, spec = metadata(tree), tree["spec"]
    annotations = about.get("annotations")
    own = annotations.items() if isinstance(annotations, dict) else ()
    rest = dict(spec) if isinstance(spec, dict) else {}
    node = rest.pop("nodeName")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": about["name"],
            "namespace": about["namespace"],
            "annotations": {key: value for key, value in own if not key.startswith(STATUS_PREFIX)},
        },
        "spec": rest | {"nodeSelector": {"kubernetes.io/hostname": node}},
    }


def _lasting_stages(folder: Path) -> Path:
    kept = [tree for tree in documents(Options().stages) if metadata(tree).get("name") != _ENDING_STAGE]
    path = folder / "stages.yaml"
    path.write_text(yaml.safe_dump_all(kept), encoding="utf-8")
    return path
