"""Namespaces among the manifests: judged as they are written, and in force for the pods that follow."""

from collections.abc import Iterable

from gpusched.admission.admission import Admission
from gpusched.admission.judge_namespace import Written
from gpusched.admission.standing_pods import judge_namespace_with_pods
from gpusched.core.codes import Code, Finding
from gpusched.core.fault import Fault
from gpusched.simulate.manifest import InputFault, Manifest, located
from gpusched.simulate.result import NamespaceView, admission_view
from gpusched.simulate.world import World
from gpusched.state.events import Upsert
from gpusched.state.read_namespace import read_namespace


class Namespaces:
    """Takes the Namespaces of the manifests into the cluster; refused ones stay as the dump has them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._refused: dict[str, Admission] = {}
        self.views: list[NamespaceView] = []

    def take(self, manifests: Iterable[Manifest], faults: list[InputFault]) -> None:
        """Judge and apply every Namespace."""
        for manifest in manifests:
            if manifest.kind == "Namespace" and not manifest.group:
                found: list[Fault] = []
                self._apply(manifest, found)
                faults.extend(located(manifest, found))

    def refusal(self, namespace: str) -> Admission | None:
        """The refusal of pods whose Namespace was refused and stands nowhere else."""
        return self._refused.get(namespace)

    def _apply(self, manifest: Manifest, found: list[Fault]) -> None:
        seen = read_namespace(manifest.tree, found)
        standing = self._world.cluster.namespace_object(seen.name)
        before = Written(standing.annotations, standing.labels) if standing else None
        written = Written(seen.annotations, seen.labels)
        admission = judge_namespace_with_pods(seen.name, written, before, self._world.cluster)
        self.views.append(NamespaceView(name=seen.name, admission=admission_view(admission)))
        if admission.allowed:
            self._world.cluster.apply(Upsert(seen))
            self._world.ledger.namespace_labels[seen.name] = seen.labels
            self._refused.pop(seen.name, None)
        elif standing is None:
            text = f"Namespace {seen.name} was refused: {admission.message}"
            self._refused[seen.name] = Admission(allowed=False, refusals=(Finding(Code.POLICY_MALFORMED, text),))
