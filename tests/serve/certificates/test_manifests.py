"""The shipped manifests, as far as certificates rely on them."""

from certs.profile import EXTENDER_SERVICE, WEBHOOK_SERVICE, extender_profile, webhook_profile
from gpusched.kube.webhook_bundles import CONFIGURATION
from tests.serve.test_manifests import documents, webhooks


def rules(kind: str, resource: str) -> list[tuple[list[str], list[str]]]:
    """Names and verbs of every rule about a resource."""
    return [
        (rule.get("resourceNames", []), rule["verbs"])
        for tree in documents("rbac")
        if tree["kind"] == kind
        for rule in tree["rules"]
        if resource in rule["resources"]
    ]


def test_no_more_may_be_done_with_secrets_than_is_done() -> None:
    names = [profile("gpusched-system").secret for profile in (webhook_profile, extender_profile)]

    assert rules("Role", "secrets") == [([], ["create"]), (names, ["get", "update"])]
    assert rules("ClusterRole", "secrets") == []


def test_nor_with_webhook_configurations() -> None:
    for resource in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        assert rules("ClusterRole", resource) == [([CONFIGURATION], ["get", "patch"])]
        assert rules("Role", resource) == []
    named = {tree["metadata"]["name"] for tree in documents("webhooks")}
    assert named == {CONFIGURATION}


def test_manifests_hold_no_bundle_that_would_take_the_written_one_away() -> None:
    assert webhooks()
    assert not any("caBundle" in hook["clientConfig"] for hook in webhooks())


def test_the_deployment_keeps_its_certificates_itself() -> None:
    (deployment,) = documents("deployment")
    spec = deployment["spec"]["template"]["spec"]

    assert "--certs=secret" in spec["containers"][0]["args"]
    assert "--cert-dir" not in " ".join(spec["containers"][0]["args"])
    assert not any("secret" in volume or "projected" in volume for volume in spec["volumes"])


def test_services_are_those_of_the_certificates() -> None:
    assert {tree["metadata"]["name"] for tree in documents("service")} == {WEBHOOK_SERVICE, EXTENDER_SERVICE}
