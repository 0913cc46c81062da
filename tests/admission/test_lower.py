from typing import Any

import pytest

from gpusched.admission.admission import Op
from gpusched.core.cluster_facts import ClusterFacts
from gpusched.core.pool import Sharing
from gpusched.policy.model import Config
from tests.admission.judging import facts_of, gpu_node
from tests.admission.patching import mutated, mutated_pod, terms_of
from tests.build import container, pod

HOPPER = {"key": "gpusched.io/family", "operator": "In", "values": ["hopper"]}
MIXED = {"key": "gpusched.io/mixed", "operator": "In", "values": ["true"]}
ZONE = {"key": "zone", "operator": "In", "values": ["a"]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
SECOND = Config(second_scheduler="gpu")
POLICY = {"families": "hopper"}
LOWERED, HASH = "status.gpusched.io/lowered", "status.gpusched.io/policy-hash"


def affine(*terms: Any, **extra: Any) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}, **extra}


def lowered(tree: Any, **arguments: Any) -> Any:
    return terms_of(mutated_pod(tree, **{"policy": POLICY, **arguments}))


def test_a_pod_without_affinity_gets_the_alternatives() -> None:
    mutation = mutated(pod(), policy=POLICY)
    terms = [{"matchExpressions": [HOPPER]}, {"matchExpressions": [MIXED]}]
    text = mutation.patch[1].value
    assert isinstance(text, dict)
    assert mutation.patch == (
        Op("add", "/spec/affinity", affine(*terms)),
        Op("add", "/metadata/annotations", {LOWERED: "families=hopper (namespace team-a)", HASH: text[HASH]}),
    )
    assert dict(mutation.audit)["lowered"] == "families=hopper (namespace team-a)"


def test_each_of_the_users_terms_is_anded_with_each_alternative() -> None:
    disk = {"key": "disk", "operator": "Exists"}
    by_name = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    tree = pod(affinity=affine({"matchExpressions": [ZONE]}, {"matchExpressions": [disk], "matchFields": [by_name]}))
    assert lowered(tree) == [
        {"matchExpressions": [ZONE, HOPPER]},
        {"matchExpressions": [disk, HOPPER], "matchFields": [by_name]},
        {"matchExpressions": [ZONE, MIXED]},
        {"matchExpressions": [disk, MIXED], "matchFields": [by_name]},
    ]


def test_a_term_of_fields_alone_gets_expressions() -> None:
    by_name = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    assert lowered(pod(affinity=affine({"matchFields": [by_name], "matchExpressions": None}))) == [
        {"matchFields": [by_name], "matchExpressions": [HOPPER]},
        {"matchFields": [by_name], "matchExpressions": [MIXED]},
    ]


