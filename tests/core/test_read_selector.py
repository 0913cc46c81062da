from typing import Any

import pytest

from gpusched.core.fault import Fault
from gpusched.core.fields import Field
from gpusched.core.pod import PodAffinityTerm, SpreadConstraint
from gpusched.core.read_selector import read_affinity_terms, read_label_selector, read_node_term, read_spread
from gpusched.core.selector import NodeTerm, Operator, Requirement


def expression(key: object, operator: object, *values: object) -> dict[str, object]:
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def test_label_selectors() -> None:
    selector = {
        "matchLabels": {"b": "2", "a": "1"},
        "matchExpressions": [expression("c", "NotIn", "x", "y"), expression("d", "Exists")],
    }

    assert read_label_selector(Field(selector)) == (
        Requirement("a", Operator.IN, ("1",)),
        Requirement("b", Operator.IN, ("2",)),
        Requirement("c", Operator.NOT_IN, ("x", "y")),
        Requirement("d", Operator.EXISTS),
    )


@pytest.mark.parametrize(("value", "selector"), [(None, None), ({}, ()), ({"matchLabels": None}, ())])
def test_an_absent_selector_matches_nothing_and_an_empty_one_everything(value: object, selector: object) -> None:
    assert read_label_selector(Field(value)) == selector


def test_node_terms() -> None:
    term = {
        "matchExpressions": [expression("mem", "Gt", "40000")],
        "matchFields": [expression("metadata.name", "In", "n1")],
    }

    assert read_node_term(Field(term)) == NodeTerm(
        expressions=(Requirement("mem", Operator.GT, ("40000",)),),
        fields=(Requirement("metadata.name", Operator.IN, ("n1",)),),
    )


@pytest.mark.parametrize(
    ("bad", "path", "message"),
    [
        (
            expression("a", "Equals", "1"),
            "operator",
            '"Equals" is not supported: write one of In, NotIn, Exists, DoesNotExist, Gt, Lt',
        ),
        (expression("a", "In"), "values", "must list at least one value for operator In"),
        (expression("a", "Exists", "1"), "values", "must be absent for operator Exists"),
        (expression("a", "Gt", "1", "2"), "values", "must have exactly one value for operator Gt"),
        (expression("", "Exists"), "key", "must not be empty: write a label key"),
        (
            expression("a", "In", 8),
            "values[0]",
            "must be a string, but YAML reads it as the number 8: put it in quotes as it was written",
        ),
    ],
)
def test_a_faulty_term_matches_no_node(bad: dict[str, object], path: str, message: str) -> None:
    term = Field({"matchExpressions": [expression("fine", "Exists"), bad]}, "term")

    assert read_node_term(term) == NodeTerm()
    assert term.faults == [Fault(f"term.matchExpressions[1].{path}", message)]


@pytest.mark.parametrize(
    "bad",
    [
        expression("metadata.uid", "In", "x"),
        expression("metadata.name", "In", "x", "y"),
        expression("metadata.name", "Exists"),
    ],
)
def test_node_fields_are_names_only(bad: dict[str, object]) -> None:
    term = Field({"matchFields": [bad]})

    assert read_node_term(term) == NodeTerm()
    assert len(term.faults) == 1


def test_a_faulty_selector_matches_nothing_even_when_its_fault_is_known_already() -> None:
    faults: list[Fault] = []
    bad = {"matchExpressions": [expression("a", "Gt", "1")]}

    assert read_label_selector(Field(bad, "s", faults)) is None
    assert read_label_selector(Field(bad, "s", faults)) is None
    assert [fault.path for fault in faults] == ["s.matchExpressions[0].operator"]


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def test_pod_affinity_terms_merge_the_pods_own_labels() -> None:
    affinity = {
        REQUIRED: [
            {
                "topologyKey": "zone",
                "labelSelector": {"matchLabels": {"app": "x"}},
                "matchLabelKeys": ["version", "absent"],
                "mismatchLabelKeys": ["tenant"],
                "namespaces": ["b", "a"],
                "namespaceSelector": {},
            },
            {"topologyKey": "zone", "matchLabelKeys": ["version"]},
        ]
    }
    labels = {"version": "2", "tenant": "t", "app": "x"}

    assert read_affinity_terms(Field(affinity), labels) == (
        PodAffinityTerm(
            topology_key="zone",
            selector=(
                Requirement("app", Operator.IN, ("x",)),
                Requirement("version", Operator.IN, ("2",)),
                Requirement("tenant", Operator.NOT_IN, ("t",)),
            ),
            namespaces=("a", "b"),
            namespace_selector=(),
        ),
        PodAffinityTerm(topology_key="zone", selector=None),
    )


def test_merging_again_what_the_api_server_merged_changes_nothing() -> None:
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchExpressions": [expression("version", "In", "2")]},
        "matchLabelKeys": ["version"],
    }

    (read,) = read_affinity_terms(Field({REQUIRED: [term]}), {"version": "2"})

    assert read.selector == (Requirement("version", Operator.IN, ("2",)),)


def spread(**extra: Any) -> dict[str, Any]:
    return {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"} | extra


def test_spread_constraints() -> None:
    faults: list[Fault] = []
    full = spread(
        labelSelector={"matchLabels": {"app": "x"}},
        matchLabelKeys=["hash"],
        minDomains=3,
        nodeAffinityPolicy="Ignore",
        nodeTaintsPolicy="Honor",
    )

    assert read_spread(Field(full, "", faults), {"hash": "h"}) == SpreadConstraint(
        max_skew=2,
        topology_key="zone",
        selector=(Requirement("app", Operator.IN, ("x",)), Requirement("hash", Operator.IN, ("h",))),
        min_domains=3,
        honor_affinity=False,
        honor_taints=True,
    )
    assert read_spread(Field(spread(), "", faults), {}) == SpreadConstraint(2, "zone", None)
    assert read_spread(Field(spread(whenUnsatisfiable="ScheduleAnyway"), "", faults), {}) is None
    assert faults == []


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"maxSkew": 0}, "maxSkew"),
        ({"topologyKey": ""}, "topologyKey"),
        ({"whenUnsatisfiable": "Maybe"}, "whenUnsatisfiable"),
        ({"nodeTaintsPolicy": "Yes"}, "nodeTaintsPolicy"),
    ],
)
def test_faulty_spread_constraints_still_hold(change: dict[str, object], path: str) -> None:
    field = Field(spread(**change))

    assert read_spread(field, {}) is not None
    assert [fault.path for fault in field.faults] == [path]
