"""Until when bindings of a leader that vanished may still be carried out, and waiting for that.

A leader that ends in good order has no binding under way and gives the Lease back. One that was killed, or lost its
network, may have sent bindings whose slots nobody remembers. They end in time, by these bounds one after the other:

* It promises slots only while it leads, that is for `Terms.renew` seconds after its last renewal, by its own clock.
* A binding is sent within `request_limit` seconds of its promise or not at all (`kube.writes.bind` gives up then).
* It carries `?timeout=<request_limit>`, which is the deadline of the API server's context for the request, counted from
  its arrival (k8s.io/apiserver, endpoints/filters/request_deadline.go). The write to etcd is given that context, so
  that none begins after it (registry/core/pod/storage, BindingREST; storage/etcd3, Txn).
* What etcd has been handed by then is ordered before any later write, or lost. So the wait ends with a renewal of the
  Lease that began after the deadline, and pods are listed after it, with quorum.

The sum is an annotation of the Lease, since the next holder may be run with other settings; of a holder without it the
limits of an API server's defaults are assumed. The successor counts from when it first saw the last renewal, which is
no earlier than the renewal itself.

Outside the bounds is whoever is suspended for longer than all this and then goes on: gpusched between the last look at
its clock and the socket, or an API server that has a request in its socket's buffer and has not read it (it would find
the connection of a dead client closed, by which net/http cancels the request). A binding takes no fencing token that
could exclude them. The kubelet refuses a pod whose whole slots are not there.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Final

from gpusched.core.names import STATUS_PREFIX
from gpusched.kube.leader import Election, Former, Terms

#: On the Lease: seconds after the last renewal at which no binding of its holder can be carried out any more.
SETTLED_ANNOTATION: Final = STATUS_PREFIX + "settled-after-seconds"
#: Clocks that run at different speeds, and the way from here to the API server.
_MARGIN: Final = 1.0
#: --request-timeout of kube-apiserver, unless it is set.
_SERVER_LIMIT: Final = 60.0
_LOOK: Final = 0.05


def carried_out_within(request_limit: float) -> float:
    """Seconds after its promise within which a binding is carried out or never: sent, worked on, and a margin."""
    return 2 * request_limit + _MARGIN


def settled_after(terms: Terms, request_limit: float) -> float:
    """Seconds after its last renewal within which the last binding of a holder is carried out or never."""
    return terms.renew + carried_out_within(request_limit)


class Predecessor:
    """The former holder of the Lease, as far as the present one has to wait for it."""

    def __init__(
        self, election: Election, clock: Callable[[], float], sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._election = election
        self._clock = clock
        self._sleep = sleep
        self._over: Former | None = None

    @property
    def settled(self) -> bool:
        """Whether there was none, or its bindings have been waited for."""
        return self._election.former is self._over

    async def wait(self) -> None:
        """Return when none of its bindings can be carried out any more that a list made now does not show."""
        former = self._election.former
        if former is None:
            self._over = None
            return
        end = former.seen_at + _seconds(former)
        while self._clock() < end or self._election.renewed < end:
            await self._sleep(_LOOK)
        self._over = former


def _seconds(former: Former) -> float:
    annotations = former.lease.metadata.get("annotations")
    text = annotations.get(SETTLED_ANNOTATION) if isinstance(annotations, dict) else None
    try:
        seconds = float(text or "")
    except ValueError:
        seconds = math.nan
    if 0 <= seconds < math.inf:
        return seconds
    return (former.lease.spec.lease_duration_seconds or 0) + _SERVER_LIMIT
