from collections.abc import Mapping

import pytest

from gpusched.core.constraints import Constraints, MemoryBound
from gpusched.core.pool import Sharing
from gpusched.core.selector import Operator, Requirement
from gpusched.policy.annotations import parse_namespace, parse_pod
from gpusched.policy.model import Config, Group, Layer, Mode, Modes, Policy, Quota
from gpusched.policy.resolution import Conflict, Resolution
from gpusched.policy.resolve import resolve


def prefixed(annotations: Mapping[str, str]) -> dict[str, str]:
    return {f"gpusched.io/{key}": value for key, value in annotations.items()}


def resolved(
    namespace: Mapping[str, str] | None = None,
    pod: Mapping[str, str] | None = None,
    *,
    config: Config = Config(),  # noqa: B008 - a frozen record may be shared by all calls
    present: frozenset[str] = frozenset(),
    name: str = "team-a",
    labels: Mapping[str, str] | None = None,
) -> Resolution:
    parsed = parse_namespace(prefixed(namespace or {}))
    return resolve(config, name, labels or {}, parsed, parse_pod(prefixed(pod or {})), present)


def test_nothing_said() -> None:
    resolution = resolved()

    assert resolution == Resolution(
        namespace="team-a",
        modes=Modes(Mode.WARN),
        layers=(Layer("the cluster configuration", Policy(mode=Modes(Mode.WARN), placement="pack")),),
        own=parse_pod({}),
        constraints=Constraints(),
        wanted=Constraints(),
    )


def test_the_intersection_of_namespace_and_pod() -> None:
    resolution = resolved(
        {
            "families": "hopper, ampere, turing",
            "products": "a100, h100",
            "min-gpu-memory": "13Gi",
            "max-gpu-memory": "70000Mi",
            "sharing": "none, mig",
            "min-cuda-version": "12.2",
            "min-driver-version": "550.54",
            "node-selector": "a=b",
        },
        {
            "families": "turing, ampere",
            "products": "a100-40gb",
            "min-gpu-memory": "30Gi",
            "max-gpu-memory": "90000Mi",
            "sharing": "mig,mps",
            "min-cuda-version": "12.4",
            "min-driver-version": "535.1",
            "node-selector": "c",
        },
    )

    assert resolution.constraints == Constraints(
        families=("turing", "ampere"),
        products=(("a100", "h100"), ("a100-40gb",)),
        min_memory=MemoryBound(30720, "30Gi"),
        max_memory=MemoryBound(70000, "70000Mi"),
        sharing=frozenset({Sharing.MIG}),
        min_cuda=12040,
        min_driver=550054000,
        node_selector=(Requirement("a", Operator.IN, ("b",)), Requirement("c", Operator.EXISTS)),
    )
    assert resolution.wanted == resolution.constraints
    assert resolution.conflicts == ()


def test_the_preference_is_the_namespaces_unless_the_pod_has_one() -> None:
    ceiling = Config(ceiling=Policy(families=("ampere", "hopper", "turing")))

    assert resolved({"families": "hopper, ampere"}, config=ceiling).constraints.families == ("hopper", "ampere")
    assert resolved(
        {"families": "hopper, ampere"}, {"families": "ampere,hopper"}, config=ceiling
    ).constraints.families == ("ampere", "hopper")


@pytest.mark.parametrize("mode", ["warn", "audit", "off"])
def test_without_enforcement_only_the_pods_own_word_holds(mode: str) -> None:
    resolution = resolved(
        {"mode": mode, "families": "hopper", "min-gpu-memory": "13Gi", "node-selector": "a=b"}, {"products": "h100"}
    )

    assert resolution.constraints == Constraints(products=(("h100",),))
    assert resolution.wanted == Constraints(
        families=("hopper",),
        products=(("h100",),),
        min_memory=MemoryBound(13312, "13Gi"),
        node_selector=(Requirement("a", Operator.IN, ("b",)),),
    )


