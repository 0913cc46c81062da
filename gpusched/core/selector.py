"""Label requirements as Kubernetes evaluates them, for node affinity, pod affinity and `node-selector`."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec


class Operator(StrEnum):
    """Operators of node selector requirements (core/v1 NodeSelectorOperator)."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


def _integer(text: str) -> int | None:
    """Parse as Go's strconv.ParseInt(text, 10, 64) does: optional sign, ASCII digits, 64 bits."""
    digits = text[1:] if text[:1] in "+-" and text else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 19:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


class Requirement(msgspec.Struct, frozen=True, gc=False):
    """One requirement on a label (or, in matchFields, on metadata.name)."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Evaluate on labels. Rule: apimachinery labels.Requirement.Matches; Gt, Lt are strict and need integers."""
        present = self.key in labels
        match self.operator:
            case Operator.EXISTS:
                return present
            case Operator.DOES_NOT_EXIST:
                return not present
            case Operator.IN:
                return present and labels[self.key] in self.values
            case Operator.NOT_IN:
                return not present or labels[self.key] not in self.values
            case _:
                return present and self._compares(labels[self.key])

    def _compares(self, value: str) -> bool:
        have, bound = _integer(value), _integer(self.values[0]) if len(self.values) == 1 else None
        if have is None or bound is None:
            return False
        return have > bound if self.operator is Operator.GT else have < bound

    def __str__(self) -> str:
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN if len(self.values) == 1:
                return f"{self.key}={self.values[0]}"
            case Operator.NOT_IN if len(self.values) == 1:
                return f"{self.key}!={self.values[0]}"
            case _:
                return f"{self.key} {self.operator.lower()} ({','.join(self.values)})"


def all_match(requirements: tuple[Requirement, ...], labels: Mapping[str, str]) -> bool:
    """Whether every requirement holds; true for none (an empty label selector matches everything)."""
    return all(requirement.matches(labels) for requirement in requirements)


class NodeTerm(msgspec.Struct, frozen=True, gc=False):
    """One nodeSelectorTerm: expressions over labels AND fields over metadata.name. An empty term matches nothing."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Rule: component-helpers nodeaffinity, where a term without any requirement never matches."""
        if not self.expressions and not self.fields:
            return False
        return all_match(self.expressions, labels) and all_match(self.fields, {"metadata.name": name})
