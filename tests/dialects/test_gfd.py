import pytest

from gpusched.core.codes import Reason
from gpusched.dialects.gfd import memory_mib
from tests.build import gfd_labels
from tests.dialects.surveys import facts_of, only_pool, survey

T4 = gfd_labels()


@pytest.mark.parametrize(
    ("labels", "slots", "expected"),
    [
        pytest.param(T4, 1, ("turing", "t4", "none", 1, 1, 15360, 15360, 15360), id="plain"),
        pytest.param(
            gfd_labels("Tesla-T4-SHARED", count=2, replicas=4),
            8,
            ("turing", "t4", "time-slicing", 4, 2, 15360, 15360, 3840),
            id="replicas-are-per-gpu",
        ),
        pytest.param(
            gfd_labels("Tesla-T4-SHARED", replicas=4, sharing="mps"),
            4,
            ("turing", "t4", "mps", 4, 1, 15360, 3840, 3840),
            id="mps",
        ),
        pytest.param(
            {
                "gpu.product": "Tesla-T4-SHARED",
                "gpu.replicas": "8",
                "gpu.count": "1",
                "gpu.family": "turing",
                "gpu.memory": "16106127360",
            },
            8,
            ("turing", "t4", "time-slicing", 8, 1, 15360, 15360, 1920),
            id="bytes-and-no-strategy",
        ),
        pytest.param(
            {"gpu.product": "Tesla-T4", "gpu.replicas": "1", "gpu.count": "2", "gpu.memory": "15109"},
            2,
            ("turing", "t4", "none", 1, 2, 15109, 15109, 15109),
            id="family-from-catalogue",
        ),
        pytest.param(
            gfd_labels("NVIDIA-L4", memory=23034, compute=(8, 9), family="ampere"),
            1,
            ("ada-lovelace", "l4", "none", 1, 1, 23034, 23034, 23034),
            id="old-gfd-ada",
        ),
        pytest.param(
            gfd_labels("NVIDIA-B200", memory=183359, compute=(10, 0), family="undefined"),
            1,
            ("blackwell", "b200", "none", 1, 1, 183359, 183359, 183359),
            id="old-gfd-blackwell",
        ),
        pytest.param(
            gfd_labels("NVIDIA-GB10", memory=None, compute=(12, 1), family="undefined"),
            1,
            ("blackwell", "gb10", "none", 1, 1, None, None, None),
            id="unified-memory",
        ),
        pytest.param(
            gfd_labels(memory=0), 1, ("turing", "t4", "none", 1, 1, None, None, None), id="zero-memory-is-unknown"
        ),
        pytest.param(
            gfd_labels(count=4, sharing="none") | {"nvidia.com/gpu.replicas": "x"},
            4,
            ("turing", "t4", "none", 1, 4, 15360, 15360, 15360),
            id="no-replicas-but-as-many-slots",
        ),
        pytest.param(
            {"gpu.product": "NVIDIA-A100-SXM4-80GB", "gpu.replicas": "4"},
            4,
            ("ampere", "a100-sxm4-80gb", "time-slicing", 4, 1, None, None, None),
            id="no-count",
        ),
        pytest.param(
            gfd_labels(sharing="none", replicas=4),
            4,
            ("turing", "t4", None, None, None, 15360, None, None),
            id="strategy-contradicts-replicas",
        ),
        pytest.param({}, 4, (None,) * 8, id="no-labels"),
    ],
)
def test_whole_gpus(labels: dict[str, str], slots: int, expected: tuple[object, ...]) -> None:
    assert facts_of(only_pool(survey(labels, slots))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("15360", 15360), ("1000000", 1_000_000), ("16106127360", 15360), ("1000001", None), ("0", None), ("-1", None)],
)
def test_memory(text: str, expected: int | None) -> None:
    assert memory_mib(text) == expected


SINGLE = gfd_labels(
    "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", count=7, memory=4864, compute=(8, 0), family="ampere", mig_strategy="single"
)


