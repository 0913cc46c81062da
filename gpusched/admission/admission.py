"""What admission is told beside the object, and what it answers: refusals, warnings, audit annotations and a patch."""

from collections.abc import Iterable, Mapping

import msgspec

from gpusched.core.cluster_facts import ClusterFacts
from gpusched.core.codes import Code, Finding, Reason
from gpusched.core.resources import GpuResources
from gpusched.policy.model import Config
from gpusched.policy.resolution import Resolution


class Op(msgspec.Struct, frozen=True):
    """One RFC 6902 operation: `op` is add, replace or remove; `path` is a JSON pointer; a remove has no value."""

    op: str
    path: str
    value: object = msgspec.UNSET

    def as_json(self) -> dict[str, object]:
        """The operation as it stands in a JSON patch."""
        tree: dict[str, object] = {"op": self.op, "path": self.path}
        if self.value is not msgspec.UNSET:
            tree["value"] = self.value
        return tree


class Admission(msgspec.Struct, frozen=True):
    """The answer to one review. A refused object has no patch; `audit` are pairs of key and value."""

    allowed: bool = True
    refusals: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    audit: tuple[tuple[str, str], ...] = ()
    patch: tuple[Op, ...] = ()

    @property
    def code(self) -> Code | Reason | None:
        """The code of the first refusal, None when allowed."""
        return self.refusals[0].code if self.refusals else None

    @property
    def message(self) -> str:
        """The sentence of the first refusal, empty when allowed."""
        return self.refusals[0].message if self.refusals else ""


def joined(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Audit pairs with each key once: the API server keeps audit annotations in a map."""
    values: dict[str, dict[str, None]] = {}
    for key, value in pairs:
        values.setdefault(key, {})[value] = None
    return tuple((key, "; ".join(texts)) for key, texts in values.items())


class Context(msgspec.Struct, frozen=True):
    """What a pod is judged by.

    `operation` is CREATE or UPDATE. `controller` is the kind of the owner that made the pod, empty for a bare one.
    `template` is set when a workload's pod template is judged rather than a pod. `webhook` is set where the API server
    judges the same object too, so that mode off may leave its own rules to it. `around` are the annotations of the
    workload that the template stands in.
    """

    facts: ClusterFacts
    resolution: Resolution
    config: Config
    resources: GpuResources
    namespace: str = "default"
    operation: str = "CREATE"
    controller: str = ""
    template: bool = False
    webhook: bool = False
    around: Mapping[str, str] = {}
