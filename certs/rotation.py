"""PURE. Rotation as a state machine: what is known and the time give the next step, and a step gives the next keyring.

At no moment may a leaf be served that some published caBundle does not verify, whoever stops between two steps:

1. ADD_NEXT: a new authority stands in the Secret beside the current one.
2. PUBLISH: every caBundle holds both.
3. WAIT: API servers read webhook configurations by a watch; a caller that has not seen a bundle yet trusts the old one
   alone. That a call still works shows nothing, since open connections are not verified again.
4. SWITCH: the leaf is issued by the new authority. Open connections go on with the former leaf.
5. DROP_FORMER, when every replica has long read the new leaf; then PUBLISH without the former authority.

The clock of a wait is that of the process that waits, from when it saw the bundles itself, so that a crash makes a wait
longer and never shorter.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from certs.bundle import ends, join_bundle, read_facts, split_bundle
from certs.issue import BACKDATE
from certs.keyring import Keyring, new_authority, new_leaf
from certs.profile import Profile

#: Part of a certificate's life after which it is renewed.
_RENEW_AFTER: Final = 2 / 3


class Request(StrEnum):
    """What a person asks for: another leaf, another authority, or the end of a rotation of the extender's. UNKNOWN
    stands for whatever else somebody wrote.
    """

    NONE = ""
    LEAF = "leaf"
    AUTHORITY = "ca"
    FINISH = "finish"
    UNKNOWN = "unknown"


class Step(StrEnum):
    """What is to be done next. REST and WAIT change nothing; CLEAR takes back a request that is of no use now."""

    REST = "rest"
    WAIT = "wait"
    CLEAR = "clear"
    ISSUE_LEAF = "issue leaf"
    ADD_NEXT = "add authority"
    PUBLISH = "publish"
    SWITCH = "switch authority"
    DROP_FORMER = "drop former authority"


class Phase(StrEnum):
    """How far a rotation is, for people and metrics."""

    STABLE = "stable"
    ANNOUNCING = "announcing"
    OVERLAPPING = "overlapping"


class Terms(msgspec.Struct, frozen=True):
    """`seen` is how long bundles must have stood unchanged before the leaf is switched, `overlap` how long a former
    authority stays trusted after that; it must outlast the time in which every replica looks at its Secret.
    """

    seen: timedelta = timedelta(seconds=30)
    overlap: timedelta = timedelta(hours=1)


def phase(keyring: Keyring, profile: Profile) -> Phase:
    """Where the keyring stands."""
    if keyring.former:
        return Phase.OVERLAPPING
    return Phase.ANNOUNCING if keyring.next is not None and not profile.spare else Phase.STABLE


def next_webhook_step(
    keyring: Keyring,
    profile: Profile,
    request: Request,
    published: Mapping[str, bytes],
    stood: timedelta,
    now: datetime,
    terms: Terms,
) -> Step:
    """The next step of the webhook's keyring. `published` are the caBundles by name of the webhook, as they were read
    before the keyring was; `stood` is how long they have been seen to be as they should be.
    """
    if leaf_due(keyring, profile, now) or request is Request.LEAF:
        return Step.ISSUE_LEAF
    if any(bundle != wanted_bundle(keyring, bundle, now, terms) for bundle in published.values()):
        return Step.PUBLISH
    if request in {Request.FINISH, Request.UNKNOWN}:
        return Step.CLEAR
    if keyring.next is None and (request is Request.AUTHORITY or _due(keyring.current.certificate, now)):
        return Step.ADD_NEXT
    if keyring.next is not None:
        return Step.SWITCH if stood >= terms.seen else Step.WAIT
    if keyring.former:
        return Step.DROP_FORMER if _age(keyring.leaf.certificate, now) >= terms.overlap else Step.WAIT
    return Step.REST


def next_extender_step(keyring: Keyring, profile: Profile, request: Request, now: datetime) -> Step:
    """The next step of the extender's keyring. Its authority changes on request alone, since files on kube-scheduler's
    hosts must follow; and not again before those files are known to have followed.
    """
    if keyring.next is None:
        return Step.ADD_NEXT
    if request is Request.AUTHORITY:
        return Step.CLEAR if keyring.former else Step.SWITCH
    if request is Request.FINISH:
        return Step.DROP_FORMER if keyring.former else Step.CLEAR
    if leaf_due(keyring, profile, now) or request is Request.LEAF:
        return Step.ISSUE_LEAF
    return Step.CLEAR if request is Request.UNKNOWN else Step.REST


def taken(step: Step, keyring: Keyring, profile: Profile, now: datetime) -> Keyring:
    """The keyring after the step; new keys are drawn where it needs them."""
    if step is Step.ISSUE_LEAF:
        return msgspec.structs.replace(keyring, leaf=new_leaf(profile, keyring.current, now))
    if step is Step.ADD_NEXT:
        return msgspec.structs.replace(keyring, next=new_authority(profile, now))
    if step is Step.DROP_FORMER:
        return msgspec.structs.replace(keyring, former=())
    if step is Step.SWITCH and keyring.next is not None:
        return Keyring(
            leaf=new_leaf(profile, keyring.next, now),
            current=keyring.next,
            next=new_authority(profile, now) if profile.spare else None,
            former=(keyring.current.certificate, *keyring.former),
        )
    return keyring


def settles(step: Step, request: Request) -> bool:
    """Whether the request needs no more attention once the step is done."""
    settled = {
        Request.LEAF: {Step.ISSUE_LEAF},
        Request.AUTHORITY: {Step.SWITCH},
        Request.FINISH: {Step.DROP_FORMER},
    }
    return step is Step.CLEAR or step in settled.get(request, set())


def wanted_bundle(keyring: Keyring, published: bytes, now: datetime, terms: Terms) -> bytes:
    """What a caBundle should be that is `published` now: the very same where it holds what it should.

    Authorities that the keyring does not know stay for as long as the leaf is young: where a lost Secret was replaced,
    other replicas may still serve a leaf of theirs.
    """
    try:
        standing = split_bundle(published)
    except ValueError:
        standing = ()
    young = _age(keyring.leaf.certificate, now) < terms.overlap
    strange = [each for each in standing if young and ends(each) > now]
    wanted = tuple(dict.fromkeys((*keyring.trusted, *strange)))
    return published if set(standing) == set(wanted) else join_bundle(wanted)


def leaf_due(keyring: Keyring, profile: Profile, now: datetime) -> bool:
    """Whether the leaf is to be renewed: most of its life is over, or it lacks a name."""
    leaf = keyring.leaf.certificate
    return _due(leaf, now) or not set(profile.names) <= set(read_facts(leaf).names)


def _due(certificate: bytes, now: datetime) -> bool:
    facts = read_facts(certificate)
    return now >= facts.not_before + (facts.not_after - facts.not_before) * _RENEW_AFTER


def _age(certificate: bytes, now: datetime) -> timedelta:
    return now - read_facts(certificate).not_before - BACKDATE
