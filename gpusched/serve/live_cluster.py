"""The cluster state of a running service: its configuration can change, and labels on nodes come in time."""

from gpusched.core.node import Node
from gpusched.core.resources import GpuResources
from gpusched.dialects.labels import gpusched_labels
from gpusched.policy.model import Config
from gpusched.state.cluster import Cluster


class LiveCluster(Cluster):
    """`Cluster` before the first labels: affinity relies on them once all GPU nodes have carried theirs."""

    def __init__(self, config: Config) -> None:
        super().__init__(config, labelled=False)
        self._unlabelled: set[str] = set()

    @property
    def labelled(self) -> bool:
        """Whether affinity relies on the labels; once true it stays so."""
        return self._labelled

    def note_labels(self, name: str) -> None:
        """Look whether a node that was seen, or is gone, carries its labels."""
        state = self.nodes.get(name)
        if state is None or _carries_labels(state.node):
            self._unlabelled.discard(name)
        else:
            self._unlabelled.add(name)

    def settle_labels(self) -> bool:
        """Rely on the labels if no node lacks any; to be asked once all nodes were seen."""
        if not self._labelled and not self._unlabelled:
            self._labelled = True
            self._forget_derived()
            self.generation += 1
        return self._labelled

    def configure(self, config: Config) -> bool:
        """Take over a configuration. True means that other pods may be GPU pods now: list pods anew."""
        renamed = config.resources != self.config.resources
        self.config = config
        self._forget_derived()
        if renamed:
            self.resources = GpuResources({item.name: item.vendor for item in config.resources})
            self._refresh_nodes()
            for key, record in list(self.pods.items()):
                self.books.see(key, record.pod)
        self.generation += 1
        return renamed


def _carries_labels(node: Node) -> bool:
    return all(node.object.labels.get(key) == value for key, value in gpusched_labels(node).items())
