"""`gpusched top`, from a dump and from a running gpusched."""

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
import pytest

from gpusched.cli.style import Style
from gpusched.cli.top_source import TopView
from gpusched.cli.top_text import top_text
from gpusched.serve.view.access import EVERYTHING, Extent
from gpusched.wire.decision import Decision
from tests.build import bound, h100_node, pod, t4_node
from tests.cli.commands import Folder, run
from tests.serve.view.scene import Scene

NOW = datetime(2026, 1, 1, 3, tzinfo=UTC)
TOKEN = "secret"  # noqa: S105 - of this test alone


@pytest.fixture
def served() -> Iterator[str]:
    """The address of a gpusched with a pod that waits and a refusal; it wants a token."""
    scene = Scene()
    scene.wait("big", "team-a", gpus=9)
    for _ in range(2):
        scene.refusals.note(Decision("mutate", "team-b", "half", code="gpu-quantity", message="use whole numbers."))
    answers = {
        "/api/v1/nodes": asyncio.run(scene.view.nodes(EVERYTHING, None, "")),
        "/api/v1/pods": asyncio.run(scene.view.pods(EVERYTHING)),
        "/api/v1/refusals": scene.view.refusals(EVERYTHING),
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.headers.get("Authorization") == f"Bearer {TOKEN}"
            body = answers[self.path] if known else b'{"error": "Who are you?"}'
            self.send_response(200 if known else 401)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_dump_on_one_screen(folder: Folder) -> None:
    claim = {"gpusched.io/gpu-memory": "3Gi"}
    dump = folder.documents(
        "c.yaml",
        t4_node("t4", gpus=2, replicas=4),
        h100_node("h100", gpus=2, unschedulable=True),
        bound(pod("p", annotations=claim), "t4"),
        pod("big", gpus=9),
    )
    ran = run("top", "--cluster", dump, "--once")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "2 nodes, 1 of 10 slots held, 7 free, 1 waiting\n"
        "\n"
        "FAMILY                            USED/SLOTS  FREE  CLOSED  CLAIMED\n"
        "turing  ███·····················  1/8         7     -       3.0Gi of 30.0Gi\n"
        "hopper  ░░░░░░░░░░░░░░░░░░░░░░░░  0/2         0     2       -\n"
        "\n"
        "NODE             PRODUCT         SLOTS      HELD  HELD BY\n"
        "h100 (cordoned)  h100-80gb-hbm3  ░░         0/2   -\n"
        "t4               t4              █··· ····  1/8   team-a/p\n"
        "\n"
        "WAITING     STATE    AGE  WHAT WOULD HELP\n"
        "team-a/big  pending  -    Ask for nvidia.com/gpu: 1 in container main (shared slots of t4, 3.8Gi\n"
        "                          each)\n"
    )


def test_a_running_gpusched_says_the_same(served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUSCHED_TOKEN", TOKEN)
    ran = run("top", "--server", served, "--once", "-o", "json")

    assert ran.code == 0
    assert [node["name"] for node in ran.json["nodes"]] == ["h100", "t4"]
    assert ran.json["waiting"][0]["why"]["name"] == "big"
    text = run("top", "--server", f"{served}/", "--once").out
    assert "2 attempts of 1 workload refused in the last hour\n" in text
    assert "gpu-quantity: use whole numbers." in text


def test_a_token_from_a_file(served: str, folder: Folder) -> None:
    file = folder.path / "token"
    file.write_text(f"{TOKEN}\n")

    assert run("top", "--server", served, "--token-file", file, "--once").code == 0
    refused = run("top", "--server", served, "--once")
    assert (refused.code, refused.out) == (3, "")
    assert refused.err.startswith(f"error: gpusched at {served} wants a token: set GPUSCHED_TOKEN to one, such as ")


def test_nobody_answers() -> None:
    ran = run("top", "--server", "http://127.0.0.1:1", "--once")

    assert ran.code == 3
    assert "gpusched cannot be reached at http://127.0.0.1:1/api/v1/nodes: " in ran.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--server", "127.0.0.1:8080"), "write such as http://127.0.0.1:8080"),
        (("--server", "file:///etc/passwd"), "is no address"),
        (("--server", "http://h", "--cluster", "x"), "leave --cluster and --config out"),
        (("--server", "http://h", "-l", "a=b"), "leave --selector out"),
    ],
)
def test_bad_usage(options: tuple[str, ...], said: str) -> None:
    ran = run("top", *options)

    assert ran.code == 2
    assert said in ran.err


