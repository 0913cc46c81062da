import re

from gpusched.dialects.labels import KEYS, gpusched_labels
from tests.build import gfd_labels
from tests.dialects.surveys import survey


def test_a_node_of_one_pool() -> None:
    node = survey(gfd_labels("Tesla-T4-SHARED", replicas=4), 4)
    assert gpusched_labels(node) == {
        "gpusched.io/vendor": "nvidia",
        "gpusched.io/family": "turing",
        "gpusched.io/product": "t4",
        "gpusched.io/sharing": "time-slicing",
        "gpusched.io/gpu-memory-mib": "15360",
        "gpusched.io/visible-memory-mib": "15360",
        "gpusched.io/slot-memory-mib": "3840",
        "gpusched.io/replicas": "4",
        "gpusched.io/cuda-version": "12040",
        "gpusched.io/driver-version": "550107002",
    }


def test_a_node_without_gpus_gets_none() -> None:
    assert gpusched_labels(survey({}, {})) == {}


def test_pools_that_differ_are_mixed() -> None:
    labels = gfd_labels("NVIDIA-A100-SXM4-40GB", memory=40960, compute=(8, 0), family="ampere", mig_strategy="mixed")
    assert gpusched_labels(survey(labels, {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.5gb": 7})) == {
        "gpusched.io/vendor": "nvidia",
        "gpusched.io/family": "ampere",
        "gpusched.io/product": "a100-sxm4-40gb",
        "gpusched.io/gpu-memory-mib": "40960",
        "gpusched.io/replicas": "1",
        "gpusched.io/cuda-version": "12040",
        "gpusched.io/driver-version": "550107002",
        "gpusched.io/mixed": "true",
    }


def test_pools_without_slots_have_no_say() -> None:
    labels = gfd_labels("NVIDIA-A100-SXM4-40GB", memory=40960, compute=(8, 0), family="ampere", mig_strategy="mixed")
    written = gpusched_labels(survey(labels, {"nvidia.com/gpu": 0, "nvidia.com/mig-1g.5gb": 7}))
    assert "gpusched.io/mixed" not in written
    assert written["gpusched.io/sharing"] == "mig"


def test_what_is_no_label_value_leaves_the_node_to_the_extender() -> None:
    expected = {"gpusched.io/vendor": "nvidia", "gpusched.io/mixed": "true"}
    assert gpusched_labels(survey({"gpu.product": "x" * 64})) == expected


def test_keys() -> None:
    assert all(re.fullmatch(r"gpusched\.io/[a-z-]+", key) for key in KEYS)
    assert len(set(KEYS)) == 11
