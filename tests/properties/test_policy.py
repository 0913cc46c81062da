from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched.core.constraints import MemoryBound
from gpusched.core.families import FAMILIES
from gpusched.core.pool import Pool, Sharing
from gpusched.core.selector import Operator, Requirement
from gpusched.policy import values
from gpusched.policy.annotations import parse_namespace, parse_pod
from gpusched.policy.config import parse_config
from gpusched.policy.keys import KEYS
from gpusched.policy.malformed import Malformed
from gpusched.policy.memory_text import parse_amount, parse_maximum, parse_minimum
from gpusched.policy.mode_text import format_modes, parse_modes
from gpusched.policy.model import Config, Group, Layer, Mode, Modes, Parsed, Policy, Quota
from gpusched.policy.quota_text import format_quota, parse_quota
from gpusched.policy.resolve import resolve
from gpusched.policy.selector_text import format_selector, parse_selector

FAMILY = st.sampled_from(("turing", "ampere", "hopper"))
PRODUCT = st.sampled_from(("t4", "a100", "a100-80gb", "h100", "a100-sxm4-80gb"))
MEMORY = st.sampled_from(("13Gi", "16G", "40Gi", "41Gi", "80G", "81920Mi"))
VERSION = st.sampled_from(("11.8", "12.2", "12.4"))
LABELS = st.sampled_from(("a=b", "a", "!a", "a in (b,c)"))
KIND = st.sampled_from(tuple(Sharing))