def test_filters(folder: Folder) -> None:
    dump = folder.documents(
        "c.yaml", t4_node("t4", gpus=2), h100_node("h100", gpus=2), bound(pod("p", "team-b"), "t4"), pod("w", "team-a")
    )

    def names(*options: str) -> list[str]:
        return [node["name"] for node in run("top", "--cluster", dump, "-o", "json", *options).json["nodes"]]

    assert names() == ["h100", "t4"]
    assert names("--family", "hopper") == ["h100"]
    assert names("-n", "team-b") == ["t4"]
    assert names("-l", "kubernetes.io/hostname=t4") == ["t4"]
    assert run("top", "--cluster", dump, "-o", "json", "-n", "team-b").json["waiting_total"] == 0


def test_a_screen_holds_as_many_nodes_as_it_has_lines(folder: Folder) -> None:
    dump = folder.documents("c.yaml", *(t4_node(f"t4-{number:02d}") for number in range(40)))
    whole = msgspec.convert(run("top", "--cluster", dump, "-o", "json").json, TopView)

    text = top_text(whole, Style(), NOW, width=80, height=20)
    assert text.count("\n") <= 20
    assert "and 28 more lines; --all shows them\n" in text
    assert top_text(whole, Style(), NOW, width=80, height=0).count("t4-") == 40


def test_an_old_state_says_so() -> None:
    view = TopView(totals=(), nodes=(), waiting=(), waiting_total=0, notes=("What is shown may be old: x.",))

    assert "What is shown may be old: x.\n" in top_text(view, Style(), NOW, width=80, height=0)


def test_the_name_of_a_family(folder: Folder) -> None:
    dump = folder.documents("c.yaml", t4_node("t"), h100_node("h"))
    said = run("top", "--once", "--cluster", dump, "--family", "hoper")

    assert (said.code, said.out) == (2, "")
    assert "--family hoper is no GPU family; did you mean hopper? there are hopper, turing" in said.err
    absent = run("nodes", "--cluster", dump, "--family", "ampere")
    assert absent.code == 2
    assert "--family ampere: no node has such GPUs; there are hopper, turing" in absent.err
    narrowed = run("nodes", "--cluster", dump, "--family", "turing", "-o", "name")
    assert (narrowed.code, narrowed.out) == (0, "node/t\n")
    view = run("top", "--once", "--cluster", dump, "--family", "Hopper", "-o", "json").json
    assert [node["name"] for node in view["nodes"]] == ["h"]


def test_a_token_does_not_follow_a_redirect(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_address[1]}/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    monkeypatch.setenv("GPUSCHED_TOKEN", "secret")
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        ran = run("top", "--once", "--server", url)
        server.shutdown()
        thread.join()

    assert (ran.code, seen) == (3, ["Bearer secret"])
    assert ran.err == f"error: gpusched does not answer at {url}/api/v1/nodes: HTTP 302\n"


@pytest.mark.parametrize(
    ("seen", "said"),
    [("some", ", 3 waiting in the namespaces you may see\n"), ("none", "You may list pods in no namespace")],
)
def test_a_part_of_the_namespaces_is_told_as_one(seen: Extent, said: str) -> None:
    view = TopView(totals=(), nodes=(), waiting=(), waiting_total=3, seen=seen)

    assert said in top_text(view, Style(), NOW, width=80, height=0)


def test_the_token_of_the_kubeconfig(served: str, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUSCHED_TOKEN", raising=False)
    user = {"name": "u", "user": {"token": TOKEN}}
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    config = {"kind": "Config", "users": [user], "clusters": [cluster], "contexts": [context], "current-context": "x"}
    file = folder.path / "kubeconfig"
    file.write_bytes(msgspec.json.encode({"apiVersion": "v1"} | config))

    assert run("top", "--server", served, "--once", "--kubeconfig", file).code == 0


def test_a_tainted_node(folder: Folder) -> None:
    taint = {"key": "dedicated", "value": "b", "effect": "NoSchedule"}
    dump = folder.documents("c.yaml", t4_node("t4", taints=[taint]))

    assert "t4 (taint dedicated=b:NoSchedule)" in run("top", "--cluster", dump, "--once").out
    assert "taint dedicated=b:NoSchedule" in run("nodes", "--cluster", dump).out
