"""PURE. A keyring: a served leaf, the authority that issued it and those trusted besides, as a Secret has them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec

from certs.bundle import belongs, is_elliptic, join_bundle, read_facts, split_bundle, verifies
from certs.issue import KeyPair, issue_ca, issue_leaf
from certs.profile import Profile

_LEAF: Final = ("tls.crt", "tls.key")
_CURRENT: Final = ("authority.crt", "authority.key")
_NEXT: Final = ("next-authority.crt", "next-authority.key")
#: Every trusted authority, where others look for it (cert-manager and Secrets mounted as files have it there too).
_TRUSTED: Final = "ca.crt"


class Keyring(msgspec.Struct, frozen=True):
    """`current` issued the leaf. `next` is trusted and issues nothing yet, `former` are trusted and issue nothing any
    more.
    """

    leaf: KeyPair
    current: KeyPair
    next: KeyPair | None = None
    former: tuple[bytes, ...] = ()

    @property
    def trusted(self) -> tuple[bytes, ...]:
        """Certificates of all authorities that callers are to trust, the issuing one first."""
        coming = () if self.next is None else (self.next.certificate,)
        return (self.current.certificate, *coming, *self.former)

    @property
    def lasting(self) -> tuple[bytes, ...]:
        """The same without those that are about to go."""
        return self.trusted[: len(self.trusted) - len(self.former)]


def new_authority(profile: Profile, now: datetime) -> KeyPair:
    """A new authority of this purpose."""
    return issue_ca(profile.title, now, profile.authority_lifetime)


def new_leaf(profile: Profile, authority: KeyPair, now: datetime) -> KeyPair:
    """A server's leaf for the names of the profile; it ends with its authority at the latest."""
    left = read_facts(authority.certificate).not_after - now
    return issue_leaf(authority, profile.names, now, min(profile.leaf_lifetime, left))


def new_keyring(profile: Profile, now: datetime) -> Keyring:
    """Everything from nothing."""
    current = new_authority(profile, now)
    spare = new_authority(profile, now) if profile.spare else None
    return Keyring(new_leaf(profile, current, now), current, spare)


def new_client(keyring: Keyring, name: str, now: datetime) -> KeyPair:
    """A certificate for a client, as long as its authority: whoever copies its files to a host does not do so often."""
    left = read_facts(keyring.current.certificate).not_after - now
    return issue_leaf(keyring.current, (name,), now, left, client=True)


def keyring_data(keyring: Keyring) -> dict[str, bytes]:
    """The keyring as data of a Secret of type kubernetes.io/tls."""
    pairs = [(_LEAF, keyring.leaf), (_CURRENT, keyring.current)]
    if keyring.next is not None:
        pairs.append((_NEXT, keyring.next))
    data = {}
    for (certificate, key), pair in pairs:
        data[certificate], data[key] = pair.certificate, pair.key
    return data | {_TRUSTED: join_bundle(keyring.trusted)}


def read_keyring(data: Mapping[str, bytes], at: datetime) -> Keyring | str:
    """The keyring of a Secret's data; a text instead says why it is of no use."""
    try:
        keyring = _read(data)
        return _damage(keyring, at) or keyring
    except KeyError as error:
        return f"{error.args[0]} is missing"
    except (ValueError, TypeError) as error:
        return f"it cannot be read: {error}"


def _read(data: Mapping[str, bytes]) -> Keyring:
    current = _pair(data, _CURRENT)
    coming = _pair(data, _NEXT) if _NEXT[0] in data else None
    keyring = Keyring(_pair(data, _LEAF), current, coming)
    former = [each for each in split_bundle(data[_TRUSTED]) if each not in keyring.trusted]
    return msgspec.structs.replace(keyring, former=tuple(former))


def _pair(data: Mapping[str, bytes], names: tuple[str, str]) -> KeyPair:
    certificates = split_bundle(data[names[0]])
    if len(certificates) != 1:
        raise ValueError(f"{names[0]} holds {len(certificates)} certificates, not one")
    return KeyPair(certificates[0], data[names[1]])


def _damage(keyring: Keyring, at: datetime) -> str:
    """Why the parts do not make a whole, empty if they do. A leaf that has ended is renewed, so it is no damage."""
    pairs = {"tls": keyring.leaf, "authority": keyring.current, "next-authority": keyring.next}
    for name, pair in pairs.items():
        if pair is not None and not belongs(pair.certificate, pair.key):
            return f"{name}.key is not the key of {name}.crt"
    for name in ("authority", "next-authority"):
        pair = pairs[name]
        if pair is not None and not is_elliptic(pair.key):
            return f"{name}.key is not an elliptic curve key"
    authority, leaf = read_facts(keyring.current.certificate), read_facts(keyring.leaf.certificate)
    if at >= authority.not_after:
        return f"its authority ended at {authority.not_after}"
    begin = max(leaf.not_before, authority.not_before)
    if not verifies(keyring.leaf.certificate, (keyring.current.certificate,), begin):
        return "tls.crt was not issued by authority.crt"
    return ""