def test_modes_by_group() -> None:
    resolution = resolved(
        {"mode": "warn,family=enforce", "families": "hopper", "sharing": "none", "node-selector": "a"}
    )

    assert resolution.constraints == Constraints(families=("hopper",))
    assert resolution.enforces(Group.FAMILY)
    assert not resolution.enforces(Group.SHARING)


def test_an_enforced_ceiling_keeps_its_node_selector() -> None:
    selector = (Requirement("gpu-zone", Operator.EXISTS),)
    config = Config(ceiling=Policy(mode=Modes(Mode.ENFORCE), node_selector=selector))

    assert resolved({"mode": "off", "node-selector": "a"}, config=config).constraints.node_selector == selector


@pytest.mark.parametrize(
    ("namespace", "pod", "expected"),
    [
        (
            {"families": "ampere, turing"},
            {"families": "hopper"},
            Conflict(Group.FAMILY, "pod", "hopper", "namespace team-a", "ampere, turing"),
        ),
        (
            {"sharing": "none"},
            {"sharing": "mps, mig"},
            Conflict(Group.SHARING, "pod", "mps, mig", "namespace team-a", "none"),
        ),
        (
            {"products": "a100"},
            {"products": "h100"},
            Conflict(Group.PRODUCT, "pod", "h100", "namespace team-a", "a100"),
        ),
        (
            {"max-gpu-memory": "40Gi"},
            {"min-gpu-memory": "80G"},
            Conflict(Group.MEMORY, "pod", "at least 80G", "namespace team-a", "at most 40Gi"),
        ),
        (
            {"min-gpu-memory": "80G"},
            {"max-gpu-memory": "16Gi"},
            Conflict(Group.MEMORY, "pod", "at most 16Gi", "namespace team-a", "at least 80G"),
        ),
    ],
)
def test_conflicts_name_both_sides_in_every_mode(
    namespace: dict[str, str], pod: dict[str, str], expected: Conflict
) -> None:
    assert resolved(namespace, pod).conflicts == (expected,)
    assert resolved(namespace | {"mode": "warn"}, pod).conflicts == (expected,)


def test_an_empty_intersection_allows_nothing() -> None:
    assert resolved({"families": "ampere"}, {"families": "hopper"}).constraints.families == ()


def test_nominal_bounds_of_neighbouring_sizes_do_not_conflict() -> None:
    assert resolved({"max-gpu-memory": "80G"}, {"min-gpu-memory": "80Gi"}).conflicts == ()
    assert resolved({"max-gpu-memory": "81920Mi"}, {"min-gpu-memory": "80Gi"}).conflicts == ()


def test_a_present_product_settles_a_conflict() -> None:
    namespace, pod = {"products": "z9000"}, {"products": "96gb"}

    assert len(resolved(namespace, pod).conflicts) == 1
    assert resolved(namespace, pod, present=frozenset({"z9000-96gb"})).conflicts == ()


def test_a_ceiling_and_a_namespace_that_together_exclude_the_pod_are_both_named() -> None:
    config = Config(ceiling=Policy(families=("ampere", "turing")))
    resolution = resolved({"families": "hopper, ampere"}, {"families": "turing, hopper"}, config=config)

    assert resolution.conflicts == (
        Conflict(Group.FAMILY, "pod", "turing, hopper", "the cluster ceiling and namespace team-a", "ampere"),
    )


def test_a_namespace_outside_the_ceiling_conflicts_with_it() -> None:
    config = Config(ceiling=Policy(families=("ampere",)))

    assert resolved({"families": "hopper"}, config=config).conflicts == (
        Conflict(Group.FAMILY, "namespace team-a", "hopper", "the cluster ceiling", "ampere"),
    )


def test_products_that_only_together_exclude_the_pod() -> None:
    config = Config(ceiling=Policy(products=("a100", "h100")))
    resolution = resolved({"products": "h100, t4"}, {"products": "t4, a100"}, config=config)

    assert resolution.conflicts == (
        Conflict(
            Group.PRODUCT,
            "pod",
            "t4, a100",
            "the cluster ceiling and namespace team-a",
            "a100, h100 with h100, t4",
        ),
    )


