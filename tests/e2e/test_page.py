"""The page in a real Chromium, over gpusched on a real control plane."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from gpusched.local.control_plane import ControlPlane
from gpusched.local.installed import Installed
from tests.build import h100_node, pod, t4_node
from tests.e2e.accessible import violations
from tests.e2e.chromium import Page, find_chromium
from tests.e2e.conftest import teller
from tests.e2e.laid_out import CUT, IN_SIGHT, TORN, WIDE
from tests.e2e.page_scripts import DETAIL, EMPTY, FOCUSED, LIVE, NAMES, OFFERED, WAITING, cell, choose, picture
from tests.simulate.scene import workload

Nodes = Callable[[Any], None]
RBAC = "rbac.authorization.k8s.io"


@pytest.fixture(scope="module")
def program(request: pytest.FixtureRequest) -> str:
    found = find_chromium()
    if found is None:
        teller(request.config)("NOT TESTED in a browser: no Chromium on the PATH; install the package chromium")
        # Told above: a browser is no part of what the project needs.
        pytest.skip("no Chromium on the PATH")
    return found


@pytest.fixture(scope="module")
def browser(program: str) -> Iterator[Page]:
    with Page(program) as opened:
        yield opened


@pytest.fixture
def page(browser: Page, installed: Installed, control_plane: ControlPlane, fake_nodes: Nodes) -> Page:
    """The page with two nodes of H100s and one of T4s, opened anew."""
    fake_nodes([t4_node("page-t4", gpus=2, replicas=4), h100_node("page-h100", gpus=2), h100_node("page-h100-2")])
    control_plane.wait_until(lambda: "labels: complete" in installed.admin("/readyz")[1], what="labels on all nodes")
    browser.open("about:blank")
    browser.errors.clear()
    browser.requests.clear()
    browser.open(f"{installed.admin_url}/")
    browser.wait_for(f"{NAMES}.length === 3 && {LIVE}")
    return browser


def test_the_page_shows_the_cluster_and_keeps_to_its_host(page: Page, installed: Installed) -> None:
    assert page.evaluate(NAMES) == ["page-h100", "page-h100-2", "page-t4"]
    assert page.evaluate(cell("page-t4", "slots")) == "0 / 8"
    titles = "[...document.querySelectorAll('#families .title')].map((el) => el.textContent).sort()"
    assert page.evaluate(titles) == ["Hopper", "Turing"]
    hosts = {urlsplit(url).netloc for url in page.requests if urlsplit(url).scheme != "about"}
    assert hosts == {urlsplit(installed.admin_url).netloc}
    assert page.errors == []


def test_a_pod_shows_without_reloading(page: Page, control_plane: ControlPlane, namespace: str) -> None:
    before = page.evaluate("performance.timeOrigin")

    tree = pod("seen-live", namespace, annotations={"gpusched.io/families": "turing", "gpusched.io/gpu-memory": "3Gi"})
    control_plane.create(tree).expect()

    page.wait_for(f"{cell('page-t4', 'slots')} === '1 / 8'")
    assert page.evaluate(cell("page-t4", "holders")) == "seen-live"
    assert page.evaluate(cell("page-t4", "claimed")) == "3 / 30 GiB"
    legend = "[...document.querySelectorAll('#legend button')].map((el) => el.textContent)"
    assert page.evaluate(legend) == [f"{namespace}1"]
    assert page.evaluate("performance.timeOrigin") == before
    assert page.errors == []


def test_waiting_pods_and_refusals(page: Page, control_plane: ControlPlane, namespace: str) -> None:
    waits = {"gpusched.io/gpu-memory": "30Gi", "gpusched.io/families": "turing"}
    control_plane.create(pod("too-big", namespace, annotations=waits)).expect()
    assert control_plane.create(pod("half", namespace, gpus="500m")).status == 403

    suggestion = page.wait_for(f"document.querySelector('[data-pod=\"{namespace}/too-big\"] .suggestion')?.textContent")
    assert suggestion.startswith("Set gpusched.io/")
    cards = "[...document.querySelectorAll('#refusals-list .card')].map((el) => el.textContent)"
    page.wait_for(f"{cards}.some((text) => text.includes('{namespace}/half') && text.includes('gpu-quantity'))")
    picture(page, "waiting")
    assert namespace in page.evaluate(OFFERED)
    choose(page, "find", f"{namespace}/too-big")
    assert page.evaluate(EMPTY) == "No node matches; 1 waiting pod does. Clear the filters to see all."
    assert page.evaluate(cards) == []
    choose(page, "find", "half")
    assert page.evaluate(WAITING).startswith("0 of ")
    listed = page.evaluate("document.getElementById('waiting-list').textContent")
    assert listed == "No waiting pod or workload matches. Clear the filters to see all."
    assert any(f"{namespace}/half" in text for text in page.evaluate(cards))
    choose(page, "find", "")
    choose(page, "namespace", namespace)
    assert {text.split("/")[0] for text in page.evaluate(cards)} == {namespace}
    assert page.evaluate(WAITING).split(" of ")[0] == "1"
    assert violations(page) == []
    assert page.errors == []


def test_a_workload_that_lacks_pods_and_a_misspelt_resource(
    page: Page, control_plane: ControlPlane, namespace: str
) -> None:
    """No webhook refuses the one, and no GPU resource is named by the other."""
    metadata = {"name": "gpus", "namespace": namespace}
    hard = {"hard": {"requests.nvidia.com/gpu": "0"}}
    control_plane.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": hard}).expect()
    selector = {"matchLabels": {"app": "web"}}
    web = workload("Deployment", "web", template=pod(labels={"app": "web"}), namespace=namespace, selector=selector)
    control_plane.create(web).expect()
    control_plane.create(pod("slip", namespace, resource="nvidia.com/gpus")).expect()

    card = f"document.querySelector('[data-workload=\"{namespace}/Deployment/web\"]')?.textContent"
    told = page.wait_for(f"{card}?.includes('is used up') && {card}", seconds=60)
    assert "0 of 1 pods run, 1 refused: ResourceQuota gpus is used up: 0 of 0 requests.nvidia.com/gpu" in told
    assert "Free some of ResourceQuota gpus, or let an admin raise it" in told
    slip = f"document.querySelector('[data-pod=\"{namespace}/slip\"] .suggestion')?.textContent"
    assert page.wait_for(slip) == "Ask for nvidia.com/gpu: 1 instead of nvidia.com/gpus"
    assert violations(page) == []
    picture(page, "lacking")
    assert page.errors == []


@pytest.mark.parametrize("width", [400, 768, 1024, 1280, 1366, 1600, 1920])
def test_nothing_is_cut_off(
    page: Page, control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, width: int
) -> None:
    dotted = h100_node("page-10.eu-central-1.compute.internal", gpus=8)
    fake_nodes([h100_node("page-full", gpus=8), h100_node(f"page-{'long-' * 8}name", gpus=8), dotted])
    there = {"kubernetes.io/hostname": "page-full"}
    for number in range(5):
        control_plane.create(pod(f"llm-train-29934621-{number}-xk2p7", namespace, nodeSelector=there)).expect()
    page.wait_for(f"{cell('page-full', 'slots')} === '5 / 8'")
    for name, extra in (("too-big", {}), ("held", {"schedulingGates": [{"name": "example.com/hold"}]}), ("w" * 40, {})):
        waits = {"gpusched.io/gpu-memory": "900Gi"}
        control_plane.create(pod(f"llm-train-29934621-{name}", namespace, annotations=waits, **extra)).expect()
    page.wait_for("document.querySelectorAll('#waiting-list .badge').length >= 2")

    page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    try:
        for theme in ("light", "dark"):
            choose(page, "theme", theme, "change")
            # Rows are laid out anew in the frame after the window changed.
            page.wait(lambda: page.evaluate(CUT) == [], "nothing is cut off", 10)
            assert page.evaluate(CUT) == []
            picture(page, f"{width}-{theme}")
        boxes = "document.querySelector('[data-node=page-full]').closest('[role=row]').querySelectorAll('.cell').length"
        assert page.evaluate(boxes) == 8
        assert page.evaluate(TORN) == []
        assert page.evaluate(WIDE) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert violations(page) == []
    finally:
        page.call("Emulation.clearDeviceMetricsOverride")
    assert page.errors == []


@pytest.mark.parametrize("width", [400, 1280])
def test_lists_beside_the_nodes_are_a_key_away(
    page: Page, control_plane: ControlPlane, namespace: str, width: int
) -> None:
    """However long the list of waiting pods is, one sees that there are refusals and quotas, and how many."""
    for number in range(12):
        waits = {"gpusched.io/gpu-memory": f"{200 + number}Gi"}
        control_plane.create(pod(f"wide-{number}", namespace, annotations=waits)).expect()
    assert control_plane.create(pod("half", namespace, gpus="500m")).status == 403
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
    try:
        page.wait_for("Number(document.getElementById('waiting-jump').textContent) >= 12")
        page.wait_for("Number(document.getElementById('refusals-jump').textContent) >= 1")
        assert page.evaluate("document.getElementById('quota-jump').textContent") == "0"
        assert "quota" not in page.evaluate(IN_SIGHT)
        buttons = "[...document.querySelectorAll('#jump button')]"
        assert page.evaluate(f"{buttons}.every((el) => el.getBoundingClientRect().bottom <= innerHeight)")
        picture(page, f"lists-{width}")

        page.evaluate(f"{buttons}[2].focus()")
        page.press("Enter", "\r")

        assert page.evaluate("document.activeElement.id") == "quota"
        assert "quota" in page.evaluate(IN_SIGHT)
        assert violations(page) == []
        picture(page, f"lists-{width}-quota")
    finally:
        page.call("Emulation.clearDeviceMetricsOverride")


def test_a_connection_that_is_lost_shows_and_comes_back(page: Page) -> None:
    cut = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.call("Network.emulateNetworkConditions", offline=True, **cut)
    page.wait_for("document.getElementById('connection').dataset.state === 'lost'")
    assert violations(page) == []
    page.call("Network.emulateNetworkConditions", offline=False, **cut)
    page.wait_for(LIVE)


def test_a_gate_and_a_taint_are_named(
    page: Page, control_plane: ControlPlane, namespace: str, fake_nodes: Nodes
) -> None:
    taint = {"key": "dedicated", "value": "team-b", "effect": "NoSchedule"}
    fake_nodes([t4_node("page-tainted", taints=[taint])])
    control_plane.create(pod("held", namespace, schedulingGates=[{"name": "example.com/hold"}])).expect()

    page.wait_for(f"{cell('page-tainted', 'who')} === 'page-taintedtaint dedicated=team-b:NoSchedule'")
    card = f"document.querySelector('[data-pod=\"{namespace}/held\"]')?.textContent"
    page.wait_for(f"{card}?.includes('waits until gate example.com/hold is removed')")


def test_the_keyboard_is_enough(page: Page) -> None:
    page.press("/", "/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.type("h100-2")
    page.wait_for(f"{NAMES}.join() === 'page-h100-2'")
    page.wait_for("document.getElementById('announcer').textContent.startsWith('1 node shown')")
    for _ in range(12):
        if page.evaluate(FOCUSED):
            break
        page.press("Tab")
    page.press("Enter", "\r")
    page.wait_for(DETAIL)
    assert page.evaluate("document.getElementById('detail-title').textContent") == "page-h100-2"
    page.press("Escape")
    page.wait_for(f"!{DETAIL}")
    assert page.evaluate(FOCUSED) == "page-h100-2"

    page.evaluate("document.getElementById('clear').click()")
    page.wait_for(f"{NAMES}.length === 3")
    page.evaluate("document.querySelector('[data-node=page-h100]').focus()")
    for key, name in (("ArrowDown", "page-h100-2"), ("End", "page-t4"), ("ArrowUp", "page-h100-2")):
        page.press(key)
        assert page.evaluate(FOCUSED) == name
    assert page.errors == []


def test_filters_by_family_and_state(page: Page) -> None:
    choose(page, "family", "turing")
    assert page.evaluate(NAMES) == ["page-t4"]
    choose(page, "family", "hopper")
    choose(page, "state", "idle")
    assert page.evaluate(NAMES) == ["page-h100", "page-h100-2"]
    choose(page, "state", "full")
    assert page.evaluate(NAMES) == []
    assert page.evaluate(EMPTY).startswith("No node matches.")
    assert page.evaluate("location.hash") == "#family=hopper&state=full"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_themes_can_be_read_by_everyone(page: Page, theme: str) -> None:
    choose(page, "theme", theme, "change")
    assert violations(page) == []
    picture(page, theme)
    page.evaluate("document.querySelector('[data-node=page-t4]').click()")
    page.wait_for(DETAIL)
    assert violations(page) == []
    page.press("Escape")


def test_under_another_name_a_token_is_needed(
    browser: Page, control_plane: ControlPlane, installed: Installed, namespace: str, fake_nodes: Nodes
) -> None:
    fake_nodes([t4_node("page-t4", gpus=2)])
    # It leads to the same port of this machine, as a name of somebody else's could.
    browser.open(f"{installed.admin_url.replace('127.0.0.1', 'gpusched.localhost')}/")
    browser.wait_for("document.getElementById('login').open")
    assert violations(browser) == []
    picture(browser, "token")
    account = f"/api/v1/namespaces/{namespace}/serviceaccounts/viewer"
    control_plane.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "viewer", "namespace": namespace}}
    ).expect()
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    status = control_plane.request("POST", f"{account}/token", request).expect()["status"]
    assert isinstance(status, dict)

    def present(token: str) -> None:
        choose(browser, "token", token)
        browser.evaluate("document.getElementById('login-form').requestSubmit()")

    present("of nobody")
    browser.wait_for("document.getElementById('login-text').textContent.includes('does not accept this token')")
    present(status["token"])
    browser.wait_for("document.getElementById('empty').textContent.includes('You may not list nodes')")
    for panel in ("waiting", "refusals", "quota"):
        told = f"document.getElementById('{panel}-list').textContent"
        browser.wait_for(f"{told}.startsWith('You may list pods in no namespace that uses GPUs.')")

    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"viewer-{namespace}"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "gpusched-viewer"},
        "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": namespace}],
    }
    control_plane.create(binding).expect()
    browser.wait_for(f"{NAMES}.includes('page-t4')")
    browser.evaluate("sessionStorage.clear()")
    control_plane.request("DELETE", f"/apis/{RBAC}/v1/clusterrolebindings/viewer-{namespace}")
