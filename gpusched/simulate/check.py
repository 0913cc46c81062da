"""`check`: admission alone, one verdict per object as it is applied."""

from collections.abc import Iterable

from gpusched.core.fault import Fault
from gpusched.simulate.admit import admit
from gpusched.simulate.expand import bare_pod, whole_templates
from gpusched.simulate.manifest import InputFault, Manifest, located
from gpusched.simulate.namespaces import Namespaces
from gpusched.simulate.result import CheckView, NamespaceView, admission_view
from gpusched.simulate.workloads import judge_templates
from gpusched.simulate.world import World


class Check:
    """Judges manifests one by one."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._namespaces = Namespaces(world)
        self.views: list[CheckView] = []
        self.faults: list[InputFault] = []

    @property
    def namespaces(self) -> tuple[NamespaceView, ...]:
        """Verdicts on the Namespaces among the manifests."""
        return tuple(self._namespaces.views)

    def run(self, manifests: Iterable[Manifest]) -> None:
        """Judge everything; Namespaces first, since their policy holds for the rest."""
        ordered = list(manifests)
        self._namespaces.take(ordered, self.faults)
        for manifest in ordered:
            if manifest.kind == "Namespace" and not manifest.group:
                continue
            self._judge(manifest)

    def _judge(self, manifest: Manifest) -> None:
        found: list[Fault] = []
        whole = whole_templates(manifest, found)
        self.faults.extend(located(manifest, found))
        if found and not whole:
            return
        refusal = self._namespaces.refusal(manifest.namespace)
        if refusal is not None:
            admission = refusal
        elif manifest.kind == "Pod" and not manifest.group:
            admitted = admit(bare_pod(manifest), self._world)
            self.faults.extend(located(manifest, admitted.faults))
            if admitted.unreadable:
                return
            admission = admitted.admission
        else:
            known = len(self.faults)
            admission = judge_templates(manifest, self._world, self.faults)
            if admission.allowed and len(self.faults) > known:
                return
        self.views.append(
            CheckView(
                namespace=manifest.namespace,
                name=manifest.name,
                kind=manifest.kind,
                owner=bare_pod(manifest).owner if manifest.kind == "Pod" else None,
                source=manifest.source,
                admission=admission_view(admission),
            )
        )
