"""What was decided about one object, as a record: names, codes and the sentence of a refusal, never bodies."""

from collections.abc import Callable

import msgspec


class Decision(msgspec.Struct, frozen=True):
    """One decision.

    `verb` is mutate, validate, filter, prioritize, preempt or bind. `code` is a refusal's stable code, or what stands
    for success: `allowed`, `fits`, `scored`, `kept`, `bound`. `asked` and `kept` count nodes. `findings` are pairs of
    code and mode (enforce, warn, audit) of an admission. `message` is the sentence of a refusal by admission. `dry_run`
    tells that nothing would have come of it. `workload` is kind and name of what makes the object under review, such
    as `Deployment/web`, empty where nothing does.
    """

    verb: str
    namespace: str = ""
    name: str = ""
    uid: str = ""
    code: str = ""
    kind: str = "Pod"
    node: str = ""
    asked: int = 0
    kept: int = 0
    findings: tuple[tuple[str, str], ...] = ()
    message: str = ""
    dry_run: bool = False
    workload: str = ""


Observer = Callable[[Decision], None]
"""Is told of each decision once, before its answer leaves."""


def unobserved(_: Decision) -> None:
    """The observer of calls that nobody watches."""
