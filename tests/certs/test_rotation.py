"""The rotation as a state machine: what is due when, and that no call fails whatever is stopped where."""

from datetime import timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certs.bundle import read_facts, split_bundle
from certs.keyring import Keyring, new_authority, new_keyring
from certs.profile import extender_profile
from certs.rotation import (
    Phase,
    Request,
    Step,
    Terms,
    next_extender_step,
    next_webhook_step,
    phase,
    settles,
    taken,
    wanted_bundle,
)
from tests.certs.rotation_world import LOOK, PROFILE, START, TERMS, World, without_leaf
from tests.certs.verifier import accepts

EXTENDER = extender_profile("gpusched-system")
RING = new_keyring(PROFILE, START)
PUBLISHED = b"".join(RING.trusted)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
OVER = START + HOUR


def announced(ring: Keyring = RING) -> Keyring:
    return taken(Step.ADD_NEXT, ring, PROFILE, START)


def switched(ring: Keyring = RING) -> Keyring:
    return taken(Step.SWITCH, announced(ring), PROFILE, START)


def bundle(ring: Keyring) -> bytes:
    return b"".join(ring.trusted)


def due(ring: Keyring, published: bytes, *, request=Request.NONE, stood=timedelta(0), at=OVER, profile=PROFILE) -> Step:
    return next_webhook_step(ring, profile, request, {"one": published, "two": published}, stood, at, TERMS)


@pytest.mark.parametrize(
    ("ring", "published", "more", "step"),
    [
        (RING, PUBLISHED, {}, Step.REST),
        (RING, b"", {}, Step.PUBLISH),
        (RING, b"hello", {}, Step.PUBLISH),
        (RING, bundle(new_keyring(PROFILE, START)), {}, Step.PUBLISH),
        (RING, PUBLISHED, {"request": Request.LEAF}, Step.ISSUE_LEAF),
        (RING, PUBLISHED, {"request": Request.AUTHORITY}, Step.ADD_NEXT),
        (RING, PUBLISHED, {"request": Request.FINISH}, Step.CLEAR),
        (RING, PUBLISHED, {"request": Request.UNKNOWN}, Step.CLEAR),
        (RING, PUBLISHED, {"at": START + 59 * DAY}, Step.REST),
        (RING, PUBLISHED, {"at": START + 61 * DAY}, Step.ISSUE_LEAF),
        (RING, PUBLISHED, {"profile": msgspec.structs.replace(PROFILE, names=("other",))}, Step.ISSUE_LEAF),
        (announced(), PUBLISHED, {}, Step.PUBLISH),
        (announced(), b"", {}, Step.PUBLISH),
    ],
)
def test_what_is_due(ring, published, more, step):
    assert due(ring, published, **more) is step


def test_an_authority_is_renewed_long_before_its_end():
    old = msgspec.structs.replace(RING, leaf=taken(Step.ISSUE_LEAF, RING, PROFILE, START + 1200 * DAY).leaf)

    assert due(old, PUBLISHED, at=START + 1200 * DAY) is Step.REST
    old = msgspec.structs.replace(RING, leaf=taken(Step.ISSUE_LEAF, RING, PROFILE, START + 1217 * DAY).leaf)
    assert due(old, PUBLISHED, at=START + 1217 * DAY) is Step.ADD_NEXT


def test_a_new_authority_waits_until_bundles_have_been_seen():
    ring = announced()

    assert due(ring, bundle(ring), stood=TERMS.seen - timedelta(seconds=1)) is Step.WAIT
    assert due(ring, bundle(ring), stood=TERMS.seen) is Step.SWITCH
    assert due(ring, bundle(ring), stood=TERMS.seen, request=Request.AUTHORITY) is Step.SWITCH
    after = taken(Step.SWITCH, ring, PROFILE, OVER)
    assert (after.current, after.next, after.former) == (ring.next, None, (ring.current.certificate,))
    assert accepts(after.leaf.certificate, bundle(ring), OVER)


