"""`check`: admission alone, one verdict per object as it is applied."""

from collections import Counter
from collections.abc import Iterable

from gpusched.admission.templates import unknown_templates
from gpusched.simulate.admit import admit
from gpusched.simulate.expand import PlannedPod
from gpusched.simulate.manifest import InputFault, Manifest, located
from gpusched.simulate.namespaces import Namespaces
from gpusched.simulate.result import CheckView, NamespaceView, admission_view
from gpusched.simulate.workloads import has_templates, judge_templates
from gpusched.simulate.world import World


class Check:
    """Judges manifests one by one; `skipped` counts objects of kinds that have no pods."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._namespaces = Namespaces(world)
        self.views: list[CheckView] = []
        self.faults: list[InputFault] = []
        self.skipped: Counter[str] = Counter()

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
            if has_templates(manifest):
                self._judge(manifest)
            else:
                self._skip(manifest)

    def _judge(self, manifest: Manifest) -> None:
        refusal = self._namespaces.refusal(manifest.namespace)
        if refusal is not None:
            admission = refusal
        elif manifest.kind == "Pod" and not manifest.group:
            admitted = admit(PlannedPod(manifest, manifest.name, manifest.tree, None, ""), self._world)
            self.faults.extend(located(manifest, admitted.faults))
            admission = admitted.admission
        else:
            admission = judge_templates(manifest, self._world, self.faults)
        self.views.append(
            CheckView(
                namespace=manifest.namespace,
                name=manifest.name,
                kind=manifest.kind,
                owner=None,
                source=manifest.source,
                admission=admission_view(admission),
            )
        )

    def _skip(self, manifest: Manifest) -> None:
        self.skipped[manifest.kind] += 1
        for path in unknown_templates(manifest.tree, self._world.cluster.resources):
            message = f"{manifest.where} asks for GPUs here, but kind {manifest.kind} is not known: it is not judged"
            self.faults.append(InputFault(manifest.source, path, message))
