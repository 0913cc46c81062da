import json
import ssl
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from certs.issue import issue_ca, issue_leaf
from gpusched.local.api import Api, Response
from gpusched.local.errors import ApiError


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    connections: set[int]
    seen: list[tuple[str, str, str | None, bytes]]

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, self.path, self.headers.get("Content-Type"), body))
        self.server.connections.add(self.client_address[1])
        refused = self.path.startswith("/refused")
        content = (
            b"not json" if self.path == "/text" else json.dumps({"message": "no"} if refused else {"a": 1}).encode()
        )
        self.send_response(403 if refused else 200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Warning", '299 - "say \\"please\\""')
        self.send_header("Warning", '299 - "second"')
        self.end_headers()
        self.wfile.write(content)
        # The server may drop a kept connection whenever it likes, without saying so before.
        self.close_connection = self.path == "/drop"

    do_GET = do_POST = do_PATCH = answer  # noqa: N815 - names that http.server asks for

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def authority():
    return issue_ca("test", datetime.now(UTC), timedelta(days=1))


@pytest.fixture
def server(authority, tmp_path):
    leaf = issue_leaf(authority, ["127.0.0.1"], datetime.now(UTC), timedelta(days=1))
    (tmp_path / "leaf.pem").write_bytes(leaf.certificate + leaf.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "leaf.pem")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.connections, listening.seen = set(), []
        listening.socket = context.wrap_socket(listening.socket, server_side=True)
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield listening
        listening.shutdown()
        thread.join()


@pytest.fixture
def api(server, authority):
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    client = Api(f"https://127.0.0.1:{server.server_address[1]}", context, {"Authorization": "Bearer t"})
    yield client
    client.close()


def test_answer_has_status_tree_and_the_warnings_in_full(api, server):
    answer = api.request("POST", "/api", {"x": "ü"}, query={"dryRun": "All", "a b": "&"})

    assert answer == Response(200, {"a": 1}, ('say "please"', "second"))
    method, path, content_type, body = server.seen[0]
    assert (method, path, content_type) == ("POST", "/api?dryRun=All&a+b=%26", "application/json")
    assert json.loads(body) == {"x": "ü"}


def test_bytes_go_as_they_are(api, server):
    api.request("PATCH", "/api", b"[1]", content_type="application/json-patch+json")

    assert server.seen[0][2:] == ("application/json-patch+json", b"[1]")


def test_refusal_is_an_answer_until_the_object_is_expected(api):
    answer = api.request("GET", "/refused")

    assert (answer.status, answer.ok, answer.message) == (403, False, "no")
    with pytest.raises(ApiError, match=r"no \(HTTP 403\)"):
        answer.expect()


def test_body_that_is_no_json_is_text(api):
    assert api.request("GET", "/text").tree == "not json"


def test_connection_is_kept(api, server):
    for _ in range(5):
        api.request("GET", "/api")

    assert len(server.connections) == 1


def test_kept_connection_that_the_server_dropped_is_replaced(api, server):
    api.request("GET", "/drop")

    assert api.request("GET", "/api").ok
    assert len(server.connections) == 2


def test_server_of_another_authority_is_not_spoken_to(server):
    other = issue_ca("other", datetime.now(UTC), timedelta(days=1))
    context = ssl.create_default_context(cadata=other.certificate.decode())
    api = Api(f"https://127.0.0.1:{server.server_address[1]}", context, {})

    with pytest.raises(ssl.SSLCertVerificationError):
        api.request("GET", "/api")


def test_nobody_listening_is_an_error_of_the_system():
    with pytest.raises(ConnectionRefusedError):
        Api("https://127.0.0.1:1", ssl.create_default_context(), {}).request("GET", "/api")