def test_a_former_authority_is_dropped_after_the_overlap():
    ring = switched()

    assert due(ring, bundle(ring), at=START + TERMS.overlap / 2) is Step.WAIT
    assert due(ring, bundle(ring), at=START + TERMS.overlap) is Step.DROP_FORMER
    after = taken(Step.DROP_FORMER, ring, PROFILE, OVER)
    assert after.trusted == (ring.current.certificate,)
    assert due(after, bundle(ring)) is Step.PUBLISH


def test_authorities_of_others_stay_while_the_leaf_is_young():
    """A lost Secret was made anew: some replicas still serve a leaf of before."""
    lost, ended = bundle(new_keyring(PROFILE, START)), bundle(new_keyring(PROFILE, START - 9999 * DAY))

    young = wanted_bundle(RING, lost + ended, START, TERMS)
    assert young == PUBLISHED + lost
    assert wanted_bundle(RING, young, START, TERMS) is young
    assert wanted_bundle(RING, young, OVER, TERMS) == PUBLISHED
    assert wanted_bundle(RING, b"hello", START, TERMS) == PUBLISHED


def test_the_order_of_a_bundle_is_of_no_importance():
    ring = announced()
    other = b"".join(reversed(ring.trusted))

    assert wanted_bundle(ring, other, OVER, TERMS) is other


@pytest.mark.parametrize(
    ("request_", "step", "settled"),
    [
        (Request.LEAF, Step.ISSUE_LEAF, True),
        (Request.AUTHORITY, Step.ADD_NEXT, False),
        (Request.AUTHORITY, Step.SWITCH, True),
        (Request.AUTHORITY, Step.ISSUE_LEAF, False),
        (Request.FINISH, Step.DROP_FORMER, True),
        (Request.UNKNOWN, Step.CLEAR, True),
        (Request.NONE, Step.SWITCH, False),
    ],
)
def test_a_request_is_settled_by_what_it_asks_for(request_, step, settled):
    assert settles(step, request_) is settled


def test_phases():
    assert [phase(ring, PROFILE) for ring in (RING, announced(), switched())] == list(Phase)
    assert phase(new_keyring(EXTENDER, START), EXTENDER) is Phase.STABLE


def test_the_extenders_next_authority_takes_over_at_once_and_has_a_successor():
    ring = new_keyring(EXTENDER, START)
    assert next_extender_step(ring, EXTENDER, Request.NONE, START) is Step.REST
    assert next_extender_step(ring, EXTENDER, Request.AUTHORITY, START) is Step.SWITCH

    after = taken(Step.SWITCH, ring, EXTENDER, OVER)

    assert (after.current, after.former) == (ring.next, (ring.current.certificate,))
    assert after.next not in {None, ring.current, ring.next}
    assert accepts(after.leaf.certificate, bundle(ring), OVER)
    # Files of before are in use until somebody says that they are not.
    assert next_extender_step(after, EXTENDER, Request.AUTHORITY, OVER) is Step.CLEAR
    assert next_extender_step(after, EXTENDER, Request.FINISH, OVER) is Step.DROP_FORMER
    finished = taken(Step.DROP_FORMER, after, EXTENDER, OVER)
    assert finished == msgspec.structs.replace(after, former=())
    assert next_extender_step(finished, EXTENDER, Request.FINISH, OVER) is Step.CLEAR


@pytest.mark.parametrize(
    ("request_", "days", "step"),
    [
        (Request.NONE, 61, Step.ISSUE_LEAF),
        (Request.LEAF, 0, Step.ISSUE_LEAF),
        (Request.UNKNOWN, 0, Step.CLEAR),
    ],
)
def test_the_extenders_leaf(request_, days, step):
    ring = new_keyring(EXTENDER, START)

    assert next_extender_step(ring, EXTENDER, request_, START + days * DAY) is step
    single = msgspec.structs.replace(ring, next=None)
    assert next_extender_step(single, EXTENDER, request_, START) is Step.ADD_NEXT
    assert taken(Step.ADD_NEXT, single, EXTENDER, START).next is not None


def test_a_leaf_is_renewed_and_nothing_else():
    after = taken(Step.ISSUE_LEAF, switched(), PROFILE, OVER)

    assert without_leaf(after) == without_leaf(msgspec.structs.replace(switched(), **_parts(after)))
    assert accepts(after.leaf.certificate, bundle(after), OVER)


