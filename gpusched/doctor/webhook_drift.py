"""Compares webhook configurations with those that are released: what differs and matters."""

from collections.abc import Iterator, Mapping, Sequence

from gpusched.doctor.scene import Tree

#: Fields of a webhook that decide which requests reach gpusched and what happens while it is away. failurePolicy may
#: be Ignore by choice, which an overlay offers; where it differs it is told all the same.
_FIELDS = (
    "rules",
    "namespaceSelector",
    "objectSelector",
    "matchConditions",
    "failurePolicy",
    "timeoutSeconds",
    "matchPolicy",
    "reinvocationPolicy",
    "sideEffects",
)
#: What the API server fills in where a manifest says nothing (admissionregistration/v1 defaults.go).
_DEFAULTS: Mapping[str, object] = {
    "namespaceSelector": {},
    "objectSelector": {},
    "matchConditions": [],
    "failurePolicy": "Fail",
    "timeoutSeconds": 10,
    "matchPolicy": "Equivalent",
    "reinvocationPolicy": "Never",
}


def drift(standing: Sequence[Tree], shipped: Sequence[Tree]) -> Iterator[tuple[str, str]]:
    """Subject and sentence for every difference."""
    there = {_key(tree): tree for tree in standing}
    for tree in shipped:
        subject = f"{str(tree.get('kind')).lower()}/{_key(tree)[1]}"
        found = there.get(_key(tree))
        if found is None:
            yield subject, "is not there"
            continue
        yield from ((subject, sentence) for sentence in _webhooks(_by_name(found), _by_name(tree)))


def _webhooks(standing: Mapping[str, Tree], shipped: Mapping[str, Tree]) -> Iterator[str]:
    for name in sorted(shipped.keys() - standing.keys()):
        yield f"webhook {name} is missing"
    for name in sorted(standing.keys() - shipped.keys()):
        yield f"webhook {name} is none of this version's"
    for name in sorted(shipped.keys() & standing.keys()):
        differing = [field for field in _FIELDS if _value(standing[name], field) != _value(shipped[name], field)]
        if differing:
            yield f"webhook {name} differs in {', '.join(differing)}"


def _value(webhook: Tree, field: str) -> object:
    value = webhook.get(field, _DEFAULTS.get(field))
    if field == "rules" and isinstance(value, list):
        return [{"scope": "*"} | dict(rule) for rule in value if isinstance(rule, Mapping)]
    if field == "matchConditions" and isinstance(value, list):
        return [{key: " ".join(str(text).split()) for key, text in dict(item).items()} for item in value]
    return value


def _key(tree: Tree) -> tuple[str, str]:
    metadata = tree.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return str(tree.get("kind")), str(name)


def _by_name(tree: Tree) -> dict[str, Tree]:
    hooks = tree.get("webhooks")
    found = [hook for hook in hooks if isinstance(hook, Mapping)] if isinstance(hooks, list) else []
    return {str(hook.get("name")): hook for hook in found}
