"""The little of kubectl that pages of the documentation use, on a local control plane; its words are kubectl's."""

from collections.abc import Iterator
from pathlib import Path

from gpusched.cli.demo_text import answers_text
from gpusched.local.demo import DemoCluster, Tree
from gpusched.local.installed import documents
from tests.docs.page import ROOT
from tests.e2e.scheduling import delete


class Kubectl:
    """`apply -f FILE` and `delete -f FILE`, each done when nothing moves any more."""

    def __init__(self, cluster: DemoCluster) -> None:
        self._cluster = cluster

    def __call__(self, words: list[str]) -> tuple[int, str]:
        verb, option, file = words
        assert option == "-f"
        trees = documents(ROOT / file)
        return {"apply": self._apply, "delete": self._delete}[verb](Path(file), trees)

    def _apply(self, file: Path, trees: list[Tree]) -> tuple[int, str]:
        applied = [self._cluster.apply(tree) for tree in trees]
        # Its first two lines are an empty one and the command.
        text = "".join(answers_text(str(file), applied).splitlines(keepends=True)[2:])
        return int(not all(each.answer.ok for each in applied)), text

    def _delete(self, _: Path, trees: list[Tree]) -> tuple[int, str]:
        return 0, "".join(self._deleted(trees))

    def _deleted(self, trees: list[Tree]) -> Iterator[str]:
        for tree in trees:
            about = tree["metadata"]
            assert isinstance(about, dict)
            assert tree["kind"] == "Pod"
            delete(self._cluster.plane, about["namespace"], about["name"])
            yield f'pod "{about["name"]}" deleted from {about["namespace"]} namespace\n'
