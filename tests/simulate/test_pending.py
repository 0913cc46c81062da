"""The situations of the end-to-end test of `why`, on a dump: the same code says the same, and its suggestions work."""

import copy

import pytest

from gpusched.simulate.admit import admit
from gpusched.simulate.apply_patch import apply_patch
from gpusched.simulate.expand import bare_pod
from gpusched.simulate.reasons.why import why_standing
from tests.build import Tree, bound, namespace
from tests.e2e.pending import SITUATIONS, Situation
from tests.e2e.suggested import changed
from tests.simulate.scene import manifest, only, world_of

_BY_OTHERS = ("Wait: ", "Uncordon ", "An admin may widen ")


def standing(situation: Situation) -> list[Tree]:
    """The cluster with the pod as admission left it."""
    where = situation.nodes[0]["metadata"]["name"]
    held = [bound(copy.deepcopy(tree), where) for tree in situation.held]
    for tree in held:
        if tree["metadata"]["name"] in situation.going:
            tree["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    before = [*situation.nodes, *held, namespace(**situation.policy)]
    admission = admit(bare_pod(manifest(situation.pod)), world_of(*before)).admission
    assert admission.allowed
    patched = apply_patch(situation.pod, admission.patch)
    later = situation.policy if situation.later is None else situation.later
    return [*situation.nodes, *held, namespace(**later), patched]


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_cause_and_the_suggestion(name):
    situation = SITUATIONS[name]
    cluster = standing(situation)
    waiting = why_standing(manifest(cluster[-1]), world_of(*cluster)).view.unschedulable

    assert waiting is not None
    assert {reason.code for reason in waiting.reasons} == situation.cause
    for suggestion in waiting.suggestion.split("; or "):
        if not suggestion.startswith(_BY_OTHERS):
            renewed = changed(situation.pod, suggestion)
            assert renewed is not None, suggestion
            assert only(cluster[:-1], renewed).placement is not None
