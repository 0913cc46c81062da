"""`gpusched demo` as a user runs it: what it prints is what happened, and nothing of it stays."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import pytest

from gpusched.local.existing import ExistingCluster
from gpusched.local.waiting import until
from tests.docs.page import run_by

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "manifests" / "samples"
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMAND = [sys.executable, "-m", "gpusched", "demo"]
#: What a checkout must have for `make install` and `make demo`.
FILES = ["Makefile", "pyproject.toml", "requirements.txt", "README.md", "LICENSE"]
FOLDERS = ["gpusched", "webhook", "certs", "manifests"]
INSTALL, KEEP = (block.text.split("#")[0].split() for block in run_by(__file__, "docs/quick-start.md"))
(OFFLINE,) = (found.split() for found in re.findall(r"`(make demo DEMO=--offline)`", README))
#: Downloads some fifty wheels where no cache has them.
INSTALL_SECONDS = 900
pytestmark = pytest.mark.usefixtures("binaries")

ANSWERS = """\
$ kubectl apply -f manifests/samples/workloads.yaml
statefulset.apps/notebook created
Warning: gpu-claim: claim 6Gi is more than any present slot of nvidia.com/gpu can give. Largest possible: 3648Mi.
pod/big-notebook created
Warning: gpu-no-node: no present node meets families hopper and families turing, ada-lovelace of namespace notebooks \
together.
Warning: gpu-unspecific: nvidia.com/gpu here has 15.0Gi to 79.6Gi. Set gpusched.io/min-gpu-memory.
job.batch/finetune created
job.batch/evaluate created
deployment.apps/llm created
pod/reranker created
job.batch/simulation created
deployment.apps/web created
Error from server (Forbidden): error when creating "manifests/samples/workloads.yaml": admission webhook \
"workloads.mutate.gpusched.io" denied the request: gpu-policy-family: pod asks for hopper; namespace notebooks allows \
turing, ada-lovelace. Set gpusched.io/families to one of these.
Error from server (Forbidden): error when creating "manifests/samples/workloads.yaml": admission webhook \
"workloads.mutate.gpusched.io" denied the request: gpu-quantity: container server asks nvidia.com/gpu: 500m (0.5); use \
whole numbers. For part of a GPU: 1 plus gpusched.io/gpu-memory: 8Gi."""
#: Number and state of the pods of each workload.
STATES = {
    "statefulset/notebook": ("3", "Running"),
    "pod/big-notebook": ("1", "Pending"),
    "job/benchmark": ("1", "refused"),
    "deployment/embedder": ("2", "refused"),
    "job/finetune": ("1", "Running"),
    "job/evaluate": ("1", "SchedulingGated"),
    "deployment/llm": ("2", "Running"),
    "pod/reranker": ("1", "Running"),
    "job/simulation": ("2", "Running"),
    "deployment/web": ("2", "Running"),
}
EVENT = (
    "FailedScheduling: 0/7 nodes are available: 1 Insufficient nvidia.com/gpu, 2 not enough unclaimed GPU memory, "
    "4 node(s) didn't match Pod's node affinity/selector."
)


def environment(temporary: Path) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}


def alike(text: str) -> str:
    """The output without what differs from run to run: names, where pods without a GPU went, how often it was tried."""
    text = re.sub(r"\b(evaluate|finetune)-\w{5}\b", r"\1-x", text)
    text = re.sub(r"(deployment/web +2 +Running) .*", r"\1", text)
    return " ".join(re.sub(r"\b\d+ (validate|filter|prioritize|bind)\b", r"N \1", text).split())


def sections(text: str) -> list[str]:
    return text.strip().split("\n\n")


def unfolded(section: str) -> str:
    """Lines that the page broke, in one again."""
    return re.sub(r"\n {4,}", " ", section)


def table(section: str) -> dict[str, dict[str, str]]:
    """Rows by workload; a row goes on in lines that begin with a blank."""
    head, *lines = section.splitlines()
    names = re.findall(r"\S+(?: \S+)*", head)
    starts = [head.index(name) for name in names]
    rows: list[dict[str, str]] = []
    for line in lines:
        cells = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
        if line.startswith(" "):
            rows[-1] = {key: f"{rows[-1][key]} {cell}".strip() for key, cell in zip(names, cells, strict=True)}
        else:
            rows.append(dict(zip(names, cells, strict=True)))
    return {row["WORKLOAD"]: row for row in rows}


def nodes(cell: str) -> Counter[str]:
    """`a, b ×2` as counts."""
    found: Counter[str] = Counter()
    for part in cell.split(", "):
        name, _, count = part.partition(" ×")
        found[name] += int(count or 1)
    return found


def simulated() -> dict[str, Counter[str]]:
    """Nodes of GPU pods by workload, as `simulate` foresees them."""
    arguments = ["-f", str(SAMPLES / "workloads.yaml"), "--cluster", str(SAMPLES / "cluster.yaml"), "-o", "json"]
    command = [sys.executable, "-m", "gpusched", "simulate", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found: dict[str, Counter[str]] = {}
    for view in json.loads(done.stdout)["pods"]:
        kind, _, name = (view["owner"] or f"Pod/{view['name']}").partition("/")
        if view["placement"] and view["placement"]["resources"]:
            found.setdefault(f"{kind.lower()}/{name}", Counter())[view["placement"]["node"]] += 1
    return found


@contextmanager
def started(
    environment: dict[str, str], command: list[str] = COMMAND, folder: Path = ROOT
) -> Iterator[subprocess.Popen[str]]:
    """The command as a terminal starts it: in a process group of its own."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def read_until(stream: IO[str] | None, pattern: str) -> str:
    """The first line with this pattern; waits for it, and fails at the end of the stream."""
    assert stream is not None
    for line in stream:
        found = re.search(pattern, line)
        if found:
            return found[1]
    raise AssertionError(f"the stream ended without {pattern}")


