"""What callers are told of quotas."""

import msgspec
import pytest

from gpusched.serve.view.access import Scope
from tests.build import namespace
from tests.serve.view.scene import Scene

pytestmark = pytest.mark.anyio


async def test_quota_of_the_namespaces_that_the_caller_may_read() -> None:
    scene = Scene()
    for name in ("team-a", "team-b"):
        scene.namespace(namespace(name, quota="turing=2, *=4", quota_gpu_memory="8Gi"))
    scene.wait("gated", "team-a", schedulingGates=[{"name": "gpusched.io/quota"}])
    scene.wait("late", "team-a")

    answer = msgspec.json.decode(await scene.view.quota(Scope(namespaces=frozenset({"team-a"}))))

    assert answer["namespaces"] == [
        {
            "namespace": "team-a",
            "enforced": True,
            "used": 1,
            "families": [
                {"family": "turing", "used": 1, "pending": 0, "limit": 2},
                {"family": "*", "used": 1, "pending": 1, "limit": 4},
            ],
            "memory_used_mib": 3072,
            "memory_pending_mib": 0,
            "memory_limit_mib": 8192,
            "gated": 1,
        }
    ]
