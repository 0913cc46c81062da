"""What pods ask for against what layers allow."""

import pytest

from gpusched.policy.model import Config, Policy
from tests.admission.judging import codes, judged, lines
from tests.build import Tree, pod


def _affinity(*terms: dict[str, list[str]]) -> Tree:
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": key, "operator": "In", "values": values} for key, values in term.items()
                        ]
                    }
                    for term in terms
                ]
            }
        }
    }


_PRODUCT, _FAMILY, _GKE = "nvidia.com/gpu.product", "nvidia.com/gpu.family", "cloud.google.com/gke-accelerator"
_RULES: list[tuple[str, Tree, dict[str, str], str | None]] = [
    ("annotation family", pod(annotations={"gpusched.io/families": "hopper"}), {"families": "ampere"}, "family"),
    ("annotation meets", pod(annotations={"gpusched.io/families": "hopper,ampere"}), {"families": "ampere"}, None),
    ("annotation product", pod(annotations={"gpusched.io/products": "t4"}), {"products": "a100"}, "product"),
    (
        "annotation memory",
        pod(annotations={"gpusched.io/min-gpu-memory": "80Gi"}),
        {"max-gpu-memory": "24Gi"},
        "memory",
    ),
    ("annotation sharing", pod(annotations={"gpusched.io/sharing": "none"}), {"sharing": "mig"}, "sharing"),
    ("product of a family", pod(annotations={"gpusched.io/products": "t4"}), {"families": "hopper"}, "family"),
    ("product of that family", pod(annotations={"gpusched.io/products": "h100"}), {"families": "hopper"}, None),
    ("unknown product", pod(annotations={"gpusched.io/products": "x999"}), {"families": "hopper"}, None),
    ("product of a size", pod(annotations={"gpusched.io/products": "t4"}), {"min-gpu-memory": "40Gi"}, "memory"),
    ("product of two sizes", pod(annotations={"gpusched.io/products": "a100"}), {"min-gpu-memory": "80Gi"}, None),
    ("family of a product", pod(annotations={"gpusched.io/families": "turing"}), {"products": "h100"}, "product"),
    ("selector product", pod(nodeSelector={_PRODUCT: "Tesla-T4"}), {"families": "hopper"}, "family"),
    ("selector product 2", pod(nodeSelector={_PRODUCT: "Tesla-T4"}), {"products": "a100"}, "product"),
    ("selector product ok", pod(nodeSelector={_PRODUCT: "NVIDIA-A100-SXM4-40GB"}), {"products": "a100"}, None),
    ("selector product memory", pod(nodeSelector={_PRODUCT: "Tesla-T4"}), {"min-gpu-memory": "40Gi"}, "memory"),
    ("selector nominal", pod(nodeSelector={_PRODUCT: "Tesla-T4"}), {"min-gpu-memory": "16Gi"}, None),
    ("selector family", pod(nodeSelector={_FAMILY: "turing"}), {"families": "hopper"}, "family"),
    ("selector old ada", pod(nodeSelector={_FAMILY: "ampere"}), {"families": "ada"}, None),
    ("selector nonsense", pod(nodeSelector={_FAMILY: "x"}), {"families": "ada"}, None),
    ("selector gke", pod(nodeSelector={_GKE: "nvidia-tesla-t4"}), {"families": "hopper"}, "family"),
    ("selector gke meets", pod(nodeSelector={_GKE: "nvidia-tesla-a100"}), {"products": "a100-sxm4"}, None),
    ("selector memory", pod(nodeSelector={"nvidia.com/gpu.memory": "15360"}), {"min-gpu-memory": "40Gi"}, "memory"),
    ("selector sharing", pod(nodeSelector={"nvidia.com/gpu.sharing-strategy": "mps"}), {"sharing": "none"}, "sharing"),
    ("selector other", pod(nodeSelector={"zone": "hopper"}), {"families": "ada"}, None),
    (
        "affinity",
        pod(affinity=_affinity({_PRODUCT: ["Tesla-T4", "Tesla-V100-SXM2-16GB"]})),
        {"families": "hopper"},
        "family",
    ),
    (
        "affinity or",
        pod(affinity=_affinity({_PRODUCT: ["Tesla-T4"]}, {_FAMILY: ["hopper"]})),
        {"families": "hopper"},
        None,
    ),
    ("affinity open", pod(affinity=_affinity({_PRODUCT: ["Tesla-T4"]}, {"zone": ["a"]})), {"families": "hopper"}, None),
    (
        "affinity both",
        pod(affinity=_affinity({_PRODUCT: ["Tesla-T4"]}, {_FAMILY: ["volta"]})),
        {"families": "hopper"},
        "family",
    ),
    ("resource amd", pod(resource="amd.com/gpu"), {"families": "hopper"}, "family"),
    ("resource amd fits", pod(resource="amd.com/gpu"), {"families": "hopper, cdna3"}, None),
    ("resource amd products", pod(resource="amd.com/gpu"), {"products": "h100"}, "product"),
    ("resource amd cuda", pod(resource="amd.com/gpu"), {"min-cuda-version": "12.4"}, "version"),
    ("resource renamed", pod(resource="nvidia.com/gpu-10gb"), {"families": "hopper"}, None),
    ("resource mig", pod(resource="nvidia.com/mig-1g.5gb"), {"min-gpu-memory": "20Gi"}, "memory"),
    ("resource mig nominal", pod(resource="nvidia.com/mig-3g.20gb"), {"min-gpu-memory": "20Gi"}, None),
    ("resource mig above", pod(resource="nvidia.com/mig-3g.20gb"), {"max-gpu-memory": "10Gi"}, "memory"),
    ("resource mig sharing", pod(resource="nvidia.com/mig-1g.5gb"), {"sharing": "none"}, "sharing"),
    ("resource shared", pod(resource="nvidia.com/gpu.shared"), {"sharing": "none, mig"}, "sharing"),
    ("no gpu", pod(gpus=None, annotations={"gpusched.io/families": "hopper"}), {"families": "ampere"}, None),
]


