"""What came is held against what was foreseen."""

import msgspec
import pytest

from gpusched.cli.demo_forecast import surprises
from gpusched.local.demo import Fate
from gpusched.simulate.result import AdmissionView, PlacementView, PodView, UnschedulableView
from tests.cli.demo_scene import GATED, PENDING, applied, fate, refusal, sighted

ALLOWED = AdmissionView(allowed=True, code=None, message=None, warnings=(), patch=())
REFUSED = msgspec.structs.replace(ALLOWED, allowed=False)


def foreseen(node: str = "", resources: dict[str, int] | None = None, **fields: object) -> PodView:
    placement = PlacementView(node, {"nvidia.com/gpu": 1} if resources is None else resources, 10) if node else None
    view = PodView("team-a", "train-0", "Job/train", "w.yaml:1", ALLOWED, placement=placement)
    return msgspec.structs.replace(view, **fields)


@pytest.mark.parametrize(
    ("views", "came"),
    [
        ([foreseen("a"), foreseen("b")], fate(applied(), sighted("1", node="b"), sighted("2", node="a"))),
        ([foreseen("a", {})], fate(applied(), sighted("1", node="b"))),
        ([foreseen(admission=REFUSED)] * 2, fate(applied(answer=refusal("no"), wanted=2))),
        ([foreseen(gated="quota")], fate(applied(), GATED)),
        ([foreseen(unschedulable=UnschedulableView((), ""))], fate(applied(), PENDING)),
        ([foreseen("a", owner=None, name="p")], fate(applied("Pod", "p"), sighted("p", node="a"))),
    ],
)
def test_as_foreseen(views: list[PodView], came: Fate) -> None:
    assert surprises(views, [came]) == []


@pytest.mark.parametrize(
    ("views", "came", "line"),
    [
        ([foreseen("a")] * 2, fate(applied(), sighted("1", node="a"), sighted("2", node="b")), "2 a; came 1 a, 1 b"),
        ([foreseen("a")], fate(applied(), PENDING), "1 a; came 1 pending"),
        ([foreseen("a")], fate(applied()), "1 a; came nothing"),
        ([foreseen(gated="quota")], fate(applied(), sighted("1", node="a")), "1 gated; came 1 a"),
        ([], fate(applied(answer=refusal("no"))), "nothing; came 1 refused"),
    ],
)
def test_otherwise_than_foreseen(views: list[PodView], came: Fate, line: str) -> None:
    assert surprises(views, [came]) == [f"job/train: foreseen {line}"]
