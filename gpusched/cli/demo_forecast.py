"""Compares what became of the demo's workloads with what `simulate` foresees for the same files."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from gpusched.local.demo import Fate
from gpusched.simulate.result import PodView

_REFUSED: Final = "refused"
_GATED: Final = "gated"
_PENDING: Final = "pending"
#: Where a pod without a GPU goes is up to kube-scheduler, which draws lots among equals.
_SOMEWHERE: Final = "some node"
_Workload = tuple[str, str, str]


def surprises(foreseen: Iterable[PodView], fates: Iterable[Fate]) -> list[str]:
    """One line for each workload that fared otherwise than foreseen."""
    forecast: dict[_Workload, list[PodView]] = {}
    for view in foreseen:
        kind, _, name = (view.owner or f"Pod/{view.name}").partition("/")
        forecast.setdefault((view.namespace, kind.lower(), name), []).append(view)
    lines = []
    for fate in fates:
        target = fate.applied.target
        views = forecast.get((target.namespace, target.kind, target.name), [])
        wanted = Counter(_foreseen(view) for view in views)
        found = _found(fate, free=any(view.placement and not view.placement.resources for view in views))
        if wanted != found:
            lines.append(f"{target.kind}/{target.name}: foreseen {_text(wanted)}; came {_text(found)}")
    return lines


def _foreseen(view: PodView) -> str:
    if not view.admission.allowed:
        return _REFUSED
    if view.placement is not None:
        return view.placement.node if view.placement.resources else _SOMEWHERE
    return _GATED if view.gated is not None else _PENDING


def _found(fate: Fate, *, free: bool) -> Counter[str]:
    if not fate.applied.answer.ok:
        return Counter({_REFUSED: fate.applied.wanted})
    return Counter(
        (_SOMEWHERE if free else pod.node) if pod.node else _GATED if pod.gates else _PENDING for pod in fate.pods
    )


def _text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {word}" for word, count in sorted(counts.items())) or "nothing"
