"""What `simulate` prints for people: one line per group of like pods, then reasons, then the GPUs that are left."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from gpusched.cli.nodes_table import nodes_table
from gpusched.cli.paragraphs import paragraph
from gpusched.cli.style import Colour, Style
from gpusched.cli.tables import Cell, render
from gpusched.cli.text_width import counted
from gpusched.simulate.outcome import is_never
from gpusched.simulate.result import AdmissionView, PodView, ReasonView, SimulateResult
from gpusched.simulate.run import Simulation

#: What a patch operation is about, by the start of its path.
_PATCHED = (
    ("/spec/runtimeClassName", "runtimeClassName"),
    ("/spec/tolerations", "tolerations"),
    ("/spec/affinity", "affinity"),
    ("/spec/schedulerName", "scheduler"),
    ("/spec/schedulingGates", "quota gate"),
    ("/spec/containers", "env"),
    ("/spec/initContainers", "env"),
)

#: Nodes named in a row.
_NODES: Final = 6


def simulate_table(result: SimulateResult, simulation: Simulation, style: Style, *, explain: bool) -> str:
    """The whole text."""
    nothing = "no pod of the manifests could be read\n" if result.errors else "no pods in the manifests\n"
    parts = [_pods(result.pods, style) if result.pods else nothing]
    refused = [view for view in result.namespaces if not view.admission.allowed]
    for view in refused:
        lines = paragraph("", f"namespace {view.name} refused: {view.admission.message}")
        parts.extend(f"{line}\n" for line in lines)
    for view in result.namespaces:
        for warning in view.admission.warnings:
            lines = paragraph("", f"namespace {view.name} warning: {warning.code}: {warning.message}")
            parts.extend(f"{line}\n" for line in lines)
    if explain:
        parts.append(explanations(result.pods))
        cluster = simulation.world.cluster
        gpu_nodes = [state for state in cluster.nodes.values() if state.node.pools or state.node.notes]
        if gpu_nodes:
            parts.append("\n" + nodes_table(gpu_nodes, cluster, style))
    counts = result.summary
    parts.append(
        f"\n{counted(counts.pods, 'pod')}: {counts.placed} placed, {counts.denied} refused, "
        f"{counts.unschedulable} unschedulable, {counts.gated} gated\n"
    )
    return "".join(parts)


def _pods(pods: Sequence[PodView], style: Style) -> str:
    groups: dict[object, dict[object, list[PodView]]] = {}
    for pod in pods:
        workload = (pod.source, pod.namespace, _workload(pod))
        groups.setdefault(workload, {}).setdefault(_likeness(pod), []).append(pod)
    rows = [_row(group) for results in groups.values() for group in results.values()]
    return render(("NAMESPACE", "WORKLOAD", "PODS", "RESULT", "WHERE AND WHY"), rows, sentences=True, style=style)


def _likeness(pod: PodView) -> object:
    """Pods of one template with the same outcome share a line."""
    waiting = pod.unschedulable
    verdict = "placed" if pod.placement else pod.gated or pod.admission.message
    return (verdict, waiting.suggestion if waiting else "", pod.admission.patch == (), pod.notes)


def _row(group: list[PodView]) -> list[str | Cell]:
    first = group[0]
    return [first.namespace, _workload(first), str(len(group)), _result(first), _why(group)]


def _workload(pod: PodView) -> str:
    """Kind and name, and which template where the object has several, such as `raycluster/llm (head)`."""
    kind, _, owner = (pod.owner or f"Pod/{pod.name}").partition("/")
    template = "" if kind == "DaemonSet" else pod.name.removeprefix(f"{owner}-").rpartition("-")[0]
    named = f"{kind.lower()}/{owner}"
    return f"{named} ({template})" if template and pod.name.startswith(f"{owner}-") else named


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
        return _behind(first.gated, first)
    where = nodes_of(group)
    patched = patched_fields(first.admission)
    return "; ".join(part for part in (where, f"added {', '.join(patched)}" if patched else "") if part)


def _behind(gate: str, pod: PodView) -> str:
    if gate != "quota":
        return f"scheduling gate {gate}"
    return next(filter(is_never, pod.notes), "waits for the namespace's quota")


def nodes_of(group: Sequence[PodView]) -> str:
    """The nodes of pods with their numbers, such as `a, b ×2 and 3 more`."""
    nodes = Counter(pod.placement.node for pod in group if pod.placement is not None)
    where = ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in list(nodes.items())[:_NODES])
    return f"{where} and {len(nodes) - _NODES} more" if len(nodes) > _NODES else where


def patched_fields(admission: AdmissionView) -> list[str]:
    """What the patch adds, in words."""
    paths = [str(op.get("path", "")) for op in admission.patch]
    return list(dict.fromkeys(word for start, word in _PATCHED if any(path.startswith(start) for path in paths)))


def explanations(pods: Sequence[PodView]) -> str:
    """Reasons, warnings and notes, once for pods of which the same is to be said."""
    lines: list[str] = []
    told: set[object] = set()
    for pod in pods:
        details = tuple(_details(pod))
        key = (pod.namespace, pod.owner or pod.name, details)
        if details and key not in told:
            told.add(key)
            first = pod
            lines.extend(["", *paragraph("", f"{first.namespace}/{first.name}"), *details])
    return "\n".join(lines) + "\n" if lines else ""


def _details(pod: PodView) -> list[str]:
    details = []
    if not pod.admission.allowed:
        details += paragraph("  refused  ", f"{pod.admission.code}: {pod.admission.message}")
    if pod.unschedulable is not None:
        for lead, reason in reason_leads(pod.unschedulable.reasons):
            details += paragraph(lead, reason.message)
        details += paragraph("  change   ", pod.unschedulable.suggestion)
    for warning in pod.admission.warnings:
        details += paragraph("  warning  ", f"{warning.code}: {warning.message}")
    for note in pod.notes:
        details += paragraph("  note     ", note)
    return details


def reason_leads(reasons: Sequence[ReasonView]) -> Iterator[tuple[str, ReasonView]]:
    """What stands before the words of each reason: the number of nodes and the code, in columns."""
    width = max((len(reason.code) for reason in reasons), default=0)
    for reason in reasons:
        unit = "node " if reason.nodes == 1 else "nodes"
        yield f"  {reason.nodes:>3} {unit}  {reason.code:<{width}}  ", reason
