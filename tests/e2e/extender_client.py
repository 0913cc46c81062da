"""Calls the extender as kube-scheduler does: with its address, its CA and its client certificate."""

import http.client
import json
import ssl
from typing import Any
from urllib.parse import urlsplit

from gpusched.local.installed import Installed
from tests.build import Tree


class SecondScheduler:
    """Somebody else who knows the extender's address and has its client certificate."""

    def __init__(self, installed: Installed) -> None:
        stanza: Any = installed.scheduler_configuration()["extenders"]
        address = urlsplit(stanza[0]["urlPrefix"])
        self._host, self._port = address.hostname, address.port
        files = stanza[0]["tlsConfig"]
        self._context = ssl.create_default_context(cafile=files["caFile"])
        self._context.load_cert_chain(files["certFile"], files["keyFile"])

    def send(self, path: str, body: object) -> http.client.HTTPSConnection:
        """Send a request; bytes go as they are."""
        connection = http.client.HTTPSConnection(str(self._host), self._port, timeout=10, context=self._context)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", path, data, {"Content-Type": "application/json"})
        return connection

    def ask(self, path: str, body: object) -> Any:
        """The answer, which always has status 200."""
        connection = self.send(path, body)
        try:
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        assert answer.status == 200, content
        return json.loads(content)

    def bind(self, tree: Tree, node: str) -> str:
        """The error, empty for success."""
        return str(self.ask("/bind", binding(tree, node))["Error"])

    def filter(self, tree: Tree, *names: str) -> Any:
        return self.ask("/filter", {"Pod": tree, "NodeNames": list(names)})


def binding(tree: Tree, node: str) -> dict[str, str]:
    """ExtenderBindingArgs."""
    about = tree["metadata"]
    return {"PodName": about["name"], "PodNamespace": about["namespace"], "PodUID": about["uid"], "Node": node}
