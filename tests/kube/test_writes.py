"""Every write and every way in which it can end."""

import asyncio

import pytest

from gpusched.core.read_pod import read_pod
from gpusched.kube import writes
from gpusched.kube.errors import Response
from gpusched.kube.session import Session
from gpusched.kube.writes import Outcome, Result
from tests.build import pod
from tests.fakes.apiserver import NODES, PODS, ApiServer, WriteFault
from tests.fakes.follower import named

pytestmark = pytest.mark.anyio

MARK = {"status.gpusched.io/bound": "n0"}


async def bind(session: Session, uid: str, node: str = "n0", name: str = "p") -> Outcome:
    return await writes.bind(session, "team-a", name, uid, node, {"status.gpusched.io/bound": node}, 5.0)


def waiting(server: ApiServer, **spec: object) -> str:
    return server.put(PODS, pod("p", annotations={"kept": "yes"}, **spec))["metadata"]["uid"]


async def test_bind_writes_node_and_annotations_at_once(server: ApiServer, session: Session) -> None:
    outcome = await bind(session, waiting(server))

    bound = server.objects[PODS]["team-a/p"]
    assert outcome == Outcome(Result.BOUND, status=201)
    assert bound["spec"]["nodeName"] == "n0"
    assert bound["metadata"]["annotations"] == {"kept": "yes"} | MARK


async def test_bind_of_a_recreated_pod_is_a_conflict(server: ApiServer, session: Session) -> None:
    waiting(server)

    outcome = await bind(session, "uid-old")

    assert outcome.result is Result.CONFLICT
    assert outcome.message.startswith(
        'Operation cannot be fulfilled on pods "p": StorageError: invalid object, Code: 4'
    )
    assert "UID in precondition: uid-old, UID in object meta: uid-1" in outcome.message
    assert "nodeName" not in server.objects[PODS]["team-a/p"]["spec"]


@pytest.mark.parametrize("node", ["n0", "n1"])
async def test_second_bind_is_a_conflict(server: ApiServer, session: Session, node: str) -> None:
    uid = waiting(server)
    await bind(session, uid)

    outcome = await bind(session, uid, node)

    assert outcome == Outcome(
        Result.CONFLICT,
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n0"',
        409,
    )


async def test_bind_of_a_missing_pod_is_refused(session: Session) -> None:
    assert await bind(session, "uid-1") == Outcome(Result.REFUSED, 'pods "p" not found', 404)


@pytest.mark.parametrize(
    ("fault", "done"),
    [
        (WriteFault.LOST_BEFORE, False),
        (WriteFault.LOST_AFTER, True),
        (WriteFault.STATUS_500, False),
        (WriteFault.STATUS_500_AFTER, True),
    ],
)
async def test_bind_without_a_clear_answer_is_unknown(
    server: ApiServer, session: Session, fault: WriteFault, done: bool
) -> None:
    uid = waiting(server)
    server.write_faults.append(fault)

    outcome = await bind(session, uid)

    assert outcome.result is Result.UNKNOWN
    assert outcome.message
    assert ("nodeName" in server.objects[PODS]["team-a/p"]["spec"]) is done
    assert sum(1 for method, _, _ in server.requests if method == "POST") == 1


async def test_bind_that_never_left_is_refused(server: ApiServer, session: Session) -> None:
    session._configuration.host = "http://127.0.0.1:1"

    outcome = await bind(session, "uid-1")

    assert outcome.result is Result.REFUSED
    assert outcome.message.startswith("Cannot connect to host 127.0.0.1:1")


@pytest.mark.parametrize(
    ("status", "result"),
    [
        (200, Result.DONE),
        (201, Result.DONE),
        (400, Result.REFUSED),
        (401, Result.REFUSED),
        (403, Result.REFUSED),
        (404, Result.REFUSED),
        (408, Result.UNKNOWN),
        (409, Result.CONFLICT),
        (422, Result.REFUSED),
        (429, Result.REFUSED),
        (500, Result.UNKNOWN),
        (503, Result.UNKNOWN),
        (504, Result.UNKNOWN),
    ],
)
def test_outcome_of_a_status(status: int, result: Result) -> None:
    message = "" if status < 300 else f"HTTP {status}"

    assert writes.outcome_of(Response(status, b"")) == Outcome(result, message, status)


