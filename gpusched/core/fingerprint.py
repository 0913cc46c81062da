"""A short fingerprint of constraints: equal when they let the same GPUs through, whatever order or words they had."""

import json
from functools import lru_cache
from hashlib import sha256
from typing import Final

from gpusched.core.constraints import Constraints, MemoryBound

_LENGTH: Final = 12


@lru_cache(maxsize=1024)
def fingerprint(constraints: Constraints) -> str:
    """Twelve hexadecimal digits. The order of families (a preference) and how a bound was written do not count."""
    families, sharing = constraints.families, constraints.sharing
    meaning = {
        "families": None if families is None else sorted(set(families)),
        "products": sorted(sorted(set(side)) for side in constraints.products),
        "min-memory": _mib(constraints.min_memory),
        "max-memory": _mib(constraints.max_memory),
        "sharing": None if sharing is None else sorted(sharing),
        "min-cuda": constraints.min_cuda,
        "min-driver": constraints.min_driver,
        "node-selector": sorted(
            {
                (requirement.key, requirement.operator, tuple(sorted(set(requirement.values))))
                for requirement in constraints.node_selector
            }
        ),
    }
    return sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()[:_LENGTH]


def _mib(bound: MemoryBound | None) -> int | None:
    return None if bound is None else bound.mib
