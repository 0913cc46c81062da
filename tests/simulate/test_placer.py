"""What is remembered between pods of a kind never changes the outcome."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched.simulate import run as run_module
from gpusched.simulate.placer import Placer
from tests.build import Tree, a100_node, h100_node, namespace, pod, t4_node
from tests.simulate.scene import placed, workload


class _Forgetful(Placer):
    """Judges every node anew for every pod."""

    def choose(self, candidate: Any, likeness: object, pinned: str = "") -> str | None:
        self._sheets.clear()
        return super().choose(candidate, likeness, pinned)


_TERM = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}]
_RULES: list[Tree] = [
    {},
    {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _TERM}}},
    {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _TERM}}},
]
_ANNOTATIONS: list[dict[str, str]] = [
    {},
    {"gpusched.io/gpu-memory": "6Gi"},
    {"gpusched.io/placement": "spread"},
    {"gpusched.io/families": "hopper"},
]
_TEMPLATES = st.builds(
    lambda gpus, labels, rules, annotations: pod(gpus=gpus, labels=labels, annotations=annotations, **rules),
    st.sampled_from([None, 1, 2, 4]),
    st.sampled_from([{}, {"app": "x"}]),
    st.sampled_from(_RULES),
    st.sampled_from(_ANNOTATIONS),
)
_CLUSTER = [
    t4_node("t1", replicas=4),
    t4_node("t2", gpus=2, replicas=2),
    a100_node("a", gpus=3),
    h100_node("h", gpus=4),
    namespace("team-a", quota="hopper=3, *=9"),
]


@settings(max_examples=60, deadline=None)
@given(templates=st.lists(st.tuples(_TEMPLATES, st.integers(1, 5)), min_size=1, max_size=4))
def test_remembering_changes_nothing(templates: list[tuple[Tree, int]]) -> None:
    trees = [
        workload("Deployment", f"w{number}", replicas=replicas, template=template)
        for number, (template, replicas) in enumerate(templates)
    ]
    remembered = placed(_CLUSTER, *trees)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_module, "Placer", _Forgetful)
        assert placed(_CLUSTER, *trees) == remembered
