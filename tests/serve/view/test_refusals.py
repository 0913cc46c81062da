"""What was refused, by workload."""

from gpusched.serve.view.access import EVERYTHING
from gpusched.serve.view.refusals import Refusals
from gpusched.wire.decision import Decision


def test_refusals_of_one_workload_are_one() -> None:
    """Pods of controllers have ever new names."""
    refusals = Refusals(lambda: 0.0)
    for number in range(3):
        for owner in ("Deployment/web", "CronJob/nightly"):
            name = f"{owner.partition('/')[2]}-{number}-"
            refusals.note(Decision("mutate", "team-a", name, code="gpu-claim", message="no", workload=owner))

    found = [(item.kind, item.name, item.count) for item in refusals.views(EVERYTHING)]
    assert found == [
        ("CronJob", "nightly", 3),
        ("Deployment", "web", 3),
    ]