def joined(words: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(words, min_size=1, max_size=3).map(",".join)


RULES = {
    "gpusched.io/families": joined(FAMILY),
    "gpusched.io/products": joined(PRODUCT),
    "gpusched.io/min-gpu-memory": MEMORY,
    "gpusched.io/max-gpu-memory": MEMORY,
    "gpusched.io/min-cuda-version": VERSION,
    "gpusched.io/node-selector": LABELS,
    "gpusched.io/sharing": joined(KIND),
}
ANNOTATIONS = st.fixed_dictionaries({}, optional=RULES)
POLICIES = ANNOTATIONS.map(lambda annotations: parse_namespace(annotations).policy)
POOLS = st.builds(
    Pool,
    resource=st.just("nvidia.com/gpu"),
    vendor=st.just("nvidia"),
    slots=st.just(1),
    family=st.none() | FAMILY,
    product=st.none() | PRODUCT,
    sharing=st.none() | KIND,
    visible_memory_mib=st.none() | st.integers(10_000, 90_000),
    cuda_version=st.none() | st.sampled_from((11080, 12020, 12040)),
)
NODE_LABELS = st.fixed_dictionaries({}, optional={"a": st.sampled_from(("b", "c", "d"))})
TEXT = st.text() | st.text("0123456789.,-+=!()*% GiMkmbhoperin", max_size=20)


def accepted(config: Config, namespace: Parsed, pod: Parsed, pool: Pool, labels: dict[str, str]) -> bool:
    constraints = resolve(config, "team-a", {}, namespace, pod).constraints
    return constraints.reason_against(pool) is None and constraints.reason_against_labels(labels) is None


@given(ANNOTATIONS, ANNOTATIONS, POOLS, NODE_LABELS)
def test_a_pod_only_narrows(namespace: dict[str, str], pod: dict[str, str], pool: Pool, labels: dict[str, str]) -> None:
    parsed, own = parse_namespace(namespace), parse_pod(pod)

    if accepted(Config(), parsed, own, pool, labels):
        assert accepted(Config(), parsed, Parsed(), pool, labels)
        assert accepted(Config(), Parsed(), own, pool, labels)


@given(POLICIES, ANNOTATIONS, ANNOTATIONS, POOLS, NODE_LABELS, st.sampled_from(("", *Mode)))
def test_no_annotation_widens_an_enforced_ceiling(
    ceiling: Policy,
    namespace: dict[str, str],
    pod: dict[str, str],
    pool: Pool,
    labels: dict[str, str],
    mode: str,
) -> None:
    config = Config(default_policy=Policy(mode=Modes(Mode.ENFORCE)), ceiling=ceiling)
    parsed = parse_namespace(namespace | ({"gpusched.io/mode": mode} if mode else {}))

    if accepted(config, parsed, parse_pod(pod), pool, labels):
        assert accepted(config, Parsed(), Parsed(), pool, labels)


@given(ANNOTATIONS, ANNOTATIONS, POOLS, NODE_LABELS)
def test_a_conflict_means_that_no_pool_fits(
    namespace: dict[str, str], pod: dict[str, str], pool: Pool, labels: dict[str, str]
) -> None:
    parsed, own = parse_namespace(namespace), parse_pod(pod)

    if resolve(Config(), "team-a", {}, parsed, own).conflicts:
        assert not accepted(Config(), parsed, own, pool, labels)


@given(st.dictionaries(st.sampled_from([f"gpusched.io/{name}" for name in (*KEYS, "gpu-memory", "oops")]), TEXT))
def test_the_order_of_annotations_does_not_matter(annotations: dict[str, str]) -> None:
    turned = dict(reversed(annotations.items()))

    assert parse_namespace(turned) == parse_namespace(annotations)
    assert parse_pod(turned) == parse_pod(annotations)


@pytest.mark.parametrize("parse", [*(key.parse for key in KEYS.values()), parse_selector, parse_amount])
@settings(max_examples=60)
@given(text=TEXT)
def test_any_text_is_read_or_explained(parse: Callable[[str], object], text: str) -> None:
    answer = parse(text)

    if isinstance(answer, Malformed):
        assert 0 < len(answer.sentence) < 300
        assert "\n" not in answer.sentence
        assert not answer.sentence.endswith(".")


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
SECTIONS = (
    "resources",
    "defaultPolicy",
    "policies",
    "ceiling",
    "runtimeClasses",
    "tolerations",
    "exemptNamespaces",
    "lowering",
    "claims",
    "sharing",
    "extender",
    "labels",
)


@given(TREES | st.dictionaries(st.sampled_from(SECTIONS), TREES, max_size=4))
def test_any_configuration_is_read_or_explained(tree: object) -> None:
    config, faults = parse_config(tree)

    assert isinstance(config, Config)
    assert faults
    assert all(fault.message for fault in faults)


NAMES = st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?", fullmatch=True)
KEY_NAMES = NAMES.filter(lambda name: name not in {"in", "notin"})
LABEL_VALUES = st.just("") | NAMES
SETS = st.sets(LABEL_VALUES, min_size=1, max_size=3).map(lambda found: tuple(sorted(found)))
REQUIREMENTS = st.builds(
    Requirement, KEY_NAMES, st.sampled_from((Operator.EXISTS, Operator.DOES_NOT_EXIST))
) | st.builds(Requirement, KEY_NAMES, st.sampled_from((Operator.IN, Operator.NOT_IN)), SETS)


@given(st.lists(REQUIREMENTS, min_size=1, max_size=4).map(tuple))
def test_selectors_survive_being_written(requirements: tuple[Requirement, ...]) -> None:
    assert parse_selector(format_selector(requirements)) == requirements


@given(
    st.builds(
        Modes,
        st.sampled_from(Mode),
        st.dictionaries(st.sampled_from(Group), st.sampled_from(Mode)).map(
            lambda groups: tuple(sorted(groups.items()))
        ),
    )
)
def test_modes_survive_being_written(modes: Modes) -> None:
    assert parse_modes(format_modes(modes)) == modes


@given(
    st.dictionaries(st.sampled_from(FAMILIES), st.integers(0, 10**9 - 1)).map(lambda amounts: tuple(amounts.items())),
    st.integers(0, 10**9 - 1),
)
def test_quotas_survive_being_written(families: tuple[tuple[str, int], ...], total: int) -> None:
    quota = Quota(families, total)

    assert parse_quota(format_quota(quota)) == quota


@given(st.lists(st.sampled_from(FAMILIES), min_size=1))
def test_families_keep_their_order_whatever_their_case(families: list[str]) -> None:
    text = " , ".join(family.upper() for family in families)

    assert values.parse_families(text) == tuple(dict.fromkeys(families))


@given(st.integers(1, 10**6), st.sampled_from(("Mi", "Gi", "M", "G")))
def test_a_card_of_exactly_the_size_satisfies_both_bounds(number: int, unit: str) -> None:
    text = f"{number}{unit}"
    low, high, exact = parse_minimum(text), parse_maximum(text), parse_amount(text)

    assert isinstance(low, MemoryBound)
    assert isinstance(high, MemoryBound)
    assert isinstance(exact, int)
    assert low.mib <= exact
    assert high.mib >= exact - (unit in {"M", "G"})


@given(POLICIES, POLICIES)
def test_layers_name_only_what_speaks(default: Policy, ceiling: Policy) -> None:
    layers = resolve(Config(default_policy=default, ceiling=ceiling), "team-a", {}, Parsed(), Parsed()).layers

    expected = [
        Layer(name, policy)
        for name, policy in (("the cluster configuration", default), ("the cluster ceiling", ceiling))
        if policy != Policy()
    ]
    assert list(layers) == expected
