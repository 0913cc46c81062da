"""What `demo` prints about answers, pods and events."""

from gpusched.cli.demo_text import answers_text, fates_text, summary_text, waiting_text
from gpusched.cli.style import Style
from gpusched.local.api import Response
from tests.cli.demo_scene import CREATED, GATED, PENDING, applied, fate, refusal, sighted

PLAIN = Style()
AFFINITY = "/spec/affinity"


def test_answers_are_worded_as_kubectl_words_them() -> None:
    text = answers_text(
        "w.yaml",
        [
            applied("Job", "refused", refusal('admission webhook "x" denied the request: gpu-quantity: no')),
            applied("Pod", "p", Response(201, {}, warnings=("gpu-claim: too much", "second"))),
            applied("StatefulSet", "s"),
        ],
    )

    assert text == (
        "\n$ kubectl apply -f w.yaml\n"
        "Warning: gpu-claim: too much\n"
        "Warning: second\n"
        "pod/p created\n"
        "statefulset.apps/s created\n"
        'Error from server (Forbidden): error when creating "w.yaml": admission webhook "x" denied the request:\n'
        "    gpu-quantity: no\n"
    ).replace("the request:\n    gpu", "the\n    request: gpu")


def test_a_status_without_a_reason() -> None:
    text = answers_text("w.yaml", [applied(answer=Response(500, "etcd is gone"))])

    assert text == '\n$ kubectl apply -f w.yaml\nError from server: error when creating "w.yaml": etcd is gone\n'


def test_workloads_with_the_states_of_their_pods() -> None:
    moved = fate(
        applied("StatefulSet", "nb", wanted=3),
        *(sighted(f"nb-{n}", node="t4-1") for n in range(2)),
        sighted("nb-2", "Pending", verdict="Unschedulable"),
        paths=("/spec/runtimeClassName", "/spec/tolerations/-", AFFINITY),
    )

    text = fates_text(
        [moved, fate(applied(answer=refusal("no"), wanted=2)), fate(applied("Job", "late"), GATED, paths=(AFFINITY,))],
        PLAIN,
    )

    everything = ["runtimeClassName,", "tolerations,", "affinity"]
    assert [line.split() for line in text.splitlines()] == [
        [],
        ["NAMESPACE", "WORKLOAD", "PODS", "STATE", "NODE", "ADDED", "BY", "GPUSCHED"],
        ["team-a", "statefulset/nb", "2", "Running", "t4-1", "×2", *everything],
        ["team-a", "statefulset/nb", "1", "Pending", "-", *everything],
        ["team-a", "job/train", "2", "refused", "-", "-"],
        ["team-a", "job/late", "1", "SchedulingGated", "-", "affinity"],
    ]


def test_waiting_pods_with_their_events_else_their_conditions() -> None:
    fates = [fate(applied(), sighted("fine", node="a"), PENDING), fate(applied(), GATED)]

    assert waiting_text(fates, {"uid-big": "FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu."}) == (
        "\nteam-a/big  Pending\n"
        "  event      FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.\n"
        "\nteam-a/late  SchedulingGated\n"
        "  condition  Blocked by gates\n"
    )
    assert "  condition  0/1 nodes are available\n" in waiting_text(fates, {"uid-big": ""})


def metric(name: str, **labels: str) -> float:
    return {"/filter": 7.0, "/bind": 1.0}.get(labels.get("endpoint", ""), 0.0)


def test_summary_counts_each_pod_once() -> None:
    fates = [fate(applied(), sighted("a", node="x"), PENDING, GATED), fate(applied(answer=refusal("no"), wanted=2))]

    assert summary_text(fates, [], metric) == (
        "\n5 pods: 1 running, 2 refused, 1 pending, 1 gated\n"
        "gpusched answered 0 mutate, 0 validate, 7 filter, 0 prioritize, 1 bind requests; 0 GPU pods bound by\n"
        "anyone else\n"
        "gpusched simulate foresees the same of every workload, and the same nodes for GPU pods\n"
    )


def test_summary_names_what_was_not_foreseen() -> None:
    text = summary_text([fate(applied(), sighted("a", node="x"))], ["job/train: foreseen 1 y; came 1 x"], metric)

    assert text.splitlines()[-1] == "not as gpusched simulate foresees it: job/train: foreseen 1 y; came 1 x"


def test_nothing_that_a_server_says_reaches_the_terminal_as_it_is() -> None:
    text = answers_text("w.yaml", [applied(answer=refusal("no\x1b[31m")), applied(answer=CREATED)])

    assert "\x1b" not in text
