import pytest

from gpusched.core.selector import Operator, Requirement
from gpusched.policy.annotations import parse_namespace
from gpusched.policy.layers import configured_policy, stack
from gpusched.policy.model import Config, Group, Layer, Mode, Modes, Policy, SelectedPolicy

TEAM_A = (Requirement("team", Operator.IN, ("a",)),)


def config(**layers: Policy) -> Config:
    default, selected = layers.get("default", Policy()), layers.get("selected")
    policies = () if selected is None else (SelectedPolicy(TEAM_A, selected),)
    return Config(default_policy=default, policies=policies, ceiling=layers.get("ceiling", Policy()))


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, Mode.WARN),
        ({"mode": "audit"}, Mode.AUDIT),
        ({"mode": "off", "families": "hopper"}, Mode.OFF),
        ({"families": "hopper"}, Mode.ENFORCE),
        ({"quota": "*=4"}, Mode.ENFORCE),
        ({"visible-devices": "deny"}, Mode.ENFORCE),
        ({"node-selector": "a=b"}, Mode.ENFORCE),
        ({"placement": "spread", "runtime-class": "never"}, Mode.WARN),
        ({"families": "hoper"}, Mode.ENFORCE),
        ({"placement": "bin-pack"}, Mode.WARN),
        ({"famlies": "hopper"}, Mode.WARN),
    ],
)
def test_mode_by_annotations(annotations: dict[str, str], expected: Mode) -> None:
    parsed = parse_namespace({f"gpusched.io/{key}": value for key, value in annotations.items()})

    assert stack(Config(), "team-a", {}, parsed).modes == Modes(expected)


@pytest.mark.parametrize(
    ("default", "selected", "expected"),
    [
        (Policy(), Policy(families=("hopper",)), Mode.WARN),
        (Policy(families=("hopper",)), Policy(), Mode.WARN),
        (Policy(mode=Modes(Mode.ENFORCE)), Policy(), Mode.ENFORCE),
        (Policy(mode=Modes(Mode.OFF)), Policy(mode=Modes(Mode.ENFORCE)), Mode.ENFORCE),
        (Policy(mode=Modes(Mode.ENFORCE)), Policy(mode=Modes(Mode.AUDIT)), Mode.AUDIT),
    ],
)
def test_a_configured_policy_enforces_only_if_it_says_so(default: Policy, selected: Policy, expected: Mode) -> None:
    held = stack(config(default=default, selected=selected), "team-a", {"team": "a"}, parse_namespace({}))

    assert held.modes == Modes(expected)


def test_policies_replace_the_default_and_each_other_key_by_key() -> None:
    configuration = Config(
        default_policy=Policy(families=("turing",), max_gpus=8, placement="pack"),
        policies=(
            SelectedPolicy((), Policy(families=("ampere",), products=("a100",))),
            SelectedPolicy(TEAM_A, Policy(families=("hopper",))),
            SelectedPolicy((Requirement("team", Operator.IN, ("b",)),), Policy(max_gpus=1)),
        ),
    )

    assert configured_policy(configuration, {"team": "a"}) == Policy(
        families=("hopper",), products=("a100",), max_gpus=8, placement="pack"
    )


def test_the_namespace_replaces_the_configuration_and_the_ceiling_stays() -> None:
    held = stack(
        config(default=Policy(families=("turing",), max_gpus=8), ceiling=Policy(families=("hopper",))),
        "team-a",
        {},
        parse_namespace({"gpusched.io/families": "hopper, ampere"}),
    )

    assert held.layers == (
        Layer("the cluster ceiling", Policy(families=("hopper",))),
        Layer("the cluster configuration", Policy(max_gpus=8)),
        Layer("namespace team-a", Policy(families=("hopper", "ampere"))),
    )


@pytest.mark.parametrize(
    ("default_mode", "ceiling_mode", "namespace_mode", "expected"),
    [
        (None, None, "off", Mode.OFF),
        (Mode.WARN, None, "off", Mode.OFF),
        (Mode.ENFORCE, None, "off", Mode.ENFORCE),
        (Mode.ENFORCE, Mode.WARN, "off", Mode.OFF),
        (None, Mode.ENFORCE, "audit", Mode.ENFORCE),
        (None, None, "enforce", Mode.ENFORCE),
    ],
)
def test_no_annotation_switches_the_ceiling_off(
    default_mode: Mode | None, ceiling_mode: Mode | None, namespace_mode: str, expected: Mode
) -> None:
    held = stack(
        config(
            default=Policy(mode=Modes(default_mode) if default_mode else None),
            ceiling=Policy(mode=Modes(ceiling_mode) if ceiling_mode else None, families=("hopper",)),
        ),
        "team-a",
        {},
        parse_namespace({"gpusched.io/mode": namespace_mode, "gpusched.io/max-gpus-per-pod": "1"}),
    )

    assert held.modes.of(Group.FAMILY) is expected
    assert held.modes.of(Group.MAX_GPUS) is Mode(namespace_mode)


def test_where_only_the_ceiling_enforces_it_alone_speaks() -> None:
    held = stack(
        config(ceiling=Policy(mode=Modes(Mode.ENFORCE), families=("hopper", "ampere"))),
        "team-a",
        {},
        parse_namespace({"gpusched.io/mode": "warn", "gpusched.io/families": "ampere", "gpusched.io/products": "a100"}),
    )

    assert held.modes == Modes(Mode.WARN, ((Group.FAMILY, Mode.ENFORCE),))
    assert [(layer.name, layer.policy.families, layer.policy.products) for layer in held.layers] == [
        ("the cluster ceiling", ("hopper", "ampere"), None),
        ("namespace team-a", None, ("a100",)),
    ]