def test_limits_are_the_tighter_ones() -> None:
    config = Config(
        ceiling=Policy(max_gpus=8, quota=Quota((("hopper", 4), ("ampere", 2)), 16), quota_memory_mib=1024),
        default_policy=Policy(max_gpus=1),
    )
    resolution = resolved(
        {"max-gpus-per-pod": "16", "quota": "hopper=8, turing=1, *=10", "quota-gpu-memory": "2Gi"}, config=config
    )

    assert resolution.max_gpus == 8
    assert resolution.quota == Quota((("ampere", 2), ("hopper", 4), ("turing", 1)), 10)
    assert resolution.quota_memory_mib == 1024
    assert [layer.name for layer in resolution.layers] == ["namespace team-a", "the cluster ceiling"]


@pytest.mark.parametrize(
    ("config", "namespace", "pod", "expected"),
    [
        (Config(), {}, {}, ("pack", "auto", "allow")),
        (
            Config(default_policy=Policy(placement="spread", runtime_class="never", visible_devices="warn")),
            {},
            {},
            ("spread", "never", "warn"),
        ),
        (
            Config(default_policy=Policy(placement="spread", visible_devices="deny")),
            {"placement": "pack", "runtime-class": "nvidia", "visible-devices": "allow"},
            {},
            ("pack", "nvidia", "allow"),
        ),
        (Config(), {"placement": "pack"}, {"placement": "spread", "runtime-class": "x"}, ("spread", "x", "allow")),
        (
            Config(ceiling=Policy(placement="pack", visible_devices="deny")),
            {"visible-devices": "warn"},
            {"placement": "spread"},
            ("pack", "auto", "deny"),
        ),
        (Config(ceiling=Policy(visible_devices="warn")), {"visible-devices": "void"}, {}, ("pack", "auto", "void")),
    ],
)
def test_choices(
    config: Config, namespace: dict[str, str], pod: dict[str, str], expected: tuple[str, str, str]
) -> None:
    resolution = resolved(namespace, pod, config=config)

    assert (resolution.placement, resolution.runtime_class, resolution.visible_devices) == expected


def test_an_exempt_namespace_knows_only_the_pods_own_word() -> None:
    pod = {"families": "hopper", "gpu-memory": "6Gi"}
    config = Config(ceiling=Policy(mode=Modes(Mode.ENFORCE), families=("ampere",), max_gpus=1))
    resolution = resolved({"quota": "*=1", "families": "x"}, pod, config=config, name="kube-system")

    assert resolution == Resolution(
        namespace="kube-system",
        modes=Modes(Mode.OFF),
        layers=(),
        own=parse_pod(prefixed(pod)),
        constraints=Constraints(families=("hopper",)),
        wanted=Constraints(families=("hopper",)),
        exempt=True,
    )


def test_standing_malformed_values_are_handed_on() -> None:
    resolution = resolved({"min-gpu-memory": "20", "families": "hopper"})

    assert [fault.message for fault in resolution.malformed] == ['"20" has no unit; write 20Gi']
    assert resolution.constraints == Constraints(families=("hopper",))


def test_a_label_exempts_a_namespace_as_the_configuration_does() -> None:
    policy, own = {"families": "hopper", "quota": "*=1"}, {"families": "ampere"}
    exempt = resolved(policy, own, labels={"gpusched.io/exempt": "true"})

    assert exempt == resolved(policy, own, config=Config(exempt_namespaces=("team-a",)))
    assert exempt.exempt
    assert not resolved(policy, own, labels={"gpusched.io/exempt": "false"}).exempt


def test_a_label_brings_the_pods_without_a_gpu() -> None:
    assert resolved(labels={"gpusched.io/gpu-less-pods": "true"}).gpu_less_pods
    assert not resolved(labels={"gpusched.io/gpu-less-pods": ""}).gpu_less_pods
