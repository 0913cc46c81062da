"""Ways round scheduler, device plugin and limits: nodeName, NVIDIA_VISIBLE_DEVICES, very many GPUs."""

import pytest

from gpusched.admission.admission import Admission
from tests.admission.judging import codes, judged, lines
from tests.build import Tree, container, pod

#: The label by which pods without a GPU come to gpusched.
COVERED = {"gpusched.io/gpu-less-pods": "true"}


@pytest.mark.parametrize(
    ("tree", "context", "refused"),
    [
        (pod(nodeName="n"), {}, True),
        (pod(nodeName="n"), {"template": True}, True),
        (pod(nodeName="n"), {"controller": "ReplicaSet"}, True),
        (pod(nodeName="n"), {"controller": "DaemonSet"}, False),
        (pod(gpus=0, nodeName="n"), {}, False),
        (pod(), {}, False),
    ],
)
def test_preset_node(tree: Tree, context: dict[str, object], refused: bool) -> None:
    code = ["gpu-node-name"] if refused else []
    assert codes(judged(tree, policy={"mode": "enforce"}, **context)) == (code, [])
    assert codes(judged(tree, policy={"mode": "enforce,node-name=off"}, **context)) == ([], [])
    assert codes(judged(tree, **context)) == ([], code)


def _seeing(value: object, *, gpus: int | None = None) -> Tree:
    entry = {"name": "NVIDIA_VISIBLE_DEVICES"} | ({"valueFrom": {}} if value is None else {"value": value})
    return pod("p", "team-a", container("c", gpus=gpus, env=[entry]))


@pytest.mark.parametrize(
    ("policy", "value", "gpus", "refused", "warned"),
    [
        ("allow", "all", None, 0, 0),
        ("warn", "all", None, 0, 1),
        ("warn", "all", 1, 0, 1),
        ("warn", "void", None, 0, 0),
        ("deny", "all", None, 1, 0),
        ("deny", "GPU-1", 1, 1, 0),
        ("deny", "void", 1, 0, 0),
        ("deny", "none", None, 0, 0),
        ("deny", "", None, 0, 0),
        ("deny", None, None, 1, 0),
        ("void", "all", None, 1, 0),
        ("void", "all", 1, 0, 0),
        ("void", "void", None, 0, 0),
    ],
)
def test_visible_devices(policy: str, value: object, gpus: int | None, refused: int, warned: int) -> None:
    answer = judged(_seeing(value, gpus=gpus), policy={"visible-devices": policy}, labels=COVERED)
    assert codes(answer) == (["gpu-visible-devices"] * refused, ["gpu-visible-devices"] * warned)


@pytest.mark.parametrize("labels", [{}, {"gpusched.io/gpu-less-pods": "false"}])
@pytest.mark.parametrize("policy", ["warn", "deny", "void"])
def test_pods_without_a_gpu_are_left_alone_where_the_namespace_has_no_label(
    policy: str, labels: dict[str, str]
) -> None:
    context = {"policy": {"visible-devices": policy}, "labels": labels}
    assert judged(_seeing("all"), **context) == Admission()
    assert judged(pod(gpus=None), **context) == Admission()
    annotated = _seeing("all")
    annotated["metadata"]["annotations"] = {"gpusched.io/placement": "pack"}
    refused, warned = codes(judged(annotated, **context))
    assert refused + warned == ["gpu-visible-devices"]


def test_visible_devices_by_mode_and_in_words() -> None:
    tree = _seeing("all")
    assert lines(judged(tree, policy={"visible-devices": "deny"}, labels=COVERED))[0] == [
        (
            "gpu-visible-devices: container c sets NVIDIA_VISIBLE_DEVICES to all, which goes round the GPU count. "
            "Remove it and ask for GPUs under resources.limits."
        )
    ]
    loose, off = ({"visible-devices": "deny", "mode": mode} for mode in ("warn", "off"))
    assert codes(judged(tree, policy=loose, labels=COVERED)) == ([], ["gpu-visible-devices"])
    assert codes(judged(tree, policy=off, labels=COVERED)) == ([], [])


def test_the_last_value_of_a_variable_counts() -> None:
    names = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": value} for value in ("all", "void")]
    tree = pod("p", "team-a", container("c", env=names))
    assert codes(judged(tree, policy={"visible-devices": "deny"}, labels=COVERED)) == ([], [])


@pytest.mark.parametrize(
    ("tree", "most", "line"),
    [
        (pod(gpus=4), "4", None),
        (pod(gpus=8), "4", "pod asks 8 GPUs; team-a allows 4 per pod. Ask for 4."),
        (pod(gpus=1), "0", "pod asks 1 GPU; team-a allows 0 per pod. Remove the GPU request."),
        (
            pod("p", "team-a", container("a", gpus=1), container("b", gpus=1, resource="nvidia.com/mig-1g.5gb")),
            "1",
            "pod asks 2 GPUs (a 1, b 1); team-a allows 1 per pod. Ask for 1 or split the pod.",
        ),
    ],
)
def test_max_gpus(tree: Tree, most: str, line: str | None) -> None:
    refusals, _ = lines(judged(tree, policy={"max-gpus-per-pod": most}))
    assert refusals == ([] if line is None else [f"gpu-policy-max-gpus: {line}"])
