from gpusched.core.pool import Pool
from gpusched.core.usage import Holder, PoolUse, pool_use

POOL = Pool("nvidia.com/gpu", "nvidia", slots=8)


def holder(slots: int, claim: int | None = None, *, outside: bool = False) -> Holder:
    return Holder("team-a", "p", {"nvidia.com/gpu": slots}, claim_mib=claim, outside=outside)


def test_claims_stand_in_falling_order_one_for_each_slot():
    use = pool_use(POOL, [holder(2, 100), holder(1), holder(1, 300, outside=True), holder(0, 9)])

    assert use == PoolUse(used=4, claims=(300, 100, 100), unclaimed=1, outside=(300,))


def test_a_pod_that_names_more_slots_than_any_node_has_costs_no_memory():
    use = pool_use(POOL, [holder(10**15, 100, outside=True)])

    assert (use.used, use.claims[:8]) == (10**15, (100,) * 8)
    assert len(use.claims) == len(use.outside) < 10**5
