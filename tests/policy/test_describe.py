from gpusched.policy.annotations import parse_namespace
from gpusched.policy.describe import describe, describe_static
from gpusched.policy.model import Layer, Policy


def test_everything_a_policy_says() -> None:
    parsed = parse_namespace(
        {
            "gpusched.io/mode": "enforce,quota=warn",
            "gpusched.io/families": "hopper, ampere",
            "gpusched.io/products": "a100",
            "gpusched.io/min-gpu-memory": "20Gi",
            "gpusched.io/max-gpu-memory": "80G",
            "gpusched.io/sharing": "none,mig",
            "gpusched.io/min-cuda-version": "12.4",
            "gpusched.io/min-driver-version": "550.54",
            "gpusched.io/node-selector": "zone in (a,b),!spot",
            "gpusched.io/max-gpus-per-pod": "4",
            "gpusched.io/quota": "hopper=4, *=8",
            "gpusched.io/quota-gpu-memory": "320Gi",
            "gpusched.io/placement": "spread",
            "gpusched.io/runtime-class": "never",
            "gpusched.io/visible-devices": "deny",
        }
    )

    assert describe(parsed.policy) == (
        "families=hopper,ampere products=a100 memory>=20Gi memory<=80G sharing=none,mig cuda>=12.4 driver>=550.54 "
        "node-selector=zone in (a,b),!spot max-gpus-per-pod=4 quota=hopper=4,*=8 quota-gpu-memory=320Gi "
        "placement=spread runtime-class=never visible-devices=deny mode=enforce,quota=warn"
    )
    assert describe(Policy()) == ""


def test_rules_on_nodes_with_their_layers() -> None:
    layers = (
        Layer("namespace team-a", Policy(families=("hopper",), max_gpus=4)),
        Layer("the cluster configuration", Policy(placement="pack")),
        Layer("pod", Policy(products=("h100",))),
    )

    assert describe_static(layers) == "families=hopper (namespace team-a); products=h100 (pod)"