def commands_in(folder: Path) -> list[str]:
    """Processes whose command line names this folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(folder) in words:
            found.append(words.replace("\0", " "))
    return found


def test_it_prints_what_happened(tmp_path: Path) -> None:
    done = subprocess.run(
        COMMAND,
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert all(len(line) <= 100 for line in done.stdout.splitlines())
    _, answers, workloads, pending, gated, dump, *rest = sections(done.stdout)
    assert unfolded(answers) == ANSWERS
    rows = table(workloads)
    assert {name: (row["PODS"], row["STATE"]) for name, row in rows.items()} == STATES
    foreseen = simulated()
    assert {name: nodes(rows[name]["NODE"]) for name in foreseen} == foreseen
    assert {name: row["ADDED BY GPUSCHED"] for name, row in rows.items() if row["ADDED BY GPUSCHED"] != "-"} == {
        "statefulset/notebook": "runtimeClassName, tolerations, affinity, env",
        "pod/big-notebook": "runtimeClassName, tolerations, affinity, env",
        "job/finetune": "runtimeClassName, tolerations, affinity, quota gate",
        "job/evaluate": "runtimeClassName, tolerations, affinity, quota gate",
        "deployment/llm": "runtimeClassName, tolerations, affinity",
        "pod/reranker": "runtimeClassName, tolerations, affinity",
    }
    assert re.sub(r"\s+", " ", pending).startswith(f"notebooks/big-notebook Pending event {EVENT}")
    assert re.sub(r"evaluate-\w+", "evaluate-x", gated) == (
        "training/evaluate-x  SchedulingGated\n  condition  Scheduling is blocked due to non-empty scheduling gates"
    )
    assert dump.startswith("$ kubectl get nodes,namespaces,runtimeclasses,pods -A -o json > dump.json\n$ gpusched why ")
    assert "\nChange   Set gpusched.io/gpu-memory: 3648Mi\nNote     kube-scheduler says: 0/7 nodes " in dump
    assert "place 1 in the line of namespace training; slots held by finetune-" in rest[0]
    assert rest[2].startswith("16 pods: 11 running, 3 refused, 1 pending, 1 gated\n")
    assert re.sub(r"\s+", " ", rest[2]).endswith(
        "0 GPU pods bound by anyone else "
        "gpusched simulate foresees the same of every workload, and the same nodes for GPU pods"
    )
    assert list(tmp_path.iterdir()) == []
    shown = re.findall(r"^```\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert alike(done.stdout) in map(alike, shown)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of this tree in which nothing was made yet."""
    copy = tmp_path / "checkout"
    copy.mkdir()
    for name in FILES:
        shutil.copyfile(ROOT / name, copy / name)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.mark.timeout(INSTALL_SECONDS)
def test_made_in_a_checkout_and_kept_until_ctrl_c(checkout: Path, tmp_path: Path) -> None:
    """As the quick start has it: a terminal for the demo, another one for questions to its cluster."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    variables = {**environment(temporary), "PYTHONPATH": "", "PYTHON": sys.executable}
    for command in (INSTALL, OFFLINE):
        subprocess.run(command, cwd=checkout, env=variables, check=True)
    with started(variables, KEEP, checkout) as process:
        kubeconfig = read_until(process.stdout, r"export KUBECONFIG=(\S+)")
        admin = urlsplit(read_until(process.stdout, r"curl (\S+)"))

        asked = subprocess.run(
            [checkout / ".venv/bin/gpusched", "nodes"], env={**variables, "KUBECONFIG": kubeconfig}, check=False
        )
        assert asked.returncode == 0
        with ExistingCluster(Path(kubeconfig)) as cluster:
            kept = cluster.get("/api/v1/namespaces/notebooks/pods/notebook-0")
            assert kept["metadata"]["annotations"]["status.gpusched.io/bound"] == kept["spec"]["nodeName"] == "t4-1"
        connection = HTTPConnection(admin.hostname or "", admin.port)
        connection.request("GET", "/readyz")
        assert connection.getresponse().status == 200
        connection.close()
        os.killpg(process.pid, signal.SIGINT)
        _, told = process.communicate()

    # make ends by the signal as well, once the demo has ended in order.
    assert process.returncode == -signal.SIGINT
    assert told.endswith("stopping\n")
    assert (list(temporary.iterdir()), commands_in(temporary)) == ([], [])


@pytest.mark.parametrize(
    ("stage", "number"),
    [
        ("starting Kubernetes", signal.SIGINT),
        ("creating 7 nodes", signal.SIGINT),
        ("installing", signal.SIGINT),
        ("applying", signal.SIGINT),
        ("starting Kubernetes", signal.SIGKILL),
        ("applying", signal.SIGKILL),
    ],
)
def test_nothing_stays_whenever_it_ends(tmp_path: Path, stage: str, number: signal.Signals) -> None:
    with started(environment(tmp_path)) as process:
        read_until(process.stderr, f"({stage})")
        process.send_signal(number)
        out, told = process.communicate()

    assert (process.returncode, out) == ((130, "") if number == signal.SIGINT else (-number, ""))
    assert told.endswith("interrupted\n") == (number == signal.SIGINT)
    # After SIGKILL the reaper needs a moment.
    until(lambda: (list(tmp_path.iterdir()), commands_in(tmp_path)) == ([], []), 20.0, "nothing left")