@pytest.mark.parametrize(("tree", "policy", "word"), [case[1:] for case in _RULES], ids=[case[0] for case in _RULES])
@pytest.mark.parametrize("mode", ["enforce", "warn", "audit", "off"])
def test_rules(tree: Tree, policy: dict[str, str], word: str | None, mode: str) -> None:
    answer = judged(tree, policy=policy | {"mode": mode})
    code = [] if word is None else [f"gpu-policy-{word}"]
    expected = {"enforce": (code, []), "warn": ([], code), "audit": ([], []), "off": ([], [])}
    assert codes(answer) == expected[mode]
    assert [key for key, _ in answer.audit if key.startswith("gpu-")] == (code if mode == "audit" else [])


def test_a_group_may_have_a_mode_of_its_own() -> None:
    tree = pod(resource="nvidia.com/mig-1g.5gb")
    policy = {"mode": "enforce,sharing=warn", "sharing": "none", "min-gpu-memory": "20Gi"}
    assert codes(judged(tree, policy=policy)) == (["gpu-policy-memory"], ["gpu-policy-sharing"])


@pytest.mark.parametrize(
    ("tree", "policy", "line"),
    [
        (
            pod(resource="amd.com/gpu"),
            {"families": "hopper"},
            "gpu-policy-family: pod asks for amd.com/gpu; namespace team-a allows hopper. Ask for another resource.",
        ),
        (
            pod(nodeSelector={_PRODUCT: "Tesla-T4"}),
            {"families": "hopper"},
            (
                "gpu-policy-family: pod asks for Tesla-T4; namespace team-a allows hopper. "
                "Change nodeSelector nvidia.com/gpu.product."
            ),
        ),
        (
            pod(resource="nvidia.com/mig-1g.5gb"),
            {"min-gpu-memory": "20Gi"},
            (
                "gpu-policy-memory: pod asks for nvidia.com/mig-1g.5gb; namespace team-a allows at least 20Gi. "
                "Ask for another resource."
            ),
        ),
        (
            pod(annotations={"gpusched.io/min-gpu-memory": "80Gi"}),
            {"max-gpu-memory": "24Gi"},
            (
                "gpu-policy-memory: pod asks for at least 80Gi; namespace team-a allows at most 24Gi. "
                "Set gpusched.io/min-gpu-memory and max-gpu-memory within that."
            ),
        ),
    ],
)
def test_sentences_name_both_sides_and_a_cure(tree: Tree, policy: dict[str, str], line: str) -> None:
    assert lines(judged(tree, policy=policy)) == ([line], [])


def test_the_layer_is_named() -> None:
    config = Config(ceiling=Policy(families=("ampere",)))
    assert lines(judged(pod(), policy={"families": "hopper"}, config=config))[0] == [
        (
            "gpu-policy-family: namespace team-a asks for hopper; the cluster ceiling allows ampere. "
            "An admin must change one of them."
        )
    ]
