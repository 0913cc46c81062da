"""Changes of a pod's own node selector and node affinity."""

from collections.abc import Iterator, Mapping
from typing import Final

from gpusched.core.catalogue import find
from gpusched.core.names import PREFIX
from gpusched.core.products import normalise
from gpusched.dialects.asked_keys import asked_keys, product_keys
from gpusched.simulate.admit import Candidate
from gpusched.simulate.remedies.change import Change, Loss
from gpusched.simulate.tree_edit import drop, put

_ANNOTATIONS: Final = ("metadata", "annotations")
_AFFINITY: Final = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_Tree = Mapping[str, object]


def selector_changes(tree: _Tree, candidate: Candidate) -> Iterator[Change]:
    """Selector entries one by one, then the required node affinity as a whole.

    A GPU model in one cloud's words is first replaced by gpusched's annotations, which hold on every cluster: the same
    product, then the family. Another product, or none, is other hardware.
    """
    selector = sorted(candidate.plain.node_selector.items())
    if candidate.request is not None:
        for key, value in selector:
            if key in product_keys():
                yield from _in_own_words(tree, candidate, key, value)
    for key, value in selector:
        yield Change(
            f"remove {key}: {value} from spec.nodeSelector",
            drop(tree, ("spec", "nodeSelector", key)),
            Loss.OTHER if key in asked_keys() else Loss.WISH,
        )
    terms = candidate.plain.node_affinity
    if terms is not None and not _of_daemonset(candidate):
        asked = any(part.key in asked_keys() for term in terms for part in term.expressions)
        loss = Loss.OTHER if asked else Loss.WISH
        yield Change("remove the required node affinity", drop(tree, _AFFINITY), loss)


def _of_daemonset(candidate: Candidate) -> bool:
    """Its controller writes the required node affinity of the pod anew, and pins the pod to one node by it."""
    owner = candidate.pod.owner
    return owner is not None and owner.kind == "DaemonSet"


def _in_own_words(tree: _Tree, candidate: Candidate, key: str, value: str) -> Iterator[Change]:
    card = find(value)
    if card is None:
        return
    without = drop(tree, ("spec", "nodeSelector", key))
    for name, wanted in (("products", normalise(value)), ("families", card.family)):
        annotation = PREFIX + name
        if annotation not in candidate.pod.annotations:
            yield Change(
                f"replace {key}: {value} in spec.nodeSelector by the annotation {annotation}: {wanted}",
                put(without, (*_ANNOTATIONS, annotation), wanted),
                Loss.OTHER if name == "families" else Loss.WISH,
            )
