"""What `simulate` prints for people: one line per group of like pods, then reasons, then the GPUs that are left."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from gpusched.cli.nodes_table import nodes_table
from gpusched.cli.style import Colour, Style
from gpusched.cli.tables import Cell, render
from gpusched.simulate.result import AdmissionView, PodView, SimulateResult
from gpusched.simulate.run import Simulation

#: What a patch operation is about, by the start of its path.
_PATCHED = (
    ("/spec/runtimeClassName", "runtimeClassName"),
    ("/spec/tolerations", "tolerations"),
    ("/spec/affinity", "affinity"),
    ("/spec/schedulingGates", "quota gate"),
    ("/spec/containers", "env"),
    ("/spec/initContainers", "env"),
)


def simulate_table(result: SimulateResult, simulation: Simulation, style: Style, *, explain: bool) -> str:
    """The whole text."""
    parts = [_pods(result.pods, style)] if result.pods else ["no pods in the manifests\n"]
    refused = [view for view in result.namespaces if not view.admission.allowed]
    parts.extend(f"namespace {view.name} refused: {view.admission.message}\n" for view in refused)
    if explain:
        parts.append(explanations(result.pods))
        gpu_nodes = [state for state in simulation.world.cluster.nodes.values() if state.node.pools or state.node.notes]
        if gpu_nodes:
            parts.append("\n" + nodes_table(gpu_nodes, style))
    counts = result.summary
    parts.append(
        f"\n{counts.pods} pods: {counts.placed} placed, {counts.denied} refused, "
        f"{counts.unschedulable} unschedulable, {counts.gated} gated\n"
    )
    return "".join(parts)


def _pods(pods: Sequence[PodView], style: Style) -> str:
    rows = [_row(list(group)) for _, group in groupby(pods, key=_likeness)]
    return render(("NAMESPACE", "WORKLOAD", "PODS", "RESULT", "WHERE AND WHY"), rows, style=style)


def _likeness(pod: PodView) -> object:
    """Pods of one owner with the same outcome share a line."""
    verdict = "placed" if pod.placement else pod.unschedulable or pod.gated or pod.admission.message
    return (pod.source, pod.namespace, pod.owner or pod.name, verdict, pod.admission.patch == (), pod.notes)


def _row(group: list[PodView]) -> list[str | Cell]:
    first = group[0]
    kind, _, owner = (first.owner or f"Pod/{first.name}").partition("/")
    return [first.namespace, f"{kind.lower()}/{owner}", str(len(group)), _result(first), _why(group)]


def _result(pod: PodView) -> Cell:
    if not pod.admission.allowed:
        return Cell("refused", Colour.BAD)
    if pod.placement is not None:
        return Cell("placed", Colour.GOOD)
    if pod.gated is not None:
        return Cell("gated", Colour.WARNING)
    return Cell("unschedulable", Colour.BAD) if pod.unschedulable is not None else Cell("no pods", Colour.WARNING)


def _why(group: list[PodView]) -> str:
    first = group[0]
    if not first.admission.allowed:
        return f"{first.admission.code}: {first.admission.message}"
    if first.unschedulable is not None:
        return first.unschedulable.suggestion
    if first.gated is not None:
        return "waits for the namespace's quota" if first.gated == "quota" else f"scheduling gate {first.gated}"
    nodes = Counter(pod.placement.node for pod in group if pod.placement is not None)
    where = ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in nodes.items())
    patched = patched_fields(first.admission)
    return "; ".join(part for part in (where, f"added {', '.join(patched)}" if patched else "") if part)


def patched_fields(admission: AdmissionView) -> list[str]:
    """What the patch adds, in words."""
    paths = [str(op.get("path", "")) for op in admission.patch]
    return list(dict.fromkeys(word for start, word in _PATCHED if any(path.startswith(start) for path in paths)))


def explanations(pods: Sequence[PodView]) -> str:
    """Reasons, warnings and notes, once for pods of which the same is to be said."""
    lines: list[str] = []
    for _, group in groupby(pods, key=lambda pod: (pod.namespace, pod.owner or pod.name, tuple(_details(pod)))):
        first = next(iter(group))
        details = _details(first)
        if details:
            lines.extend(["", f"{first.namespace}/{first.name}", *(f"  {detail}" for detail in details)])
    return "\n".join(lines) + "\n" if lines else ""


def _details(pod: PodView) -> list[str]:
    details = []
    if not pod.admission.allowed:
        details.append(f"refused  {pod.admission.code}: {pod.admission.message}")
    if pod.unschedulable is not None:
        width = max((len(reason.code) for reason in pod.unschedulable.reasons), default=0)
        details.extend(
            f"{reason.nodes:>3} {'node ' if reason.nodes == 1 else 'nodes'}  {reason.code:<{width}}  {reason.message}"
            for reason in pod.unschedulable.reasons
        )
        details.append(f"change   {pod.unschedulable.suggestion}")
    details.extend(f"warning  {warning.code}: {warning.message}" for warning in pod.admission.warnings)
    details.extend(f"note     {note}" for note in pod.notes)
    return details
