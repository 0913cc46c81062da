from typing import Any

import pytest

from gpusched.core.constraints import MemoryBound
from gpusched.core.fault import Fault
from gpusched.core.pod import Toleration
from gpusched.core.pool import Sharing
from gpusched.core.selector import Operator, Requirement
from gpusched.policy.config import parse_config
from gpusched.policy.model import Config, ConfiguredResource, Mode, Modes, Policy, SelectedPolicy

HEAD = {"apiVersion": "gpusched.io/v1alpha1", "kind": "Config"}


def faults(**sections: Any) -> tuple[Fault, ...]:
    return parse_config(HEAD | sections)[1]


def test_every_field_has_a_default() -> None:
    assert parse_config(HEAD) == (Config(), ())


def test_every_field() -> None:
    tree = HEAD | {
        "resources": [{"name": "nvidia.com/gpu-10gb", "vendor": "nvidia"}],
        "defaultPolicy": {"mode": "enforce,quota=warn", "placement": "spread"},
        "policies": [
            {
                "namespaceSelector": {
                    "matchLabels": {"team": "a"},
                    "matchExpressions": [{"key": "stage", "operator": "NotIn", "values": ["dev"]}],
                },
                "policy": {"families": ["hopper", "ampere"], "sharing": ["none"]},
            },
            {"namespaceSelector": {}, "policy": {"min-gpu-memory": "13Gi"}},
        ],
        "ceiling": {"max-gpus-per-pod": 8},
        "runtimeClasses": {"amd": "rocm", "nvidia": ""},
        "tolerations": [{"key": "sku", "value": "gpu", "effect": "NoSchedule"}, {"operator": "Exists"}],
        "exemptNamespaces": ["kube-system"],
        "secondScheduler": "gpusched-scheduler",
        "lowering": {"enabled": False, "dialects": ["gfd", "gke"]},
        "claims": {"reserve": "2.5%", "aboveSlot": "allow"},
        "sharing": {"timeSlicingSingle": True},
        "extender": {"candidates": 32, "weight": 5, "httpTimeout": "300ms"},
        "labels": {"keep": "1h"},
    }

    config, found = parse_config(tree)

    assert found == ()
    assert config == Config(
        resources=(ConfiguredResource("nvidia.com/gpu-10gb", "nvidia"),),
        default_policy=Policy(mode=Modes(Mode.ENFORCE, (("quota", Mode.WARN),)), placement="spread"),
        policies=(
            SelectedPolicy(
                (Requirement("team", Operator.IN, ("a",)), Requirement("stage", Operator.NOT_IN, ("dev",))),
                Policy(families=("hopper", "ampere"), sharing=(Sharing.NONE,)),
            ),
            SelectedPolicy((), Policy(min_memory=MemoryBound(13312, "13Gi"))),
        ),
        ceiling=Policy(max_gpus=8),
        runtime_classes={"nvidia": "", "amd": "rocm", "intel": ""},
        tolerations=(Toleration("sku", "Equal", "gpu", "NoSchedule"), Toleration("", "Exists")),
        exempt_namespaces=("kube-system",),
        second_scheduler="gpusched-scheduler",
        lowering_enabled=False,
        lowering_dialects=("gfd", "gke"),
        claim_reserve=250,
        claim_above_slot="allow",
        time_slicing_single=True,
        candidates=32,
        weight=5,
        http_timeout_ms=300,
        labels_keep_s=3600,
    )


def test_auto_and_null_are_the_defaults() -> None:
    tree = HEAD | {
        "lowering": {"dialects": "auto", "enabled": None},
        "sharing": {"timeSlicingSingle": "auto"},
        "claims": None,
        "policies": [],
        "exemptNamespaces": None,
    }

    assert parse_config(tree) == (Config(), ())


