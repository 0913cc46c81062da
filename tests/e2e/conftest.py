"""Fixtures for tests against a real control plane: one for each module, a namespace for each test.

The binaries come from the cache, `KUBEBUILDER_ASSETS`, or a build; `GPUSCHED_KUBECONFIG` names an existing cluster
instead. Without any of them, and without Go, the tests are skipped, or fail where `GPUSCHED_E2E=require`.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpusched.local import binaries as finder
from gpusched.local import client_programs as client_finder
from gpusched.local import karpenter_programs as karpenter_finder
from gpusched.local import kubelet_isolation
from gpusched.local import kubelet_programs as node_finder
from gpusched.local.binaries import Binaries
from gpusched.local.cluster import Operations
from gpusched.local.control_plane import ControlPlane
from gpusched.local.existing import VARIABLE, ExistingCluster
from gpusched.local.installed import Installed
from gpusched.local.options import Options
from tests.e2e import promtool as promtool_finder
from tests.e2e.audited import audit_policy, without_right
from tests.e2e.scheduling import reconfigure
from tests.e2e.terminal import Terminal

HERE = Path(__file__).parent
#: A cold build on two cores takes up to ten minutes; a test by itself must not.
BUILD_SECONDS = 1800
TEST_SECONDS = 240
#: What builds the programs of a fixture besides the control plane's.
FINDERS = {
    "kubelet_programs": node_finder,
    "client_programs": client_finder,
    "karpenter_programs": karpenter_finder,
    "promtool": promtool_finder,
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    built = not ours or finder.ready()
    unbuilt = {name for name, each in FINDERS.items() if ours and not each.ready()}
    for item in ours:
        there = unbuilt.isdisjoint(getattr(item, "fixturenames", ()))
        seconds = TEST_SECONDS if built and there else BUILD_SECONDS
        # A module has a control plane of its own, so all of it belongs to one worker. Real kubelets change what the
        # machine has but once, such as control groups: one after the other.
        name = item.path.stem
        item.add_marker(pytest.mark.xdist_group("kubelet" if name.startswith("test_kubelet") else name))
        item.add_marker(pytest.mark.timeout(seconds))
        # Others work on this machine too, and everything here waits for processes. A test that fails is run once more,
        # which the report tells; one that fails twice has failed.
        item.add_marker(pytest.mark.flaky(reruns=1))


def need(request: pytest.FixtureRequest, what: str, reason: str | None, *, excused: bool = False) -> None:
    """End here if there is a reason why it cannot be tested: loudly, and as a failure where that was asked for."""
    if reason is None:
        return
    if os.environ.get("GPUSCHED_E2E") == "require" and not excused:
        pytest.fail(reason)
    teller(request.config)(f"NOT TESTED {what}: {reason}")
    # Told above: a machine without these programs can still run everything else.
    pytest.skip(reason)


@pytest.fixture(scope="session")
def binaries(request: pytest.FixtureRequest) -> Binaries:
    """The five programs, built if need be."""
    reason = finder.missing()
    told = reason and f"{reason}; put Go on the PATH or run `python -m gpusched.local`, which installs it"
    need(request, "against a real control plane", told)
    return finder.resolve(progress=teller(request.config))


@pytest.fixture(scope="session")
def kubelet_programs(request: pytest.FixtureRequest, binaries: Binaries) -> dict[str, Path]:
    """The programs of a node with a real kubelet, built if need be."""
    # No more can be required of a machine that gives nobody mounts or control groups of their own.
    enclosed = kubelet_isolation.missing() is None
    need(request, "against a real kubelet", node_finder.missing(), excused=not enclosed)
    return node_finder.resolve(progress=teller(request.config))


@pytest.fixture(scope="session")
def client_programs(request: pytest.FixtureRequest, binaries: Binaries) -> dict[str, Path]:
    """kubectl and kustomize, built if need be."""
    need(request, "with kubectl and kustomize", client_finder.missing())
    return client_finder.resolve(progress=teller(request.config))


@pytest.fixture(scope="session")
def karpenter_programs(request: pytest.FixtureRequest, binaries: Binaries) -> dict[str, Path]:
    """Karpenter with its kwok provider, built if need be."""
    need(request, "with Karpenter", karpenter_finder.missing())
    return karpenter_finder.resolve(progress=teller(request.config))


@pytest.fixture(scope="session")
def promtool(request: pytest.FixtureRequest) -> Path:
    """promtool, built if need be."""
    need(request, "with promtool", promtool_finder.missing())
    return promtool_finder.resolve(teller(request.config))


@pytest.fixture(scope="module")
def control_plane_options() -> Options:
    """What a module wants of its control plane; overridden there."""
    return Options()


@pytest.fixture(scope="module")
def audited(control_plane_options: Options, tmp_path_factory: pytest.TempPathFactory) -> Options:
    """The same, with everything that gpusched asks for in the audit log."""
    path = tmp_path_factory.mktemp("audit") / "policy.json"
    path.write_text(json.dumps(audit_policy()), encoding="utf-8")
    given = control_plane_options.arguments
    flags = (f"--audit-policy-file={path}", *given.get("kube-apiserver", ()))
    return msgspec.structs.replace(control_plane_options, audit=True, arguments={**given, "kube-apiserver": flags})


@pytest.fixture(scope="module")
def control_plane(request: pytest.FixtureRequest, binaries: Binaries, audited: Options) -> Iterator[ControlPlane]:
    """A control plane for the tests of a module; its logs are kept if a test failed."""
    tell = teller(request.config)
    with ControlPlane(binaries, audited, tell) as started:
        yield started
        if request.session.testsfailed:
            tell(f"logs of the control plane: {started.keep_logs()}")


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[Operations]:
    """The existing cluster that the variable names, else the control plane; for tests that need no more than an API."""
    kubeconfig = os.environ.get(VARIABLE)
    if kubeconfig:
        with ExistingCluster(Path(kubeconfig)) as existing:
            yield existing
    else:
        yield request.getfixturevalue("control_plane")


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane) -> Iterator[Installed]:
    """gpusched on the control plane, with its default configuration, the extender in kube-scheduler, and a class.

    It has the rights of its manifests, and must never have lacked one.
    """
    control_plane.apply(
        [{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "nvidia"}]
    )
    with Installed(control_plane) as running:
        yield running
    assert without_right(control_plane.logs / "audit.log") == []


@pytest.fixture
def terminal(control_plane: ControlPlane, client_programs: dict[str, Path], tmp_path: Path) -> Terminal:
    """A shell for what the documentation tells people to type, as admin of the control plane."""
    return Terminal(tmp_path, control_plane.kubeconfig(), client_programs.values())


@pytest.fixture
def unlowered(control_plane: ControlPlane, installed: Installed) -> Iterator[None]:
    """Policy is left to the extender: no pod gets node affinity of it."""
    reconfigure(control_plane, installed, {"lowering": {"enabled": False}})
    yield
    reconfigure(control_plane, installed, {"lowering": {"enabled": True}})


@pytest.fixture
def namespace(request: pytest.FixtureRequest, cluster: Operations) -> Iterator[str]:
    """A Namespace of the test's own; its pods are gone, and with them their claims on nodes, when the test ends."""
    with new_namespace(cluster, request.node.nodeid) as name:
        yield name


