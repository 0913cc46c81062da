import pytest

from gpusched.core.codes import Reason
from gpusched.core.pod import PodSpec
from gpusched.core.selector import NodeTerm, Operator, Requirement
from gpusched.native.affinity import named_nodes, node_affinity_reason
from tests.native.records import make_node

IN, GT, ABSENT = Operator.IN, Operator.GT, Operator.DOES_NOT_EXIST
A100 = NodeTerm((Requirement("gpu", IN, ("a100",)),))
BIG = NodeTerm((Requirement("mib", GT, ("40959",)),))
NAMED = NodeTerm(fields=(Requirement("metadata.name", IN, ("n1",)),))
NODE = make_node("n1", {"gpu": "a100", "mib": "40960"})


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        (PodSpec(), True),
        (PodSpec(node_selector={"gpu": "a100"}), True),
        (PodSpec(node_selector={"gpu": "h100"}), False),
        (PodSpec(node_selector={"absent": ""}), False),
        (PodSpec(node_affinity=(A100,)), True),
        (PodSpec(node_affinity=(BIG,)), True),
        (PodSpec(node_affinity=()), False),
        (PodSpec(node_affinity=(NodeTerm(),)), False),
        (PodSpec(node_affinity=(NodeTerm(), A100)), True),
        (PodSpec(node_affinity=(NodeTerm((Requirement("gpu", ABSENT),)), NAMED)), True),
        (PodSpec(node_affinity=(NodeTerm((Requirement("gpu", ABSENT),), NAMED.fields),)), False),
        (PodSpec(node_selector={"gpu": "h100"}, node_affinity=(A100,)), False),
    ],
)
def test_node_selector_and_any_required_term_must_match(spec: PodSpec, fits: bool) -> None:
    assert node_affinity_reason(spec, NODE) == (None if fits else Reason.NATIVE_AFFINITY)


def named(*names: str) -> NodeTerm:
    return NodeTerm(fields=(Requirement("metadata.name", IN, names),))


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (None, None),
        ((), None),
        ((A100,), None),
        ((NAMED,), {"n1"}),
        ((NAMED, named("n2")), {"n1", "n2"}),
        ((NAMED, A100), None),
        ((NodeTerm(A100.expressions, NAMED.fields),), {"n1"}),
        ((NodeTerm(fields=(*named("n1", "n2").fields, *named("n2").fields)),), {"n2"}),
        ((NodeTerm(fields=(*named("n1").fields, *named("n2").fields)),), set()),
    ],
)
def test_nodes_that_every_term_names(terms: tuple[NodeTerm, ...] | None, expected: set[str] | None) -> None:
    assert named_nodes(PodSpec(node_affinity=terms)) == expected