def _parts(ring: Keyring) -> dict[str, object]:
    return {"current": ring.current, "next": ring.next, "former": ring.former}


@pytest.mark.parametrize("step", [Step.REST, Step.WAIT, Step.PUBLISH, Step.CLEAR])
def test_other_steps_leave_the_keyring(step):
    assert taken(step, RING, PROFILE, OVER) is RING


def test_a_whole_rotation_takes_its_steps_in_order():
    world = World(processes=1)
    world.wait(HOUR)
    world.request = Request.AUTHORITY
    before = world.keyring

    world.settle()

    assert world.steps == [Step.ADD_NEXT, Step.PUBLISH, Step.SWITCH, Step.DROP_FORMER, Step.PUBLISH]
    assert world.keyring.current != before.current
    assert split_bundle(world.bundles[-1][1]) == (world.keyring.current.certificate,)
    assert world.request is Request.NONE


ACTIONS = st.one_of(
    st.tuples(st.just("advance"), st.integers(0, 1)),
    st.tuples(st.just("run"), st.integers(0, 1)),
    st.tuples(st.just("run"), st.integers(0, 1)),
    st.tuples(st.just("crash"), st.integers(0, 1)),
    st.tuples(st.just("look"), st.integers(0, 1)),
    st.tuples(st.just("wait"), st.sampled_from([1, 5, 19, 29, 31, 61])),
    st.tuples(st.just("ask"), st.sampled_from([Request.AUTHORITY, Request.AUTHORITY, Request.LEAF])),
    st.tuples(st.just("month"), st.just(0)),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(ACTIONS, min_size=10, max_size=60))
def test_no_call_fails_whoever_stops_where(actions):
    """At every moment the leaf of every replica is verified by every bundle that an API server may go by."""
    world = World()
    world.wait(HOUR)
    for name, value in actions:
        if name == "advance":
            world.advance(value)
        elif name == "run":
            world.run(value)
        elif name == "crash":
            world.crash(value)
        elif name == "look":
            world.look(value)
        elif name == "wait":
            # Nobody waits longer than a replica between two looks without one.
            for _ in range(-(-value // 19)):
                world.wait(timedelta(seconds=value / -(-value // 19)))
        elif name == "ask":
            world.request = Request(value)
        else:
            world.settle()
            world.wait(25 * DAY)
        assert world.broken() == []
    world.settle()
    assert world.broken() == []
    assert phase(world.keyring, PROFILE) is Phase.STABLE
    assert split_bundle(world.bundles[-1][1]) == (world.keyring.current.certificate,)
    assert read_facts(world.keyring.leaf.certificate).not_after - world.now > 29 * DAY
    assert TERMS.overlap > LOOK


def test_without_a_wait_calls_would_fail():
    """That the world can tell."""
    world = World(processes=1)
    world.wait(HOUR)
    world.keyring = msgspec.structs.replace(world.keyring, next=new_authority(PROFILE, world.now))
    world.bundles.append((world.now, bundle(world.keyring)))
    world.keyring = taken(Step.SWITCH, world.keyring, PROFILE, world.now)
    world.look(0)

    assert world.broken() == ["replica 0 fails bundle 0 of 2"]
    assert Terms().seen == timedelta(seconds=30)


def test_who_comes_late_with_something_old_is_refused():
    """A process that stands still between its reading and its writing, while another one rotates twice."""
    world = World()
    world.wait(HOUR)
    world.request = Request.AUTHORITY
    while world.steps[-1:] != [Step.DROP_FORMER]:
        world.run(0)
        world.wait(timedelta(seconds=10))
    world.advance(1)
    world.advance(1)
    stale = world.processes[1].work
    world.settle()
    world.request = Request.AUTHORITY
    while world.steps[-1:] != [Step.SWITCH]:
        world.run(0)
        world.wait(timedelta(seconds=10))
    world.wait(LOOK)
    steps = list(world.steps)

    assert stale is world.processes[1].work is not None
    world.advance(1)

    assert world.steps == steps
    assert world.broken() == []
