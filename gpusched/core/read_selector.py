"""Read label selectors, node selector terms and pod affinity terms from a JSON tree.

What the API server would refuse is a fault, and then selects nothing: a rule that cannot be read never widens a choice.
"""

from collections.abc import Mapping
from typing import Final

from gpusched.core.fields import Field
from gpusched.core.pod import PodAffinityTerm, SpreadConstraint
from gpusched.core.selector import NodeTerm, Operator, Requirement

_LABEL_OPERATORS: Final = (Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST)
_NODE_OPERATORS: Final = tuple(Operator)
_FIELD_OPERATORS: Final = (Operator.IN, Operator.NOT_IN)
_WITHOUT_VALUES: Final = frozenset({Operator.EXISTS, Operator.DOES_NOT_EXIST})
_SET_OPERATORS: Final = frozenset({Operator.IN, Operator.NOT_IN})


def read_label_selector(field: Field) -> tuple[Requirement, ...] | None:
    """A metav1 LabelSelector: None (absent or faulty) selects nothing, an empty tuple everything."""
    if not field.present:
        return None
    apart = Field(field.value, field.path)
    labels = apart.get("matchLabels").strings()
    found = [Requirement(key, Operator.IN, (labels[key],)) for key in sorted(labels)]
    found += _requirements(apart.get("matchExpressions"), _LABEL_OPERATORS)
    return None if _faulty(apart, field) else tuple(found)


def read_node_term(field: Field) -> NodeTerm:
    """A nodeSelectorTerm; a faulty one becomes the empty term, which matches no node."""
    apart = Field(field.value, field.path)
    expressions = _requirements(apart.get("matchExpressions"), _NODE_OPERATORS)
    matched = apart.get("matchFields")
    fields = _requirements(matched, _FIELD_OPERATORS)
    for requirement in fields:
        if requirement.key != "metadata.name":
            matched.fault(f'key "{requirement.key}" is not supported: write metadata.name')
        elif len(requirement.values) != 1:
            matched.fault("must have exactly one value for metadata.name")
    return NodeTerm() if _faulty(apart, field) else NodeTerm(tuple(expressions), tuple(fields))


def read_affinity_terms(field: Field, labels: Mapping[str, str]) -> tuple[PodAffinityTerm, ...]:
    """The required terms of a podAffinity or podAntiAffinity; `labels` are the pod's own, for matchLabelKeys."""
    return tuple(
        PodAffinityTerm(
            topology_key=_topology_key(term),
            selector=_merged(term, labels),
            namespaces=tuple(sorted({item.text() for item in term.get("namespaces").items()})),
            namespace_selector=read_label_selector(term.get("namespaceSelector")),
        )
        for term in field.get("requiredDuringSchedulingIgnoredDuringExecution").items()
    )


def read_spread(field: Field, labels: Mapping[str, str]) -> SpreadConstraint | None:
    """A topologySpreadConstraint; None when it is only a preference (ScheduleAnyway)."""
    when = field.get("whenUnsatisfiable")
    if when.text() == "ScheduleAnyway":
        return None
    if when.text() != "DoNotSchedule":
        when.fault(f'"{when.text()}" is not supported: write DoNotSchedule or ScheduleAnyway')
    max_skew = field.get("maxSkew")
    if max_skew.integer() < 1:
        max_skew.fault("must be 1 or more")
    return SpreadConstraint(
        max_skew=max(max_skew.integer(), 1),
        topology_key=_topology_key(field),
        selector=_merged(field, labels),
        min_domains=max(field.get("minDomains").integer(1), 1),
        honor_affinity=_honored(field.get("nodeAffinityPolicy"), "Honor"),
        honor_taints=_honored(field.get("nodeTaintsPolicy"), "Ignore"),
    )


def _faulty(apart: Field, field: Field) -> bool:
    """Hand over the faults of a part that was read on its own, and say whether there were any."""
    field.faults += [fault for fault in apart.faults if fault not in field.faults]
    return bool(apart.faults)


def _honored(field: Field, default: str) -> bool:
    text = field.text(default)
    if text not in {"Honor", "Ignore"}:
        field.fault(f'"{text}" is not supported: write Honor or Ignore')
    return text == "Honor"


def _topology_key(field: Field) -> str:
    key = field.get("topologyKey")
    if not key.text():
        key.fault("must not be empty: write a node label such as kubernetes.io/hostname")
    return key.text()


def _merged(field: Field, labels: Mapping[str, str]) -> tuple[Requirement, ...] | None:
    """The selector with matchLabelKeys and mismatchLabelKeys made requirements, as the API server does (KEP-3633).

    Keys that the pod itself does not carry are ignored, and nothing is merged into an absent selector.
    """
    selector = read_label_selector(field.get("labelSelector"))
    merged = list(selector or ())
    for name, operator in (("matchLabelKeys", Operator.IN), ("mismatchLabelKeys", Operator.NOT_IN)):
        for item in field.get(name).items():
            key = item.text()
            if key in labels:
                merged.append(Requirement(key, operator, (labels[key],)))
    return None if selector is None else tuple(dict.fromkeys(merged))


def _requirements(field: Field, operators: tuple[Operator, ...]) -> list[Requirement]:
    read = [_requirement(item, operators) for item in field.items()]
    return [requirement for requirement in read if requirement is not None]


def _requirement(field: Field, operators: tuple[Operator, ...]) -> Requirement | None:
    key, operator = field.get("key").text(), field.get("operator")
    values = field.get("values")
    texts = tuple(item.text() for item in values.items())
    if not key:
        field.get("key").fault("must not be empty: write a label key")
    if operator.text() not in operators:
        operator.fault(f'"{operator.text()}" is not supported: write one of {", ".join(operators)}')
        return None
    meant = Operator(operator.text())
    message = _value_fault(meant, texts)
    if message is not None:
        values.fault(message)
        return None
    return Requirement(key, meant, texts)


def _value_fault(operator: Operator, values: tuple[str, ...]) -> str | None:
    if operator in _SET_OPERATORS:
        return None if values else f"must list at least one value for operator {operator}"
    if operator in _WITHOUT_VALUES:
        return f"must be absent for operator {operator}" if values else None
    return None if len(values) == 1 else f"must have exactly one value for operator {operator}"
