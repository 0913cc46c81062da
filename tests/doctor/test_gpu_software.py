import pytest

from gpusched.doctor.gpu_software import mutating_pods, rewriting, schedulers_of
from tests.doctor.site import webhook


def test_other_software_that_rewrites_gpu_pods_is_known_by_its_name() -> None:
    names = ("hami-webhook", "istio", "volcano-admission", "gpusched")

    assert rewriting(webhook(name) for name in names) == ["hami-webhook", "volcano-admission"]
    assert rewriting([webhook("hami-webhook") | {"kind": "ValidatingWebhookConfiguration"}]) == []


@pytest.mark.parametrize(
    ("configuration", "sees"),
    [
        (webhook("a"), True),
        (webhook("a", groups=["*"], resources=["*"]), True),
        (webhook("a", resources=["*/*"]), True),
        (webhook("a", resources=["pods/ephemeralcontainers"]), False),
        (webhook("a", resources=["services"]), False),
        (webhook("a", groups=["apps"]), False),
        (webhook("gpusched"), False),
        ({"kind": "MutatingWebhookConfiguration", "metadata": {"name": "a"}}, False),
        (webhook("a") | {"kind": "ValidatingWebhookConfiguration"}, False),
    ],
)
def test_webhooks_that_see_pods(configuration: dict[str, object], sees: bool) -> None:
    assert mutating_pods([configuration]) == (["a"] if sees else [])


def test_schedulers_by_their_api_groups() -> None:
    assert schedulers_of(["apps", "kueue.x-k8s.io", "scheduling.volcano.sh", "batch"]) == ["Kueue", "Volcano"]