def test_the_rest_of_the_affinity_is_kept() -> None:
    preferred = [{"weight": 1, "preference": {"matchExpressions": [ZONE]}}]
    tree = pod(
        affinity={
            "podAntiAffinity": {"x": 1},
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred},
        }
    )
    after = mutated_pod(tree, policy=POLICY)["spec"]["affinity"]
    assert after["podAntiAffinity"] == {"x": 1}
    assert after["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] == preferred


def test_more_terms_than_can_be_stored_are_narrowed_to_labelled_nodes() -> None:
    terms = [{"matchExpressions": [{"key": f"k{index}", "operator": "Exists"}]} for index in range(600)]
    terms[1:1] = [{}, {"matchExpressions": [ZONE, MIXED]}]
    tree = pod(affinity=affine(*terms))
    once = lowered(tree)

    assert once == [
        term if index in {1, 2} else {"matchExpressions": [*term["matchExpressions"], HOPPER]}
        for index, term in enumerate(terms)
    ]
    assert lowered(pod(affinity=affine(*once))) == once


def test_an_empty_term_matches_nothing_and_stays_so() -> None:
    assert lowered(pod(affinity=affine({}, {"matchExpressions": [ZONE]}))) == [
        {},
        {"matchExpressions": [ZONE, HOPPER]},
        {"matchExpressions": [ZONE, MIXED]},
    ]


@pytest.mark.parametrize(
    "affinity",
    [
        affine(),
        affine({}),
        affine({"matchExpressions": [], "matchFields": None}),
        affine(None),
        affine("text"),
        {"nodeAffinity": {REQUIRED: {}}},
        {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": None}}},
    ],
)
def test_affinity_that_matches_nothing_or_is_invalid_is_left_alone(affinity: Any) -> None:
    mutation = mutated(pod(affinity=affinity), policy=POLICY)
    assert mutation.patch == ()
    assert dict(mutation.audit)["lowered"] == "nothing: the pod's node affinity cannot be added to"


@pytest.mark.parametrize("affinity", [None, {}, {"nodeAffinity": None}, {"nodeAffinity": {REQUIRED: None}}])
def test_null_affinity_is_none(affinity: Any) -> None:
    assert lowered(pod(affinity=affinity)) == [{"matchExpressions": [HOPPER]}, {"matchExpressions": [MIXED]}]


@pytest.mark.parametrize(
    ("tree", "arguments", "why"),
    [
        (pod(), {"policy": {}}, "no static rule"),
        (pod(), {"policy": {"families": "hopper", "mode": "warn"}}, "no static rule"),
        (pod(), {"policy": {"families": "hopper", "mode": "enforce,family=audit"}}, "no static rule"),
        (pod(), {"policy": {"quota": "*=4"}}, "no static rule"),
        (pod(), {"config": Config(lowering_enabled=False)}, "lowering is switched off"),
        (pod(), {"facts": ClusterFacts(known=True, labelled=False)}, "the nodes are not labelled yet"),
        (pod(), {"controller": "DaemonSet"}, "a DaemonSet's pods are tied to their nodes"),
        (pod(schedulerName="volcano"), {}, "scheduler volcano has rules of its own"),
        (pod(schedulerName="volcano"), {"config": SECOND}, "scheduler volcano has rules of its own"),
        (pod(schedulerName="gpu"), {}, "scheduler gpu has rules of its own"),
        (pod(nodeName="n1"), {}, "spec.nodeName skips the scheduler"),
    ],
)
def test_what_is_not_lowered(tree: Any, arguments: dict[str, Any], why: str) -> None:
    mutation = mutated(tree, **{"policy": POLICY, **arguments})
    assert [op for op in mutation.patch if "affinity" in op.path or "annotations" in op.path] == []
    assert dict(mutation.audit)["lowered"] == f"nothing: {why}"


def test_a_pod_owned_by_a_daemon_set_is_not_lowered() -> None:
    tree = pod()
    tree["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}]
    assert mutated(tree, policy=POLICY).patch == ()


@pytest.mark.parametrize("mode", ["warn", "audit", "off"])
def test_the_pods_own_rules_are_lowered_in_every_mode(mode: str) -> None:
    tree = mutated_pod(pod(annotations={"gpusched.io/families": "hopper"}), policy={"mode": mode})
    assert terms_of(tree)[0] == {"matchExpressions": [HOPPER]}
    assert tree["metadata"]["annotations"][LOWERED] == "families=hopper (pod)"


def test_the_text_names_who_says_what() -> None:
    policy = {"families": "hopper, ampere", "min-gpu-memory": "20Gi", "node-selector": "a=b"}
    tree = pod(annotations={"gpusched.io/families": "hopper"})
    text = mutated_pod(tree, policy=policy)["metadata"]["annotations"][LOWERED]
    assert text.endswith("(namespace team-a); families=hopper (pod)")
    assert text.startswith("families=hopper,ampere memory>=20Gi")


def test_a_rule_on_node_labels_alone_needs_no_alternatives() -> None:
    assert lowered(pod(), policy={"node-selector": "a=b,!c"}) == [
        {
            "matchExpressions": [
                {"key": "a", "operator": "In", "values": ["b"]},
                {"key": "c", "operator": "DoesNotExist"},
            ]
        }
    ]


def test_node_labels_are_asked_in_every_alternative() -> None:
    plain = {"key": "a", "operator": "In", "values": ["b"]}
    assert lowered(pod(), policy={"families": "hopper", "node-selector": "a=b"}) == [
        {"matchExpressions": [HOPPER, plain]},
        {"matchExpressions": [MIXED, plain]},
    ]


@pytest.mark.parametrize(
    ("config", "count"),
    [(Config(), 3), (Config(lowering_dialects=()), 2), (Config(lowering_dialects=("gke", "eks-auto")), 4)],
)
def test_templates_of_the_dialects_present_or_configured_are_allowed(config: Config, count: int) -> None:
    terms = lowered(pod(), facts=ClusterFacts(known=True, dialects=frozenset({"gke", "gfd"})), config=config)
    assert len(terms) == count
    unlabelled = {"key": "gpusched.io/sharing", "operator": "DoesNotExist"}
    assert all(unlabelled in term["matchExpressions"] for term in terms[2:])


def test_a_second_call_changes_nothing() -> None:
    tree = pod(affinity=affine({"matchExpressions": [ZONE]}))
    facts = ClusterFacts(known=True, dialects=frozenset({"gke"}))
    once = mutated_pod(tree, policy=POLICY, facts=facts)
    again = mutated(once, policy=POLICY, facts=facts)
    assert (again.patch, again.warnings) == ((), ())


def test_a_users_term_that_says_the_same_is_left_and_recorded() -> None:
    tree = pod(affinity=affine({"matchExpressions": [HOPPER, ZONE]}))
    after = mutated_pod(tree, policy=POLICY)
    assert terms_of(after) == [{"matchExpressions": [HOPPER, ZONE]}]
    assert set(after["metadata"]["annotations"]) == {LOWERED, HASH}


def test_forged_annotations_do_not_replace_lowering() -> None:
    real = mutated_pod(pod(), policy=POLICY)["metadata"]["annotations"]
    mutation = mutated(pod(annotations=real), policy=POLICY)
    assert [op.path for op in mutation.patch] == ["/spec/affinity"]
    assert [finding.code for finding in mutation.warnings] == ["policy-malformed", "policy-malformed"]


BOTH = facts_of(gpu_node("a"), gpu_node("b", 4, sharing=Sharing.TIME_SLICING, replicas=4))
TWO = pod("p", "team-a", container(gpus=2))
UNSHARED = {"key": "gpusched.io/sharing", "operator": "NotIn", "values": ["mps", "time-slicing"]}


def test_several_slots_go_to_unshared_gpus_where_both_kinds_are_present() -> None:
    after = mutated_pod(TWO, policy={"mode": "enforce"}, facts=BOTH)
    assert terms_of(after) == [{"matchExpressions": [UNSHARED]}]
    assert after["metadata"]["annotations"][LOWERED] == "sharing!=mps,time-slicing (several slots in one container)"


def test_unshared_is_anded_with_the_other_rules() -> None:
    terms = lowered(TWO, policy={"families": "turing"}, facts=BOTH)
    assert [term["matchExpressions"][-1] for term in terms] == [UNSHARED, UNSHARED]


@pytest.mark.parametrize(
    ("tree", "policy", "facts"),
    [
        (pod(), {"mode": "enforce"}, BOTH),
        (pod("p", "team-a", container("a", gpus=1), container("b", gpus=1)), {"mode": "enforce"}, BOTH),
        (TWO, {"mode": "warn"}, BOTH),
        (TWO, {"mode": "enforce,sharing=warn"}, BOTH),
        (TWO, {"mode": "enforce"}, facts_of(gpu_node("a"))),
        (TWO, {"mode": "enforce"}, facts_of(gpu_node("b", 4, sharing=Sharing.TIME_SLICING, replicas=4))),
        (TWO, {"mode": "enforce"}, facts_of(gpu_node("a", sharing=None), gpu_node("b", 4, sharing=Sharing.MPS))),
        (TWO, {"mode": "enforce"}, ClusterFacts()),
    ],
)
def test_unshared_is_not_lowered(tree: Any, policy: dict[str, str], facts: ClusterFacts) -> None:
    assert "affinity" not in mutated_pod(tree, policy=policy, facts=facts)["spec"]


def test_time_slicing_that_serves_several_slots_is_not_excluded() -> None:
    config = Config(time_slicing_single=False)
    assert "affinity" not in mutated_pod(TWO, policy={"mode": "enforce"}, facts=BOTH, config=config)["spec"]
    mps = facts_of(gpu_node("a"), gpu_node("b", 4, sharing=Sharing.MPS, replicas=4))
    terms = lowered(TWO, policy={"mode": "enforce"}, facts=mps, config=config)
    assert terms == [{"matchExpressions": [{**UNSHARED, "values": ["mps"]}]}]
