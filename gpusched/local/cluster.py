"""What tests and the demo need of a cluster, whether it was started here or was there before."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from gpusched.local.api import Api, Response
from gpusched.local.apply import Applier
from gpusched.local.nodes import create_nodes
from gpusched.local.waiting import until

Tree = Mapping[str, object]
Found = TypeVar("Found")


class Operations:
    """Requests of all sorts, by default as admin."""

    def api(self, identity: str) -> Api:
        """A client that speaks as this identity."""
        raise NotImplementedError

    def kubeconfig(self, identity: str = "admin") -> Path:
        """A kubeconfig of this identity; gone when the cluster is left."""
        raise NotImplementedError

    def check(self) -> None:
        """Make sure that the cluster is still there; the default has no way to tell."""

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        identity: str = "admin",
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        timeout: float = 30.0,
    ) -> Response:
        """Send one request; a refusal is an answer.

        Raises:
            ChildDiedError: the server is not there any more, and it is known why.
            OSError: it cannot be reached.

        """
        try:
            return self.api(identity).request(
                method, path, body, query=query, content_type=content_type, timeout=timeout
            )
        except OSError:
            self.check()
            raise

    def get(self, path: str, *, identity: str = "admin", query: Mapping[str, str] | None = None) -> dict[str, object]:
        """The object or list at this path.

        Raises:
            ApiError: the server refused.

        """
        return self.request("GET", path, identity=identity, query=query).expect()

    def apply(self, documents: Iterable[Tree], *, identity: str = "admin") -> list[dict[str, object]]:
        """Create or change objects of any kind, in their order; see `Applier.apply`."""
        return Applier(self.api(identity)).apply(documents)

    def create(self, tree: Tree, *, identity: str = "admin", dry_run: bool = False) -> Response:
        """Create one object; a refusal is an answer."""
        return Applier(self.api(identity)).create(tree, dry_run=dry_run)

    def delete(self, tree: Tree, *, identity: str = "admin") -> Response:
        """Delete one object; a refusal is an answer."""
        return Applier(self.api(identity)).delete(tree)

    def create_nodes(self, trees: Iterable[Tree]) -> None:
        """Fake nodes from the Nodes of a dump; see `nodes.create_nodes`."""
        create_nodes(self.api("admin"), trees)

    def wait_for(
        self, path: str, accepts: Callable[[dict[str, object]], Found | None], seconds: float = 60.0, what: str = ""
    ) -> Found:
        """The first true answer of `accepts` to what is at `path`; it is asked again and again.

        Raises:
            ChildDiedError: a component died meanwhile.
            ApiError: the server refused.
            LocalError: there was none in time.

        """
        return self.wait_until(lambda: accepts(self.get(path)), seconds, what or path)

    def wait_until(self, holds: Callable[[], Found | None], seconds: float = 60.0, what: str = "condition") -> Found:
        """The first true answer of `holds`; it is asked again and again.

        Raises:
            ChildDiedError: a component died meanwhile.
            LocalError: there was none in time; the text names `what`.

        """

        def probe() -> Found | None:
            self.check()
            return holds()

        return until(probe, seconds, what)
