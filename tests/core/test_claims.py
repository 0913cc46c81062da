import msgspec
import pytest

from gpusched.core.claims import claim_reason, largest_possible_claim, usable_mib
from gpusched.core.codes import Reason
from gpusched.core.pool import Pool, Sharing
from gpusched.core.usage import Holder, PoolUse, pool_use

EMPTY = PoolUse()


def shared(devices: int | None = 1, replicas: int | None = 4, memory: int | None = 16000, **change: object) -> Pool:
    pool = Pool(
        "nvidia.com/gpu",
        "nvidia",
        slots=(devices or 1) * (replicas or 1),
        sharing=Sharing.TIME_SLICING,
        replicas=replicas,
        devices=devices,
        gpu_memory_mib=memory,
        visible_memory_mib=memory,
        slot_memory_mib=None if memory is None or replicas is None else memory // replicas,
    )
    return msgspec.structs.replace(pool, **change)


def mps(devices: int = 1, replicas: int = 4, memory: int = 16000) -> Pool:
    return shared(devices, replicas, memory, sharing=Sharing.MPS, visible_memory_mib=memory // replicas)


def exclusive(memory: int | None = 80000) -> Pool:
    return shared(8, 1, memory, sharing=Sharing.NONE)


def mig(memory: int | None = 4864, replicas: int | None = 1) -> Pool:
    return shared(7, replicas, memory, sharing=Sharing.MIG, gpu_memory_mib=40960)


@pytest.mark.parametrize(
    ("pool", "usable"),
    [
        (shared(memory=15360), 14592),
        (mps(memory=15360), 14592),
        (exclusive(143771), 143052),
        (mig(4864), 4864),
        (mig(4864, replicas=2), 4620),
        (exclusive(None), None),
        (shared(memory=None), None),
        (shared(sharing=None), None),
    ],
)
def test_usable_memory_of_a_device(pool: Pool, usable: int | None) -> None:
    assert usable_mib(pool, 500) == usable


def reason(pool: Pool, use: PoolUse, slots: int, claim: int | None, above_slot: str = "single-gpu") -> Reason | None:
    return claim_reason(pool, use, slots, claim, reserve=0, above_slot=above_slot)


@pytest.mark.parametrize(
    ("use", "slots", "claim", "expected"),
    [
        # One device of 16000 MiB and four slots: the plain sum counts.
        (EMPTY, 1, 16000, None),
        (EMPTY, 1, 16001, Reason.MEMORY_CLAIM),
        (EMPTY, 2, 8000, None),
        (EMPTY, 2, 8001, Reason.MEMORY_CLAIM),
        (PoolUse(used=1, claims=(6000,)), 1, 10000, None),
        (PoolUse(used=1, claims=(6000,)), 1, 10001, Reason.MEMORY_CLAIM),
        # An unclaimed slot counts 4000.
        (PoolUse(used=1, unclaimed=1), 1, 12000, None),
        (PoolUse(used=1, unclaimed=1), 1, 12001, Reason.MEMORY_CLAIM),
        (PoolUse(used=1, claims=(12000,)), 1, None, None),
        (PoolUse(used=1, claims=(12001,)), 1, None, Reason.MEMORY_CLAIM),
        # Unclaimed pods always fit beside each other, and none is looked at while nobody claims.
        (PoolUse(used=3, unclaimed=3), 1, None, None),
        (PoolUse(used=9, unclaimed=9), 9, None, None),
        # A pool whose claims are broken already takes nothing more.
        (PoolUse(used=2, claims=(9000, 9000)), 1, 1, Reason.MEMORY_CLAIM),
        (PoolUse(used=2, claims=(9000, 9000)), 1, None, Reason.MEMORY_CLAIM),
        (EMPTY, 0, 99999, None),
    ],
)
def test_one_shared_device(use: PoolUse, slots: int, claim: int | None, expected: Reason | None) -> None:
    assert reason(shared(), use, slots, claim) == expected


@pytest.mark.parametrize(
    ("use", "slots", "claim", "expected"),
    [
        # Two devices of 16000 MiB and two slots each: the two largest may meet.
        (PoolUse(used=2, claims=(8000, 8000)), 2, 8000, None),
        (PoolUse(used=1, claims=(10000,)), 1, 6000, None),
        (PoolUse(used=1, claims=(10000,)), 1, 6001, Reason.MEMORY_CLAIM),
        (PoolUse(used=3, claims=(6000, 5000, 4000)), 1, 10000, None),
        (PoolUse(used=3, claims=(6000, 5000, 4000)), 1, 10001, Reason.MEMORY_CLAIM),
        (PoolUse(used=1, unclaimed=1), 1, 8000, None),
        (PoolUse(used=1, unclaimed=1), 1, 8001, Reason.MEMORY_CLAIM),
        (EMPTY, 2, 8001, Reason.MEMORY_CLAIM),
    ],
)
def test_the_largest_of_a_pool_may_meet_on_one_device(
    use: PoolUse, slots: int, claim: int | None, expected: Reason | None
) -> None:
    assert reason(shared(2, 2), use, slots, claim, "allow") == expected


@pytest.mark.parametrize(
    ("pool", "above_slot", "expected"),
    [
        (shared(1), "never", Reason.MEMORY_CLAIM),
        (shared(1), "single-gpu", None),
        (shared(1), "allow", None),
        (shared(2), "never", Reason.MEMORY_CLAIM),
        (shared(2), "single-gpu", Reason.MEMORY_CLAIM),
        (shared(2), "allow", None),
        (shared(None), "single-gpu", Reason.FACTS_UNKNOWN),
        (mps(1), "allow", Reason.MEMORY_CLAIM),
    ],
)
def test_a_claim_above_a_slots_part(pool: Pool, above_slot: str, expected: Reason | None) -> None:
    assert reason(pool, EMPTY, 1, 4001, above_slot) == expected
    assert reason(pool, EMPTY, 1, 4000, above_slot) is None


@pytest.mark.parametrize(
    ("pool", "claim", "expected"),
    [
        (exclusive(), 79600, None),
        (exclusive(), 79601, Reason.MEMORY_CLAIM),
        (exclusive(None), 1, Reason.FACTS_UNKNOWN),
        (exclusive(None), None, None),
        (mig(), 4864, None),
        (mig(), 4865, Reason.MEMORY_CLAIM),
        (mig(None), 1, Reason.FACTS_UNKNOWN),
    ],
)
def test_every_slot_of_an_exclusive_pool_is_a_device(pool: Pool, claim: int | None, expected: Reason | None) -> None:
    full = PoolUse(used=7, claims=(79000,) * 7)

    assert reason(pool, full, 8, claim, "never") == expected


@pytest.mark.parametrize("pool", [shared(replicas=None), shared(memory=None), shared(sharing=None), mig(replicas=None)])
def test_unknown_facts_matter_only_to_claims(pool: Pool) -> None:
    assert reason(pool, EMPTY, 1, None) is None
    assert reason(pool, EMPTY, 1, 1) == Reason.FACTS_UNKNOWN
    assert reason(pool, PoolUse(used=1, claims=(1,)), 1, None) == Reason.FACTS_UNKNOWN
    assert largest_possible_claim(pool, EMPTY, 1, 0, "allow") is None


def test_the_reserve_lowers_what_a_slot_has() -> None:
    assert claim_reason(shared(2), EMPTY, 1, 3800, reserve=500, above_slot="never") is None
    assert claim_reason(shared(2), EMPTY, 1, 3801, reserve=500, above_slot="never") == Reason.MEMORY_CLAIM


@pytest.mark.parametrize(
    ("pool", "use", "slots", "above_slot", "largest"),
    [
        (shared(), EMPTY, 1, "single-gpu", 16000),
        (shared(), EMPTY, 3, "single-gpu", 5333),
        (shared(), EMPTY, 1, "never", 4000),
        (shared(2), EMPTY, 1, "single-gpu", 4000),
        (shared(), PoolUse(used=1, claims=(11300,)), 1, "single-gpu", 4700),
        (shared(), PoolUse(used=1, claims=(16000,)), 1, "single-gpu", None),
        (shared(), PoolUse(used=2, claims=(9000, 9000)), 1, "single-gpu", None),
        (mps(), EMPTY, 1, "allow", 4000),
        (exclusive(), EMPTY, 2, "never", 79600),
        (mig(), EMPTY, 1, "never", 4864),
        (shared(), EMPTY, 0, "never", None),
    ],
)
def test_largest_possible_claim(pool: Pool, use: PoolUse, slots: int, above_slot: str, largest: int | None) -> None:
    assert largest_possible_claim(pool, use, slots, 0, above_slot) == largest


def test_claims_made_outside_are_kept_as_written() -> None:
    pool = shared()
    holders = [
        Holder("team-a", "small", {pool.resource: 1}, claim_mib=1024, outside=True),
        Holder("team-a", "large", {pool.resource: 1}, claim_mib=5000, outside=True),
        Holder("team-a", "none", {pool.resource: 1}, outside=True),
        Holder("team-a", "ours", {pool.resource: 1}, claim_mib=2000),
    ]
    assert pool_use(pool, holders) == PoolUse(used=4, claims=(5000, 2000, 1024), unclaimed=1, outside=(5000, 1024))


def test_a_small_claim_made_outside_strands_no_slot() -> None:
    # 15360 MiB for four slots, of which 5 % are kept free: a slot's part is 3648, and not 3840.
    t4 = msgspec.structs.replace(
        shared(), slots=4, devices=1, replicas=4, gpu_memory_mib=15360, visible_memory_mib=15360, slot_memory_mib=3840
    )
    use = pool_use(t4, [Holder("team-a", "p", {t4.resource: 1}, claim_mib=1024, outside=True)])
    assert claim_reason(t4, use, 3, None, reserve=500, above_slot="single-gpu") is None
    assert largest_possible_claim(t4, use, 3, 500, "single-gpu") == 3648


def test_a_device_of_a_billion_slots_costs_no_more_than_another() -> None:
    pool = shared(replicas=10**9, memory=10**12)
    use = pool_use(pool, [Holder("ns", "p", {"nvidia.com/gpu": 2}, claim_mib=700)])

    assert claim_reason(pool, use, 2, 900, reserve=0, above_slot="never") is None
    assert claim_reason(pool, use, 2, 1001, reserve=0, above_slot="never") is Reason.MEMORY_CLAIM
