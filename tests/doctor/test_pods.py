import pytest

from gpusched.doctor.examine import examine
from tests.build import bound, h100_node, pod
from tests.doctor.scenes import scene
from tests.simulate.scene import owned


@pytest.mark.parametrize(
    ("tree", "after"),
    [
        (pod("q"), "it has no controller: then it is gone and must be created again"),
        (owned(pod("q"), "StatefulSet", "q"), "its controller creates it anew"),
    ],
)
def test_what_becomes_of_a_pod_that_is_deleted(tree, after):
    cluster = [h100_node("h"), bound(pod("p"), "h"), bound(tree, "h", ours=False)]
    (problem,) = examine(scene(cluster))

    assert [sight.fix for sight in problem.sights] == [f"kubectl delete pod -n team-a q  # {after}"]
