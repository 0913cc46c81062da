"""What `demo` prints: the server's answers as kubectl words them, where pods run, and why others wait."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from gpusched import __version__
from gpusched.cli.paragraphs import paragraph
from gpusched.cli.simulate_table import patched_fields
from gpusched.cli.style import Colour, Style
from gpusched.cli.tables import Cell, render
from gpusched.cli.text_width import counted, printable, wrap
from gpusched.local.api import Response
from gpusched.local.demo import Applied, Fate, Samples
from gpusched.simulate.result import AdmissionView

_PAGE: Final = 100
_INDENT: Final = "    "
_HEADERS: Final = ("NAMESPACE", "WORKLOAD", "PODS", "STATE", "NODE", "ADDED BY GPUSCHED")
_ENDPOINTS: Final = ("mutate", "validate", "filter", "prioritize", "bind")
_COLOURS: Final = {"Running": Colour.GOOD, "Succeeded": Colour.GOOD, "refused": Colour.BAD}


class _Status(msgspec.Struct, frozen=True):
    reason: str = ""


def opening_text(release: str, samples: Samples) -> str:
    """What there is before the workloads come."""
    nodes, namespaces = len(samples.nodes), sum(tree["kind"] == "Namespace" for tree in samples.surroundings)
    text = (
        f"Kubernetes {release}, {counted(nodes, 'fake node')}, {counted(namespaces, 'namespace')}, "
        f"gpusched {__version__}. {counted(len(samples.running), 'pod')} of the sample cluster run already: created "
        "with a nodeSelector for their node, so that kube-scheduler and gpusched have bound them too."
    )
    return "".join(f"{line}\n" for line in paragraph("", text))


def answers_text(source: str, applied: Sequence[Applied]) -> str:
    """What `kubectl apply` prints: warnings and successes in the order of the file, refusals at the end."""
    said, refused = [], []
    for each in applied:
        said += [f"Warning: {text}" for text in each.answer.warnings]
        if each.answer.ok:
            said.append(f"{'.'.join(filter(None, (each.kind.lower(), each.group)))}/{each.name} created")
        else:
            refused.append(_refusal(source, each.answer))
    lines = [f"$ kubectl apply -f {source}", *(line for text in [*said, *refused] for line in _folded(text))]
    return "\n" + "".join(f"{line}\n" for line in lines)


def fates_text(fates: Iterable[Fate], style: Style) -> str:
    """One line for each workload, and one more for each further state of its pods."""
    rows: list[list[str | Cell]] = []
    for fate in fates:
        about = fate.applied
        lead: list[str | Cell] = [about.namespace, f"{about.kind.lower()}/{about.name}"]
        added = ", ".join(patched_fields(_admission(fate)))
        if not about.answer.ok:
            rows.append([*lead, str(about.wanted), _state("refused"), "", ""])
        for state, count in Counter(pod.state for pod in fate.pods).items():
            nodes = Counter(pod.node for pod in fate.pods if pod.state == state and pod.node)
            where = ", ".join(name if number == 1 else f"{name} ×{number}" for name, number in nodes.items())
            rows.append([*lead, str(count), _state(state), where, added])
    return "\n" + render(_HEADERS, rows, style=style)


def waiting_text(fates: Iterable[Fate], events: Mapping[str, str]) -> str:
    """What Kubernetes itself says of each pod that waits: kube-scheduler's newest event by the pod's UID, or, where it
    has none since it never tried, the condition of the pod.
    """
    lines: list[str] = []
    for pod in (pod for fate in fates for pod in fate.pods if pod.waits):
        event = events.get(pod.uid)
        lines += ["", *paragraph("", f"{pod.namespace}/{pod.name}  {pod.state}")]
        lines += paragraph("  event      ", event) if event else paragraph("  condition  ", pod.message)
    return "".join(f"{line}\n" for line in lines)


def summary_text(fates: Sequence[Fate], unforeseen: Sequence[str], metric: Callable[..., float]) -> str:
    """Each pod counted once, whether it was foreseen, and who did it."""
    pods = [pod for fate in fates for pod in fate.pods]
    refused = sum(fate.applied.wanted for fate in fates if not fate.applied.answer.ok)
    running, gated = sum(bool(pod.node) for pod in pods), sum(bool(pod.gates) for pod in pods)
    pending = len(pods) - running - gated
    total = counted(len(pods) + refused, "pod")
    lines = [f"{total}: {running} running, {refused} refused, {pending} pending, {gated} gated"]
    requests = {name: int(metric("gpusched_requests_total", endpoint=f"/{name}")) for name in _ENDPOINTS}
    lines += paragraph(
        "",
        f"gpusched answered {', '.join(f'{count} {name}' for name, count in requests.items())} requests; "
        f"{counted(int(metric('gpusched_pods_bound_elsewhere_total')), 'GPU pod')} bound by anyone else",
    )
    if not unforeseen:
        lines += paragraph("", "gpusched simulate foresees the same of every workload, and the same nodes for GPU pods")
    for line in unforeseen:
        lines += paragraph("not as gpusched simulate foresees it: ", line)
    return "\n" + "".join(f"{line}\n" for line in lines)


def _refusal(source: str, answer: Response) -> str:
    """As kubectl words it (k8s.io/kubectl pkg/cmd/util/helpers.go, StandardErrorMessage and AddSourceToErr)."""
    reason = msgspec.convert(answer.tree, _Status).reason if isinstance(answer.tree, dict) else ""
    kind = f" ({reason})" if reason else ""
    return f'Error from server{kind}: error when creating "{source}": {answer.message}'


def _folded(text: str) -> list[str]:
    first, *rest = wrap(printable(text), _PAGE)
    further = wrap(" ".join(rest), _PAGE - len(_INDENT)) if rest else []
    return [first, *(_INDENT + line for line in further)]


def _state(state: str) -> Cell:
    return Cell(state, _COLOURS.get(state, Colour.WARNING))


def _admission(fate: Fate) -> AdmissionView:
    return AdmissionView(allowed=True, code=None, message=None, warnings=(), patch=fate.patch)