@contextmanager
def new_namespace(cluster: Operations, test: str) -> Iterator[str]:
    """A Namespace under a name that no other run of the test has; its pods are gone afterwards."""
    # An existing cluster may still be clearing away what an earlier run left.
    name = f"e2e-{hashlib.sha256(test.encode()).hexdigest()[:8]}-{secrets.token_hex(2)}"
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}).expect()
    yield name
    # A terminating Namespace takes no new pods; those there would be given their grace, and the Namespace half of it.
    cluster.request("DELETE", f"/api/v1/namespaces/{name}").expect()
    pods = f"/api/v1/namespaces/{name}/pods"
    cluster.request("DELETE", pods, query={"gracePeriodSeconds": "0"}).expect()
    cluster.wait_for(pods, lambda tree: tree["items"] == [], what=f"pods of {name} gone")


@pytest.fixture
def fake_nodes(cluster: Operations) -> Iterator[Callable[[Iterable[Mapping[str, Any]]], None]]:
    """Creates nodes that are deleted when the test ends."""
    names: list[str] = []

    def create(trees: Iterable[Mapping[str, Any]]) -> None:
        made = list(trees)
        names.extend(tree["metadata"]["name"] for tree in made)
        cluster.create_nodes(made)

    yield create
    for name in names:
        cluster.request("DELETE", f"/api/v1/nodes/{name}")


@pytest.fixture
def scheduler(control_plane: ControlPlane) -> Iterator[Callable[[Mapping[str, object]], None]]:
    """Restarts kube-scheduler with another configuration; the default one is back when the test ends."""
    yield control_plane.restart_scheduler
    control_plane.restart_scheduler()


def teller(config: pytest.Config) -> Callable[[str], None]:
    """Says lines on the terminal at once, although pytest captures output."""
    capture = config.pluginmanager.getplugin("capturemanager")
    reporter = config.pluginmanager.getplugin("terminalreporter")

    def tell(line: str) -> None:
        if reporter is not None and capture is not None:
            with capture.global_and_fixture_disabled():
                reporter.write_line(f"[control plane] {line}")

    return tell
