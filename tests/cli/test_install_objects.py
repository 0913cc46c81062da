import pytest

from gpusched.cli.install_objects import overlays, path_of, shipped_webhooks
from gpusched.doctor.preflight import Placed
from tests.manifests.overlays import OVERLAYS


@pytest.mark.parametrize(
    ("item", "path"),
    [
        (Placed("Namespace", "n"), "/api/v1/namespaces/n"),
        (Placed("Secret", "s", "n"), "/api/v1/namespaces/n/secrets/s"),
        (
            Placed("NetworkPolicy", "p", "n", "networking.k8s.io/v1"),
            "/apis/networking.k8s.io/v1/namespaces/n/networkpolicies/p",
        ),
        (
            Placed("ClusterRole", "r", api_version="rbac.authorization.k8s.io/v1"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/r",
        ),
    ],
)
def test_paths(item: Placed, path: str) -> None:
    assert path_of(item) == path


def test_every_overlay_is_there_with_what_gpusched_makes() -> None:
    found = overlays()

    assert sorted(found) == OVERLAYS
    for overlay in found.values():
        assert len(set(overlay.objects)) == len(overlay.objects)
        made = {(item.kind, item.name) for item in overlay.objects if item.made_by == "gpusched"}
        assert made == {("Lease", "gpusched"), ("Secret", "gpusched-webhook-tls"), ("Secret", "gpusched-extender-tls")}
    assert [name for name, overlay in found.items() if overlay.opt_in or overlay.second_scheduler] == ["managed"]


def test_both_webhook_configurations_are_shipped() -> None:
    assert [tree["kind"] for tree in shipped_webhooks()] == [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ]
