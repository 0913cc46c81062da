"""The text of a preflight: what is there, what would change, and what stands in the way."""

from collections.abc import Iterable, Iterator

from gpusched.cli.doctor import problem_text
from gpusched.cli.paragraphs import paragraph
from gpusched.cli.style import Colour, Style
from gpusched.cli.text_width import counted
from gpusched.core.names import EXEMPT_LABEL, GPU_LESS_LABEL, PREFIX
from gpusched.doctor.preflight import Changes, NewPod, Placed, Preflight, Webhook

#: Nodes named of those that get the same labels.
_NAMED = 5
_AWAY = {"Fail": "they wait while gpusched is away", "Ignore": "they pass unjudged while gpusched is away"}
_FURTHER = (
    "where a policy asks for it new GPU pods get node affinity and the quota gate; gpusched notes on a pod that it has"
    " bound it; running pods stay as they are"
)


def preflight_text(found: Preflight, style: Style) -> str:
    """Everything, section by section."""
    sections = (
        ("WHAT IS THERE", _rows((fact.title, fact.text) for fact in found.there)),
        ("WHICH OVERLAY FITS", _rows([(f"overlays/{found.overlay.name}", found.overlay.why)])),
        ("WHAT INSTALLING IT CHANGES", _rows(_changes(found.changes))),
        ("PRESENT WORKLOADS", _rows(_workloads(found))),
    )
    parts = [f"{style.paint(title, Colour.STRONG)}\n{text}" for title, text in sections]
    heading = style.paint("WHAT STANDS IN THE WAY", Colour.STRONG)
    problems = [problem_text(problem, style, everything=False) for problem in found.problems]
    parts.append("\n".join([heading, *problems]) if problems else f"{heading}\n  nothing\n")
    return "\n".join(parts)


def _rows(rows: Iterable[tuple[str, str]]) -> str:
    """Titles in one column, those that repeat the one before left blank."""
    given = list(rows)
    width = max(len(title) for title, _ in given)
    lines: list[str] = []
    before = ""
    for title, text in given:
        lines += paragraph(f"  {'' if title == before else title:<{width}}  ", text)
        before = title
    return "".join(f"{line}\n" for line in lines)


def _changes(changes: Changes) -> Iterator[tuple[str, str]]:
    yield from (("objects", text) for text in _objects(changes.objects))
    yield from (("webhooks", text) for text in _webhooks(changes.webhooks))
    yield "", _scope(changes)
    for item in changes.labels:
        nodes = ", ".join(item.nodes[:_NAMED])
        more = f" and {len(item.nodes) - _NAMED} more" if len(item.nodes) > _NAMED else ""
        keys = ", ".join(key.removeprefix(PREFIX) for key in item.keys)
        yield "labels", f"{counted(len(item.nodes), 'node')} ({nodes}{more}): {PREFIX}… {keys}"
    if not changes.labels:
        yield "labels", "none: no node has GPUs, or all carry theirs"
    yield from (("new GPU pods", text) for text in _pods(changes.pods))
    if changes.second_scheduler:
        yield "new GPU pods", f"all: schedulerName {changes.second_scheduler}, where they name none"
    yield "further", _FURTHER


def _objects(objects: Iterable[Placed]) -> Iterator[str]:
    """One line for all of the cluster, one for each namespace, one for what gpusched makes at work."""
    groups: dict[tuple[str, str], dict[str, list[str]]] = {}
    for item in objects:
        name = f"{item.name} (there already)" if item.standing else item.name
        groups.setdefault((item.made_by, item.namespace), {}).setdefault(item.kind, []).append(name)
    for (made_by, namespace), kinds in groups.items():
        place = f"in {namespace}" if namespace else "of the cluster"
        listed = "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items())
        yield f"{place}{', made at work' if made_by == 'gpusched' else ''}: {listed}"


def _webhooks(webhooks: Iterable[Webhook]) -> Iterator[str]:
    """One line for those that hold requests up while gpusched is away, one for the others."""
    groups: dict[str, list[Webhook]] = {}
    for webhook in webhooks:
        groups.setdefault(webhook.failure_policy, []).append(webhook)
    for policy, several in groups.items():
        names = f"{several[0].name} sees" if len(several) == 1 else f"{len(several)} webhooks see"
        resources = list(dict.fromkeys(resource for webhook in several for resource in webhook.resources))
        native = [resource for resource in resources if "." not in resource]
        others = f" and {len(resources) - len(native)} resources of other API groups" if native != resources else ""
        yield f"{names} {', '.join(native)}{others}: {_AWAY.get(policy, policy)}"


def _scope(changes: Changes) -> str:
    """Which requests reach the webhooks at all."""
    exempt = dict.fromkeys(name for webhook in changes.webhooks for name in webhook.exempt)
    opted = f"in namespaces labelled {PREFIX}enabled=true" if changes.opt_in else "in all namespaces"
    return (
        f"only objects that name a GPU or carry {PREFIX} annotations, and all pods where the label"
        f" {GPU_LESS_LABEL}=true is; {opted} but {', '.join(exempt)} and those labelled {EXEMPT_LABEL}=true"
    )


def _pods(pods: Iterable[NewPod]) -> Iterator[str]:
    """One line for resources whose pods get the same."""
    groups: dict[str, list[str]] = {}
    for pod in pods:
        chosen = f"runtimeClassName {pod.runtime_class}" if pod.runtime_class else "no runtimeClassName"
        tolerations = f"tolerations {', '.join(pod.tolerations)}" if pod.tolerations else "no tolerations"
        reason = pod.why.partition(": ")[2]
        why = f" ({reason})" if reason else ""
        groups.setdefault(f"{chosen}{why}; {tolerations}", []).append(pod.resource)
    yield from (f"{', '.join(resources)}: {text}" for text, resources in groups.items())
    if not groups:
        yield "nothing: no node offers a GPU"


def _workloads(found: Preflight) -> Iterator[tuple[str, str]]:
    refused = sum(item.refused for item in found.violations)
    yield "judged", counted(found.judged, "object") + " with GPUs"
    yield "refused", f"{refused}{': see below' if refused else ''}"
    later = [
        f"{item.namespace} {item.code} {number}" for item in found.counts if (number := item.objects - item.refused)
    ]
    yield "if enforced", ", ".join(later) if later else "0 more"
