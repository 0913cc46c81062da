"""Applied objects and their pods, as a control plane would have left them."""

from gpusched.local.api import Response
from gpusched.local.demo import Applied, Fate
from gpusched.local.demo_pods import Sighting

CREATED = Response(201, {})


def refusal(message: str, reason: str = "Forbidden") -> Response:
    return Response(403, {"kind": "Status", "reason": reason, "message": message})


def applied(kind: str = "Job", name: str = "train", answer: Response = CREATED, wanted: int = 1) -> Applied:
    group = {"Pod": "", "Job": "batch"}.get(kind, "apps")
    return Applied(group, kind, "team-a", name, wanted, answer)


def sighted(name: str, phase: str = "Running", **fields: object) -> Sighting:
    return Sighting("team-a", name, f"uid-{name}", phase, **fields)


def fate(about: Applied, *pods: Sighting, paths: tuple[str, ...] = ()) -> Fate:
    return Fate(about, pods, tuple({"op": "add", "path": path, "value": {}} for path in paths))


PENDING = sighted("big", "Pending", verdict="Unschedulable", message="0/1 nodes are available")
GATED = sighted("late", "Pending", gates=("gpusched.io/quota",), verdict="SchedulingGated", message="Blocked by gates")
