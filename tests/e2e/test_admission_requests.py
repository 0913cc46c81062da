"""The webhook's port against whoever finds it: what is no review is a 4xx, costs no memory and stops nobody."""

import contextlib
import http.client
import json
import socket
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.build import pod

MIB = 1 << 20
JSON = {"Content-Type": "application/json"}
#: More than the service's own caches may grow by meanwhile, less than one of the bodies.
GROWTH_MIB = 12


def review(version="admission.k8s.io/v1", uid="u1", **request):
    about = {"uid": uid, "kind": {"group": "", "version": "v1", "kind": "Pod"}, "operation": "CREATE"}
    tree = pod("p", "default")
    whole = about | {"namespace": "default", "object": tree} | request
    return {"apiVersion": version, "kind": "AdmissionReview", "request": whole}


class Webhook:
    """A client of the port, with a connection for each request."""

    def __init__(self, installed):
        parts = urlsplit(installed.webhook_url)
        self.address = (parts.hostname, parts.port)
        self._context = ssl.create_default_context(cafile=str(installed.certificates / "ca.crt"))

    def connect(self):
        """A raw connection, which speaks TLS."""
        return self._context.wrap_socket(socket.create_connection(self.address, 20), server_hostname=self.address[0])

    def send(self, body, headers=JSON, method="POST", path="/mutate"):
        """Status and body of the answer."""
        connection = http.client.HTTPSConnection(*self.address, timeout=20, context=self._context)
        with contextlib.closing(connection):
            connection.request(method, path, body=body, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def works(self):
        """Whether a review is answered as it should be."""
        status, body = self.send(json.dumps(review()).encode())
        return (status, json.loads(body)["response"]["uid"]) == (200, "u1")


@pytest.fixture
def webhook(installed):
    return Webhook(installed)


def resident_mib(plane):
    """Resident memory of the service."""
    status = Path(f"/proc/{plane.children['gpusched'].pid}/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) // 1024


GOOD = json.dumps(review()).encode()
BAD = {
    "empty": (b"", JSON, 400),
    "no JSON": (b"<xml/>", JSON, 400),
    "cut off": (GOOD[:-20], JSON, 400),
    "bad UTF-8": (b'{"kind": "\xff\xfe"}', JSON, 400),
    "a list": (b"[1, 2]", JSON, 400),
    "no request": (json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}).encode(), JSON, 400),
    "no uid": (json.dumps(review(uid="")).encode(), JSON, 400),
    "old version": (json.dumps(review("admission.k8s.io/v1beta1")).encode(), JSON, 400),
    "deep": (b"[" * 200_000, JSON, 400),
    "deep inside": (GOOD.replace(b'"containers"', b'"x": ' + b"[" * 100_000 + b', "containers"'), JSON, 400),
    "wrong type": (GOOD, {"Content-Type": "text/plain"}, 415),
    "no type": (GOOD, {}, 415),
    "compressed": (GOOD, JSON | {"Content-Encoding": "gzip"}, 415),
    "20 MB": (b" " * (20 * MIB), JSON, 413),
}


@pytest.mark.parametrize(("body", "headers", "status"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("path", ["/mutate", "/validate"])
def test_what_is_no_review_is_the_callers_fault(webhook, body, headers, status, path):
    found, text = webhook.send(body, headers, path=path)

    assert found == status
    # One line for people, no trace.
    assert len(text.splitlines()) == 1
    assert len(text) < 300
    assert webhook.works()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/mutate", 405), ("PUT", "/validate", 405), ("POST", "/", 404), ("POST", "/mutate/", 404)],
)
def test_other_methods_and_paths(webhook, method, path, status):
    assert webhook.send(GOOD, method=method, path=path)[0] == status


def test_pipelined_requests_are_answered_in_order(webhook):
    bodies = [json.dumps(review(uid=f"u{number}")).encode() for number in range(3)]
    bodies[1] = b"nonsense"
    head = "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
    with webhook.connect() as connection:
        connection.sendall(b"".join(head.format(len(body)).encode() + body for body in bodies))
        answers = []
        for _ in bodies:
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            answers.append((answer.status, answer.read()))

    assert [status for status, _ in answers] == [200, 400, 200]
    uids = [json.loads(body)["response"]["uid"] for status, body in answers if status == 200]
    assert uids == ["u0", "u2"]


@pytest.mark.parametrize(
    "bytes_sent",
    [
        b"\x00" * 5_000,
        b"GET\r\n\r\n",
        b"POST /mutate HTTP/9.9\r\n\r\n",
        b"POST /mutate HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ],
    ids=["zeros", "no version", "version", "length"],
)
def test_what_is_no_http_ends_its_own_connection(webhook, bytes_sent):
    with webhook.connect() as connection:
        connection.sendall(bytes_sent)
        answer = connection.recv(MIB)

    assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
    assert webhook.works()


def test_plain_http_and_silence_stop_nobody(webhook):
    with socket.create_connection(webhook.address, 20) as plain, webhook.connect() as silent:
        plain.sendall(b"POST /mutate HTTP/1.1\r\n\r\n")
        silent.sendall(b"POST /mutate HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")

        assert webhook.works()

        # The body that does not come is given up.
        answer = http.client.HTTPResponse(silent)
        answer.begin()
        assert (answer.status, answer.read()) == (408, b"the body did not arrive within 5 s\n")


def test_memory_stays_flat(webhook, control_plane):
    """Bodies that are too large, of a length that is told and of one that is not, and many small ones."""
    large = b"x" * (20 * MIB)

    def storm():
        for _ in range(5):
            assert webhook.send(large)[0] == 413
            assert webhook.send(iter([large[: 10 * MIB]] * 2), JSON)[0] == 413
        for number in range(300):
            assert webhook.send(b'{"kind": %d' % number)[0] == 400

    # The first one makes the allocator take what it needs.
    storm()
    before = resident_mib(control_plane)
    storm()

    assert resident_mib(control_plane) - before < GROWTH_MIB
    assert webhook.works()
