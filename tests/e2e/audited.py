"""What gpusched asked of the API server, from its audit log."""

import json
from pathlib import Path
from typing import Any

from gpusched.local.credentials import IDENTITIES

Right = tuple[str, str, str]
USER = IDENTITIES["gpusched"].user


def audit_policy() -> dict[str, object]:
    """Everything that gpusched asks for, reads too, and what others do not at all."""
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "rules": [{"level": "Metadata", "users": [USER], "omitStages": ["RequestReceived"]}, {"level": "None"}],
    }


def right(entry: Any) -> Right:
    """Group, resource and verb that the request of an entry needs."""
    about = entry["objectRef"]
    resource = "/".join(filter(None, [about["resource"], about.get("subresource")]))
    return about.get("apiGroup", ""), resource, entry["verb"]


def without_right(log: Path) -> list[Right]:
    """Rights that gpusched would have needed and did not have."""
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    return [
        right(entry)
        for entry in entries
        if entry.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid" and "objectRef" in entry
    ]