async def test_get_pod(server: ApiServer, session: Session) -> None:
    waiting(server)

    assert await writes.get_pod(session, "team-a", "p") == (200, server.objects[PODS]["team-a/p"])
    assert await writes.get_pod(session, "team-a", "q") == (404, None)
    assert server.requests[0] == ("GET", "/api/v1/namespaces/team-a/pods/p", {})


async def test_node_labels_are_set_and_removed(server: ApiServer, session: Session) -> None:
    server.put(NODES, named("a", old="1", kept="1"))

    outcome = await writes.patch_node_labels(session, "a", {"old": None, "gpusched.io/family": "h200"})

    assert outcome == Outcome(Result.DONE, status=200)
    assert server.objects[NODES]["a"]["metadata"]["labels"] == {"kept": "1", "gpusched.io/family": "h200"}


async def test_pod_metadata_is_patched_only_on_the_pod_meant(server: ApiServer, session: Session) -> None:
    uid = waiting(server)

    right = await writes.patch_pod_annotations(session, "team-a", "p", {"woken": "1"}, uid=uid)
    wrong = await writes.patch_pod_annotations(session, "team-a", "p", {"woken": "2"}, uid="uid-old")
    labelled = await writes.patch_pod_labels(session, "team-a", "p", {"gpusched.io/leader": "true"})

    metadata = server.objects[PODS]["team-a/p"]["metadata"]
    assert [right.result, wrong.result, labelled.result] == [Result.DONE, Result.REFUSED, Result.DONE]
    assert metadata["annotations"] == {"kept": "yes", "woken": "1"}
    assert metadata["labels"] == {"gpusched.io/leader": "true"}


async def test_bind_of_a_gated_pod_is_a_conflict(server: ApiServer, session: Session) -> None:
    outcome = await bind(session, waiting(server, schedulingGates=GATES))

    assert outcome.result is Result.CONFLICT
    assert outcome.message.endswith("pod p has non-empty .spec.schedulingGates")


GATES = [{"name": "other"}, {"name": "gpusched.io/quota"}]


async def test_gate_is_removed_alone(server: ApiServer, session: Session) -> None:
    waiting(server, schedulingGates=GATES)
    seen = read_pod(server.objects[PODS]["team-a/p"], [])

    outcome = await writes.remove_gate(session, seen, "gpusched.io/quota")

    assert outcome.result is Result.DONE
    assert server.objects[PODS]["team-a/p"]["spec"]["schedulingGates"] == [{"name": "other"}]


@pytest.mark.parametrize("change", ["gates", "uid"])
async def test_gate_of_a_pod_that_changed_stays(server: ApiServer, session: Session, change: str) -> None:
    waiting(server, schedulingGates=GATES)
    seen = read_pod(server.objects[PODS]["team-a/p"], [])
    if change == "gates":
        waiting(server, schedulingGates=[*GATES[1:], {"name": "third"}])
    else:
        server.remove(PODS, "team-a/p")
        waiting(server, schedulingGates=GATES)
    before = server.objects[PODS]["team-a/p"]

    outcome = await writes.remove_gate(session, seen, "gpusched.io/quota")

    assert outcome.result is Result.REFUSED
    assert outcome.status == 422
    assert server.objects[PODS]["team-a/p"] == before


async def test_gate_that_is_not_there_needs_no_request(server: ApiServer, session: Session) -> None:
    waiting(server)

    outcome = await writes.remove_gate(session, read_pod(server.objects[PODS]["team-a/p"], []), "gpusched.io/quota")

    assert outcome == Outcome(Result.DONE)
    assert server.requests == []


async def test_a_binding_bounds_the_work_of_the_api_server(server: ApiServer, session: Session) -> None:
    await bind(session, waiting(server))

    assert server.requests[-1] == ("POST", "/api/v1/namespaces/team-a/pods/p/binding", {"timeout": "5s"})


async def test_a_binding_is_given_up_in_time_although_credentials_are_renewed(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slow(*_arguments: object, **_options: object) -> object:
        await asyncio.Event().wait()
        return None

    monkeypatch.setattr(session, "request", slow)

    outcome = await writes.bind(session, "team-a", "p", "uid-1", "n0", {}, 0.01)

    assert outcome == Outcome(Result.UNKNOWN, "timed out")
