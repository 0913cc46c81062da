from typing import Any

import msgspec
import pytest

from gpusched.core.codes import Reason
from gpusched.core.constraints import Constraints, MemoryBound
from gpusched.core.pool import Pool, Sharing
from gpusched.core.selector import Operator, Requirement
from gpusched.policy.rule import found, here, label_values, rules_of

_RACK = Requirement("rack", Operator.IN, ("7",))
_ALL = Constraints(
    families=("hopper", "ampere"),
    products=(("a100",), ("h100", "a100")),
    min_memory=MemoryBound(20480, "20Gi"),
    max_memory=MemoryBound(40960, "40Gi"),
    sharing=frozenset({Sharing.NONE}),
    min_cuda=13010,
    min_driver=580000000,
    node_selector=(_RACK,),
)
_T4 = Pool("nvidia.com/gpu", "nvidia", 1, "turing", "t4", Sharing.NONE, 1, 1, 15360, 15360, 15360, 12040, 550107002)
_H100 = msgspec.structs.replace(_T4, family="hopper", product="h100", visible_memory_mib=81559, cuda_version=12080)
_BARE = Pool("nvidia.com/gpu", "nvidia", 1)


def test_every_rule_stands_alone_in_the_words_it_was_given_in() -> None:
    assert [(rule.name, rule.value, rule.fact) for rule in rules_of(_ALL)] == [
        ("families", "hopper, ampere", "family"),
        ("products", "a100", "product"),
        ("products", "h100, a100", "product"),
        ("min-gpu-memory", "20Gi", "gpu-memory"),
        ("max-gpu-memory", "40Gi", "gpu-memory"),
        ("sharing", "none", "sharing"),
        ("min-cuda-version", "13.1", ""),
        ("min-driver-version", "580.00", ""),
        ("node-selector", "rack=7", ""),
    ]
    assert list(rules_of(Constraints())) == []


@pytest.mark.parametrize("pool", [_T4, _H100, _BARE])
@pytest.mark.parametrize("labels", [{}, {"rack": "7"}])
def test_the_rules_together_say_what_the_constraints_say(pool: Pool, labels: dict[str, str]) -> None:
    alone = {rule.against(pool, labels) for rule in rules_of(_ALL)} - {None}
    whole = {_ALL.reason_against(pool), _ALL.reason_against_labels(labels)} - {None}
    assert whole <= alone
    assert bool(whole) is bool(alone)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({"families": ("ampere",)}, "here: hopper, turing"),
        ({"products": (("a100",),)}, "here: h100, t4"),
        ({"min_memory": MemoryBound(102400, "100Gi")}, "largest here: 79.6Gi"),
        ({"max_memory": MemoryBound(1024, "1Gi")}, "smallest here: 15Gi"),
        ({"sharing": frozenset({Sharing.MIG})}, "here: none"),
        ({"min_cuda": 13010}, "highest here: 12.8"),
        ({"min_driver": 580000000}, "highest here: 550.107.02"),
        ({"node_selector": (_RACK,)}, "rack is 3 or not set"),
    ],
)
def test_what_there_is_instead(rule: dict[str, Any], text: str) -> None:
    (one,) = rules_of(Constraints(**rule))
    assert here(one, [_T4, _BARE, _H100], [{"rack": "3"}, {}]) == text
    assert one.reason is not Reason.FACTS_UNKNOWN
    assert found(one, [_BARE]) == ""


def test_of_many_values_some_are_named() -> None:
    assert label_values("zone", [{"zone": value} for value in "abcdef"]) == "zone is a, b, c, d and 2 more"
    assert label_values("zone", [{}]) == "zone is not set"