@pytest.mark.parametrize(
    ("labels", "slots", "expected"),
    [
        pytest.param(SINGLE, 7, ("ampere", "a100-sxm4-40gb", "mig", 1, 7, 40960, 4864, 4864), id="single"),
        pytest.param(
            SINGLE
            | {
                "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED",
                "nvidia.com/gpu.replicas": "2",
                "nvidia.com/gpu.sharing-strategy": "time-slicing",
            },
            14,
            ("ampere", "a100-sxm4-40gb", "time-slicing", 2, 7, 40960, 4864, 2432),
            id="time-sliced-instances",
        ),
        pytest.param(
            {key: value for key, value in SINGLE.items() if key != "nvidia.com/gpu.memory"},
            7,
            ("ampere", "a100-sxm4-40gb", "mig", 1, 7, 40960, 4864, 4864),
            id="instance-from-catalogue",
        ),
        pytest.param(
            gfd_labels("Unheard-MIG-1g.5gb", count=7, memory=4864, mig_strategy="single"),
            7,
            ("turing", "unheard", "mig", 1, 7, None, 4864, 4864),
            id="unknown-card",
        ),
    ],
)
def test_mig_single(labels: dict[str, str], slots: int, expected: tuple[object, ...]) -> None:
    assert facts_of(only_pool(survey(labels, slots))) == expected


