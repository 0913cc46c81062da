"""A live state with nodes, holders and pods that wait, and the view over it."""

from typing import Any

from gpusched.core.pod import Pod
from gpusched.core.read_cluster import read_node
from gpusched.core.read_pod import read_pod
from gpusched.policy.model import Config
from gpusched.serve.explaining.explainer import Explainer
from gpusched.serve.live_cluster import LiveCluster
from gpusched.serve.view.answers import View
from gpusched.serve.view.refusals import Refusals
from gpusched.serve.view.workloads import Workloads
from gpusched.state.events import Gone, Kind, Upsert
from gpusched.state.read_namespace import read_namespace
from tests.build import bound, h100_node, namespace, pod, t4_node
from tests.serve.explaining.scene import beside

Tree = dict[str, Any]


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Scene:
    """Two teams on a time-sliced T4 and an H100; `trees` are the pods as the API server has them."""

    def __init__(self) -> None:
        self.cluster = LiveCluster(Config())
        self.clock = Clock()
        self.trees: dict[tuple[str, str], Tree] = {}
        self.fetched: list[str] = []
        self.problem: str | None = None
        self.refusals = Refusals(self.clock)
        self.others: list[Tree] = []
        self.failed: list[str] = []
        self.explainer = Explainer(
            self.cluster, self._fetch, self._beside, self.clock, lambda pod: self.failed.append(pod.name)
        )
        self.workloads: dict[tuple[str, str, str], Tree] = {}
        #: FailedCreate events; None where the API server lists none.
        self.events: list[Tree] | None = []
        self.listed: list[str] = []
        self.silent = False
        about = Workloads(self.cluster, self.explainer, self._workload, self._events, self.clock, self.failed.append)
        self.view = View(self.cluster, self.explainer, about, self.refusals, lambda: self.problem)
        for name in ("team-a", "team-b"):
            self.namespace(namespace(name))
        self.node(t4_node("t4", gpus=1, replicas=4))
        self.node(h100_node("h100", gpus=2))
        self.hold("nb", "team-a", "t4", annotations={"gpusched.io/gpu-memory": "3Gi"})
        self.hold("train", "team-b", "h100", gpus=2)
        self.cluster.settle_labels()

    def node(self, tree: Tree) -> None:
        self.cluster.apply(Upsert(read_node(tree, [])))

    def namespace(self, tree: Tree) -> None:
        self.cluster.apply(Upsert(read_namespace(tree, [])))

    def lose(self, name: str) -> None:
        self.cluster.apply(Gone(Kind.NODE, name))

    def hold(self, name: str, team: str, node: str, **asked: Any) -> None:
        self.put(bound(pod(name, team, **asked), node))

    def wait(self, name: str, team: str, **asked: Any) -> None:
        tree = pod(name, team, **asked)
        tree["metadata"] |= {"uid": f"uid-{team}-{name}", "creationTimestamp": "2026-01-01T00:00:00Z"}
        self.put(tree)

    def put(self, tree: Tree) -> None:
        about = tree["metadata"]
        self.trees[about["namespace"], about["name"]] = tree
        self.cluster.apply(Upsert(read_pod(tree, [])))

    async def _fetch(self, team: str, name: str) -> tuple[int, object]:
        self.fetched.append(f"{team}/{name}")
        found = self.trees.get((team, name))
        return (404, None) if found is None else (200, found)

    async def _workload(self, kind: str, team: str, name: str) -> tuple[int, object]:
        if self.silent:
            return 0, None
        found = self.workloads.get((kind, team, name))
        return (404, None) if found is None else (200, found)

    async def _events(self, team: str) -> list[Tree] | None:
        self.listed.append(team)
        if self.events is None:
            return None
        return [tree for tree in self.events if team in {"", tree["metadata"]["namespace"]}]

    async def _beside(self, node: str) -> tuple[Pod, ...] | None:
        if self.silent:
            return None
        return await beside(self.others)(node)
