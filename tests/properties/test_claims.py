"""The claims rule against adversaries that choose the devices: no device ever over, no pod refused in vain."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpusched.core.claims import claim_reason, largest_possible_claim, usable_mib
from gpusched.core.codes import Reason
from gpusched.core.pool import Pool, Sharing
from gpusched.core.usage import Holder, PoolUse, pool_use

GPU = "nvidia.com/gpu"
ABOVE_SLOT = ("never", "single-gpu", "allow")


def build_pool(devices: int, replicas: int, memory: int, sharing: Sharing) -> Pool:
    return Pool(
        GPU,
        "nvidia",
        slots=devices * replicas,
        sharing=sharing,
        replicas=replicas,
        devices=devices,
        gpu_memory_mib=memory,
        visible_memory_mib=memory // replicas if sharing is Sharing.MPS else memory,
        slot_memory_mib=memory // replicas,
    )


pools = st.builds(
    lambda devices, replicas, memory, sharing: build_pool(
        devices, 1 if sharing is Sharing.NONE else replicas, memory, sharing
    ),
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(1, 100),
    st.sampled_from(Sharing),
)


def holder(slots: int, claim: int | None) -> Holder:
    return Holder("team-a", "p", {GPU: slots}, claim_mib=claim)


claims = st.none() | st.integers(1, 110)
#: One entry a pod: slots of its containers, claim, the device wished for each slot, which earlier pod leaves first.
arrivals = st.tuples(
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    claims,
    st.lists(st.integers(0, 9), min_size=9, max_size=9),
    st.integers(0, 30),
)


def worst_device(amounts: list[int], devices: int, replicas: int) -> int:
    """The heaviest device over all ways to put the amounts on devices of so many slots, by trying every one."""

    def place(index: int, loads: list[int], free: list[int]) -> int:
        if index == len(amounts):
            return max(loads)
        worst = 0
        for device in range(devices):
            if free[device]:
                loads[device] += amounts[index]
                free[device] -= 1
                worst = max(worst, place(index + 1, loads, free))
                loads[device] -= amounts[index]
                free[device] += 1
        return worst

    return place(0, [0] * devices, [replicas] * devices)


@given(pools, st.integers(0, 1000), st.sampled_from(ABOVE_SLOT), st.lists(arrivals, max_size=12))
@settings(max_examples=300)
def test_no_device_is_ever_over_wherever_the_kubelet_puts_containers(
    pool: Pool, reserve: int, above_slot: str, sequence: list[tuple[list[int], int | None, list[int], int]]
) -> None:
    assert pool.devices is not None
    assert pool.replicas is not None
    usable = usable_mib(pool, reserve)
    assert usable is not None
    running: list[tuple[Holder, list[int]]] = []
    for containers, claim, wishes, leaver in sequence:
        if leaver < len(running):
            running.pop(leaver)
        slots = sum(containers)
        use = pool_use(pool, [there for there, _ in running])
        refused = claim_reason(pool, use, slots, claim, reserve=reserve, above_slot=above_slot)
        if refused is None and use.used + slots <= pool.slots:
            taken = [device for _, devices in running for device in devices]
            running.append((holder(slots, claim), _kubelet(pool.devices, pool.replicas, taken, wishes[:slots])))

        loads = [0] * pool.devices
        for there, devices in running:
            for device in devices:
                loads[device] += usable // pool.replicas if there.claim_mib is None else there.claim_mib
        assert max(loads) <= usable


def _kubelet(devices: int, replicas: int, taken: list[int], wishes: list[int]) -> list[int]:
    """A device with a free slot for each wish, the wished one where it has one."""
    chosen: list[int] = []
    for wish in wishes:
        order = sorted(range(devices), key=lambda device: (device - wish) % devices)
        chosen.append(next(device for device in order if (taken + chosen).count(device) < replicas))
    return chosen


small_pools = st.builds(
    build_pool,
    st.integers(1, 3),
    st.integers(2, 3),
    st.integers(6, 24),
    st.sampled_from([Sharing.TIME_SLICING, Sharing.MIG]),
)
small_claims = st.none() | st.integers(1, 15)


@given(small_pools, st.lists(small_claims, max_size=4), st.integers(1, 3), small_claims)
@settings(max_examples=500)
def test_the_rule_refuses_exactly_what_some_placement_would_break(
    pool: Pool, held: list[int | None], slots: int, claim: int | None
) -> None:
    assert pool.devices is not None
    assert pool.replicas is not None
    assume(len(held) + slots <= pool.slots)
    assume(claim is not None or any(held))
    usable = usable_mib(pool, 0)
    assert usable is not None
    share = usable // pool.replicas
    use = pool_use(pool, [holder(1, amount) for amount in held])

    amounts = [share if amount is None else amount for amount in [*held, *[claim] * slots]]
    over = worst_device(amounts, pool.devices, pool.replicas) > usable

    found = claim_reason(pool, use, slots, claim, reserve=0, above_slot="allow")
    assert found == (Reason.MEMORY_CLAIM if over else None)


@given(pools, st.lists(claims, max_size=8), st.integers(1, 4), st.integers(0, 1000), st.sampled_from(ABOVE_SLOT))
def test_the_largest_possible_claim_passes_and_one_more_does_not(
    pool: Pool, held: list[int | None], slots: int, reserve: int, above_slot: str
) -> None:
    use = pool_use(pool, [holder(1, amount) for amount in held])

    largest = largest_possible_claim(pool, use, slots, reserve, above_slot)

    def passes(claim: int) -> bool:
        return claim_reason(pool, use, slots, claim, reserve=reserve, above_slot=above_slot) is None

    assert largest is None or passes(largest)
    assert not passes((largest or 0) + 1)


@given(pools, st.integers(0, 30), st.integers(1, 30), st.integers(0, 1000))
def test_pods_without_claims_always_fit_beside_each_other(pool: Pool, used: int, slots: int, reserve: int) -> None:
    use = PoolUse(used=used, unclaimed=used)

    assert claim_reason(pool, use, slots, None, reserve=reserve, above_slot="never") is None


@given(pools, st.lists(claims, max_size=8), st.integers(1, 4), claims, st.sampled_from(ABOVE_SLOT))
def test_who_came_first_does_not_matter(
    pool: Pool, held: list[int | None], slots: int, claim: int | None, above_slot: str
) -> None:
    holders = [holder(1, amount) for amount in held]

    verdicts = {
        claim_reason(pool, pool_use(pool, order), slots, claim, reserve=500, above_slot=above_slot)
        for order in (holders, holders[::-1])
    }

    assert len(verdicts) == 1