def test_mig_mixed_has_a_pool_per_profile() -> None:
    labels = gfd_labels(
        "NVIDIA-A100-SXM4-40GB",
        count=2,
        memory=40960,
        replicas=1,
        compute=(8, 0),
        family="ampere",
        mig_strategy="mixed",
    )
    for profile, count, memory in (("1g.5gb", 5, 4864), ("1g.5gb.me", 1, 4864)):
        labels |= {
            f"nvidia.com/mig-{profile}.product": f"NVIDIA-A100-SXM4-40GB-MIG-{profile}",
            f"nvidia.com/mig-{profile}.count": str(count),
            f"nvidia.com/mig-{profile}.replicas": "1",
            f"nvidia.com/mig-{profile}.sharing-strategy": "none",
            f"nvidia.com/mig-{profile}.memory": str(memory),
        }
    slots = {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.5gb": 5, "nvidia.com/mig-1g.5gb.me": 1}

    node = survey(labels, slots)

    card = ("ampere", "a100-sxm4-40gb")
    assert {pool.resource: facts_of(pool) for pool in node.pools} == {
        "nvidia.com/gpu": (*card, "none", 1, 1, 40960, 40960, 40960),
        "nvidia.com/mig-1g.5gb": (*card, "mig", 1, 5, 40960, 4864, 4864),
        "nvidia.com/mig-1g.5gb.me": (*card, "mig", 1, 1, 40960, 4864, 4864),
    }


def test_time_sliced_profile_renamed() -> None:
    labels = {
        "gpu.product": "NVIDIA-A100-SXM4-40GB",
        "gpu.memory": "40960",
        "gpu.replicas": "0",
        "mig.strategy": "mixed",
        "mig-1g.5gb.count": "7",
        "mig-1g.5gb.replicas": "4",
        "mig-1g.5gb.sharing-strategy": "time-slicing",
        "mig-1g.5gb.memory": "4864",
    }
    pool = only_pool(survey(labels, {"nvidia.com/mig-1g.5gb.shared": 28}))
    assert facts_of(pool) == ("ampere", "a100-sxm4-40gb", "time-slicing", 4, 7, 40960, 4864, 1216)


def test_fully_partitioned_node() -> None:
    labels = {
        "gpu.count": "1",
        "gpu.replicas": "0",
        "gpu.memory": "40960",
        "mig.strategy": "mixed",
        "mig-7g.40gb.count": "1",
        "mig-7g.40gb.memory": "40192",
    }
    node = survey(labels, {"nvidia.com/gpu": 0, "nvidia.com/mig-1g.5gb": 0, "nvidia.com/mig-7g.40gb": 1})
    assert [(pool.resource, pool.slots, pool.visible_memory_mib, pool.replicas) for pool in node.pools] == [
        ("nvidia.com/gpu", 0, 40960, 1),
        ("nvidia.com/mig-1g.5gb", 0, 5120, 1),
        ("nvidia.com/mig-7g.40gb", 1, 40192, 1),
    ]


def test_invalid_mig_is_blocked_and_knows_nothing() -> None:
    labels = {
        "gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-INVALID",
        "gpu.count": "0",
        "gpu.replicas": "0",
        "gpu.memory": "0",
        "gpu.sharing-strategy": "",
        "gpu.family": "ampere",
        "mig.strategy": "single",
    }
    pool = only_pool(survey(labels, 3))
    assert (pool.blocked, facts_of(pool)) == (Reason.FACTS_UNKNOWN, (None,) * 8)


def test_gpus_in_mig_mode_offered_whole() -> None:
    labels = gfd_labels("NVIDIA-A100-SXM4-40GB", memory=40960, compute=(8, 0), family="ampere", replicas=0) | {
        "nvidia.com/mig.capable": "true"
    }
    pool = only_pool(survey(labels, 1))
    assert facts_of(pool) == ("ampere", "a100-sxm4-40gb", None, None, None, 40960, None, None)


def test_renamed_by_default_keeps_the_labels() -> None:
    labels = gfd_labels("Tesla-T4", count=2, replicas=4)
    pool = only_pool(survey(labels, {"nvidia.com/gpu.shared": 8}))
    assert facts_of(pool) == ("turing", "t4", "time-slicing", 4, 2, 15360, 15360, 3840)


def test_one_of_eight_shared() -> None:
    labels = {
        "nvidia.com/gpu": "nvidia-ada-4090",
        "gpu.count": "8",
        "gpu.replicas": "2",
        "gpu.sharing-strategy": "mps",
        "gpu.memory": "24564",
    }
    node = survey(labels, {"nvidia.com/gpu": 7, "nvidia.com/gpu.shared": 2})
    assert {pool.resource: facts_of(pool) for pool in node.pools} == {
        "nvidia.com/gpu": (None, None, "none", 1, 7, 24564, 24564, 24564),
        "nvidia.com/gpu.shared": (None, None, "mps", 2, 1, 24564, 12282, 12282),
    }


def test_configured_resource_is_described_like_the_plain_one() -> None:
    pool = only_pool(survey(T4, {"nvidia.com/gpu-10gb": 1}, extra={"nvidia.com/gpu-10gb": "nvidia"}))
    assert facts_of(pool) == ("turing", "t4", "none", 1, 1, 15360, 15360, 15360)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"cuda.runtime-version.full": "12.4", "cuda.driver-version.full": "550.107.02"}, (12040, 550107002)),
        (
            {
                "cuda.runtime.major": "11",
                "cuda.runtime.minor": "8",
                "cuda.driver.major": "520",
                "cuda.driver.minor": "56",
                "cuda.driver.rev": "06",
            },
            (11080, 520056006),
        ),
        ({"cuda.driver.major": "550", "cuda.driver.minor": "54", "cuda.driver.rev": ""}, (None, 550054000)),
        ({"cuda.runtime-version.full": "next", "cuda.driver-version.full": ""}, (None, None)),
    ],
)
def test_versions(labels: dict[str, str], expected: tuple[int | None, int | None]) -> None:
    pool = only_pool(survey({"gpu.product": "Tesla-T4"} | labels))
    assert (pool.cuda_version, pool.driver_version) == expected


def test_stale_labels_of_vanished_gpus_say_nothing() -> None:
    node = survey(T4 | {"nvidia.com/gpu.present": "false"}, 2)
    assert facts_of(only_pool(node)) == (None,) * 8
    assert node.notes == ("gpu.present is false: GPU Feature Discovery's labels are stale",)


def test_a_label_that_corrects_another_is_noted() -> None:
    pool = only_pool(survey(gfd_labels("NVIDIA-L4", memory=23034, compute=(8, 9), family="ampere")))
    assert pool.notes == ("family: label ampere, compute capability 8.9 is ada-lovelace",)
    assert pool.provenance == tuple(
        sorted(
            (fact, "gfd")
            for fact in (
                "cuda_version",
                "driver_version",
                "family",
                "gpu_memory_mib",
                "product",
                "replicas",
                "sharing",
                "slot_memory_mib",
                "visible_memory_mib",
            )
        )
    )
