"""An API server that binds pods as told: answers are scripted, and can be held back."""

import asyncio
from collections import deque
from copy import deepcopy

from gpusched.serve.promise import Promise, Verdict
from tests.build import Tree


class FakeBindingApi:
    """`script` says how each binding ends; without one it is carried out. `lost` carries out what it says is unknown.

    `pods` is what a read shows, by namespace/name. A bind or a read waits for its gate when there is one.
    """

    def __init__(self, *pods: Tree) -> None:
        self.pods: dict[str, Tree] = {_key(tree): deepcopy(tree) for tree in pods}
        self.script: deque[tuple[Verdict, str]] = deque()
        self.carried_out_although_unknown = False
        self.unreachable = False
        self.bind_gate: asyncio.Event | None = None
        self.get_gate: asyncio.Event | None = None
        self.binds: list[tuple[str, str, str]] = []
        self.reads = 0
        self.touches = 0

    async def bind(self, promise: Promise) -> tuple[Verdict, str]:
        self.binds.append((promise.name, promise.uid, promise.node))
        if self.bind_gate is not None:
            await self.bind_gate.wait()
        await asyncio.sleep(0)
        if self.script:
            verdict, message = self.script.popleft()
            if verdict is Verdict.UNKNOWN and self.carried_out_although_unknown:
                self._carry_out(promise)
            return verdict, message
        return self._carry_out(promise)

    async def get_pod(self, namespace: str, name: str) -> tuple[int, object]:
        self.reads += 1
        if self.get_gate is not None:
            await self.get_gate.wait()
        await asyncio.sleep(0)
        if self.unreachable:
            return 0, None
        found = self.pods.get(f"{namespace}/{name}")
        return (404, None) if found is None else (200, deepcopy(found))

    async def touch_pod(self, promise: Promise) -> tuple[int, object]:
        self.touches += 1
        return await self.get_pod(promise.namespace, promise.name)

    def _carry_out(self, promise: Promise) -> tuple[Verdict, str]:
        found = self.pods.get(f"{promise.namespace}/{promise.name}")
        if found is None:
            return Verdict.REFUSED, f'pods "{promise.name}" not found'
        if found["metadata"]["uid"] != promise.uid:
            return Verdict.CONFLICT, "Precondition failed: UID in precondition"
        if found["spec"].get("nodeName"):
            return Verdict.CONFLICT, f"pod {promise.name} is already assigned to node"
        found["spec"]["nodeName"] = promise.node
        found["metadata"].setdefault("annotations", {})["status.gpusched.io/bound"] = promise.node
        return Verdict.BOUND, ""


def _key(tree: Tree) -> str:
    return f"{tree['metadata']['namespace']}/{tree['metadata']['name']}"
