"""The claims rule against adversaries that choose the devices: no device ever over, no pod refused in vain."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpusched.core.claims import claim_reason, largest_possible_claim, usable_mib
from gpusched.core.codes import Reason
from gpusched.core.pool import Pool, Sharing
from gpusched.core.usage import Holder, pool_use

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


def holder(slots: int, claim: int | None, *, outside: bool = False) -> Holder:
    return Holder("team-a", "p", {GPU: slots}, claim_mib=claim, outside=outside)


def amount_of(there: Holder, share: int) -> int:
    """What one slot of a holder counts on a shared device."""
    if there.claim_mib is None:
        return share
    return max(there.claim_mib, share) if there.outside else there.claim_mib


claims = st.none() | st.integers(1, 110)
#: Claims of pods of one slot, each with whether the pod was bound round gpusched.
held_claims = st.lists(st.tuples(claims, st.booleans()), max_size=8)
#: One entry a pod: slots of its containers, claim, the device wished for each slot, which earlier pod leaves first, and
#: whether it is bound round gpusched.
arrivals = st.tuples(
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    claims,
    st.lists(st.integers(0, 9), min_size=9, max_size=9),
    st.integers(0, 30),
    st.booleans(),
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
    pool: Pool, reserve: int, above_slot: str, sequence: list[tuple[list[int], int | None, list[int], int, bool]]
) -> None:
    assert pool.devices is not None
    assert pool.replicas is not None
    usable = usable_mib(pool, reserve)
    assert usable is not None
    running: list[tuple[Holder, list[int]]] = []
    share = usable // pool.replicas
    for containers, claim, wishes, leaver, outside in sequence:
        if leaver < len(running):
            running.pop(leaver)
        slots = sum(containers)
        use = pool_use(pool, [there for there, _ in running])
        # Nobody asks before a pod is bound outside; here it comes where it does no harm, and counts from then on.
        asked = max(claim, share) if outside and claim is not None and pool.shared else claim
        refused = claim_reason(pool, use, slots, asked, reserve=reserve, above_slot=above_slot)
        if refused is None and use.used + slots <= pool.slots:
            taken = [device for _, devices in running for device in devices]
            newcomer = holder(slots, claim, outside=outside)
            running.append((newcomer, _kubelet(pool.devices, pool.replicas, taken, wishes[:slots])))

        loads = [0] * pool.devices
        for there, devices in running:
            for device in devices:
                loads[device] += amount_of(there, share if pool.shared or there.claim_mib is None else 0)
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


@given(small_pools, st.lists(st.tuples(small_claims, st.booleans()), max_size=4), st.integers(1, 3), small_claims)
@settings(max_examples=500)
def test_the_rule_refuses_exactly_what_some_placement_would_break(
    pool: Pool, held: list[tuple[int | None, bool]], slots: int, claim: int | None
) -> None:
    assert pool.devices is not None
    assert pool.replicas is not None
    assume(len(held) + slots <= pool.slots)
    assume(claim is not None or any(written is not None for written, _ in held))
    usable = usable_mib(pool, 0)
    assert usable is not None
    share = usable // pool.replicas
    holders = [holder(1, written, outside=outside) for written, outside in held]
    use = pool_use(pool, holders)

    amounts = [amount_of(there, share) for there in [*holders, *[holder(1, claim)] * slots]]
    over = worst_device(amounts, pool.devices, pool.replicas) > usable

    found = claim_reason(pool, use, slots, claim, reserve=0, above_slot="allow")
    assert found == (Reason.MEMORY_CLAIM if over else None)


@given(pools, held_claims, st.integers(1, 4), st.integers(0, 1000), st.sampled_from(ABOVE_SLOT))
def test_the_largest_possible_claim_passes_and_one_more_does_not(
    pool: Pool, held: list[tuple[int | None, bool]], slots: int, reserve: int, above_slot: str
) -> None:
    use = pool_use(pool, [holder(1, written, outside=outside) for written, outside in held])

    largest = largest_possible_claim(pool, use, slots, reserve, above_slot)

    def passes(claim: int) -> bool:
        return claim_reason(pool, use, slots, claim, reserve=reserve, above_slot=above_slot) is None

    assert largest is None or passes(largest)
    assert not passes((largest or 0) + 1)


@given(pools, st.integers(0, 30), st.integers(1, 30), st.integers(0, 1000), st.lists(st.integers(1, 100), max_size=8))
def test_pods_without_claims_always_fit_beside_each_other_and_small_claims_made_outside(
    pool: Pool, used: int, slots: int, reserve: int, outside: list[int]
) -> None:
    usable = usable_mib(pool, reserve)
    assert usable is not None
    small = [claim for claim in outside if claim <= usable // (pool.replicas or 1)]
    holders = [holder(1, None)] * used + [holder(1, claim, outside=True) for claim in small]
    use = pool_use(pool, holders)

    assert use.claims == use.outside == tuple(sorted(small, reverse=True))
    assert claim_reason(pool, use, slots, None, reserve=reserve, above_slot="never") is None


@given(pools, held_claims, st.integers(1, 4), claims, st.sampled_from(ABOVE_SLOT))
def test_who_came_first_does_not_matter(
    pool: Pool, held: list[tuple[int | None, bool]], slots: int, claim: int | None, above_slot: str
) -> None:
    holders = [holder(1, written, outside=outside) for written, outside in held]

    verdicts = {
        claim_reason(pool, pool_use(pool, order), slots, claim, reserve=500, above_slot=above_slot)
        for order in (holders, holders[::-1])
    }

    assert len(verdicts) == 1