@pytest.mark.parametrize("value", ["off", False])
def test_a_bare_off_is_a_mode_although_yaml_reads_a_boolean(value: object) -> None:
    config, found = parse_config(HEAD | {"defaultPolicy": {"mode": value}})

    assert found == ()
    assert config.default_policy == Policy(mode=Modes(Mode.OFF))


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (None, ("", "the document is empty; write at least apiVersion: gpusched.io/v1alpha1 and kind: Config")),
        ({"kind": "Config"}, ("apiVersion", "is missing; write gpusched.io/v1alpha1")),
        (
            {"apiVersion": "gpusched.io/v1", "kind": "Config"},
            ("apiVersion", '"gpusched.io/v1" is not known here; write gpusched.io/v1alpha1'),
        ),
        (HEAD | {"kind": 1}, ("kind", '"1" is not known here; write Config')),
        (HEAD | {"ceilling": {}}, ("ceilling", '"ceilling" is no known key; write ceiling')),
        (HEAD | {"extender": {"weigth": 1}}, ("extender.weigth", '"weigth" is no known key; write weight')),
        (
            HEAD | {"ceiling": {"max-gpus": 8}},
            ("ceiling.max-gpus", '"max-gpus" is no policy key; write max-gpus-per-pod'),
        ),
        (
            HEAD | {"ceiling": {"gpusched.io/families": "hopper"}},
            ("ceiling[gpusched.io/families]", '"gpusched.io/families" stands without prefix here; write families'),
        ),
        (
            HEAD | {"defaultPolicy": {"min-gpu-memory": 20}},
            ("defaultPolicy.min-gpu-memory", '"20" has no unit; write 20Gi'),
        ),
        (
            HEAD | {"defaultPolicy": {"min-cuda-version": 12.4}},
            (
                "defaultPolicy.min-cuda-version",
                "must be a string, but YAML reads it as the number 12.4: put it in quotes as it was written",
            ),
        ),
        (
            HEAD | {"defaultPolicy": {"mode": True}},
            ("defaultPolicy.mode", "must be a string, but YAML reads it as true: put it in quotes as it was written"),
        ),
        (
            HEAD | {"policies": [{"policy": {"families": "hopper"}}]},
            ("policies[0].namespaceSelector", "is missing; write it ({} for all namespaces)"),
        ),
        (HEAD | {"policies": [{"namespaceSelector": {}}]}, ("policies[0].policy", "is missing; write it")),
        (
            HEAD | {"policies": [{"namespaceSelector": {"matchLabel": {"a": "b"}}, "policy": {}}]},
            (
                "policies[0].namespaceSelector.matchLabel",
                '"matchLabel" is no known key; write matchLabels',
            ),
        ),
        (
            HEAD | {"policies": [{"namespaceSelector": {"matchLabels": {"a": "b c"}}, "policy": {}}]},
            (
                "policies[0].namespaceSelector",
                "\"b c\" is no label value; write at most 63 letters, digits, '-', '_' or '.'",
            ),
        ),
        (
            HEAD | {"resources": [{"name": "gpu", "vendor": "nvidia"}]},
            (
                "resources[0].name",
                '"gpu" is no extended resource name; write a domain and a name, such as nvidia.com/gpu-10gb',
            ),
        ),
        (
            HEAD | {"resources": [{"name": "a.b/c", "vendor": "nvidia"}] * 2},
            ("resources[1].name", '"a.b/c" stands here twice; take one of them out'),
        ),
        (
            HEAD | {"resources": [{"name": "a.b/c", "vendor": "Nvidia"}]},
            ("resources[0].vendor", '"Nvidia" is no vendor; write nvidia'),
        ),
        (
            HEAD | {"secondScheduler": "default-scheduler"},
            (
                "secondScheduler",
                "default-scheduler is the first scheduler; leave secondScheduler out where that one calls gpusched",
            ),
        ),
        (
            HEAD | {"secondScheduler": "GPU scheduler"},
            (
                "secondScheduler",
                '"GPU scheduler" is no name of a scheduler; write a lower-case name such as gpusched-scheduler',
            ),
        ),
        (HEAD | {"resources": [{"name": "a.b/c"}]}, ("resources[0].vendor", "is missing; write nvidia, amd or intel")),
        (HEAD | {"runtimeClasses": {"nvdia": "x"}}, ("runtimeClasses.nvdia", '"nvdia" is no known key; write nvidia')),
        *(
            (
                HEAD | {"runtimeClasses": {"nvidia": word}},
                ("runtimeClasses.nvidia", f'"{word}" is no name of a RuntimeClass; write "" for none'),
            )
            for word in ("never", "None", "off")
        ),
        (
            HEAD | {"runtimeClasses": {"amd": "auto"}},
            (
                "runtimeClasses.amd",
                '"auto" is no name of a RuntimeClass; write one such as nvidia, which policies with auto then mean',
            ),
        ),
        (
            HEAD | {"runtimeClasses": {"nvidia": "A B"}},
            ("runtimeClasses.nvidia", '"A B" is no name of a RuntimeClass; write a lower-case name, or "" for none'),
        ),
        (
            HEAD | {"tolerations": [{"value": "gpu"}]},
            (
                "tolerations[0].key",
                "is missing; write the key of the taint, or operator: Exists for all taints",
            ),
        ),
        (
            HEAD | {"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
            ("tolerations[0].value", '"b" cannot stand beside operator Exists; take it out'),
        ),
        (
            HEAD | {"tolerations": [{"key": "a", "effect": "NoSchedul"}]},
            ("tolerations[0].effect", '"NoSchedul" is no taint effect; write NoSchedule'),
        ),
        (
            HEAD | {"exemptNamespaces": ["gpu-*"]},
            (
                "exemptNamespaces[0]",
                '"gpu-*" is no name of a namespace; write names without patterns, such as kube-system',
            ),
        ),
        (
            HEAD | {"lowering": {"dialects": "gfd"}},
            ("lowering.dialects", '"gfd" is no list of dialects; write auto or a list such as [gfd]'),
        ),
        (
            HEAD | {"lowering": {"enabled": "yes"}},
            ("lowering.enabled", 'must be true or false without quotes, not the string "yes"'),
        ),
        (HEAD | {"claims": {"reserve": 5}}, ("claims.reserve", '"5" is no percentage; write 5%')),
        (
            HEAD | {"claims": {"aboveSlot": "always"}},
            ("claims.aboveSlot", '"always" is no choice; write never, single-gpu or allow'),
        ),
        (
            HEAD | {"sharing": {"timeSlicingSingle": "maybe"}},
            ("sharing.timeSlicingSingle", '"maybe" is no choice; write auto, true or false'),
        ),
        (HEAD | {"extender": {"weight": 0}}, ("extender.weight", "0 is too small; write 1 or more")),
        (HEAD | {"extender": {"candidates": -1}}, ("extender.candidates", "-1 is too small; write 0 or more")),
        (HEAD | {"extender": {"httpTimeout": 1}}, ("extender.httpTimeout", '"1" is no duration; write 1s')),
        (
            HEAD | {"labels": {"keep": "300ms"}},
            ("labels.keep", '"300ms" is no whole number of seconds; write for example 1s'),
        ),
    ],
)
def test_one_fault(tree: object, expected: tuple[str, str]) -> None:
    config, found = parse_config(tree)

    assert found == (Fault(*expected),)
    assert isinstance(config, Config)


@pytest.mark.parametrize("tree", [[], "text", 1, True])
def test_a_document_that_is_no_mapping(tree: object) -> None:
    _, found = parse_config(tree)

    assert [(fault.path, fault.message.partition(",")[0]) for fault in found] == [("", "must be a mapping")]


def test_all_errors_together() -> None:
    found = faults(
        ceiling={"families": "hoper", "quota": 16},
        extender={"weight": 0, "wait": 1},
        labels=[],
    )

    assert sorted(fault.path for fault in found) == [
        "ceiling.families",
        "ceiling.quota",
        "extender.wait",
        "extender.weight",
        "labels",
    ]
