"""Static rules on GPUs as data: what a pool and a node must be, and whether one pool satisfies them.

A rule that needs an unknown fact is never satisfied: the answer is then `facts-unknown`, not the rule's own reason.
"""

from collections.abc import Mapping

import msgspec

from gpusched.core.codes import Reason
from gpusched.core.pool import Pool, Sharing
from gpusched.core.products import product_matches
from gpusched.core.selector import Requirement, all_match


class MemoryBound(msgspec.Struct, frozen=True, gc=False):
    """An inclusive bound in MiB, nominal tolerance already applied, with the text it was written as."""

    mib: int
    text: str


class Constraints(msgspec.Struct, frozen=True):
    """What every GPU pool a pod uses, and its node, must satisfy. `None` and `()` mean no rule.

    `families` is ordered by preference. `products` is a conjunction of alternatives: each inner tuple is one side's
    list, of which one must match. `min_memory` and `max_memory` bound visible memory.
    """

    families: tuple[str, ...] | None = None
    products: tuple[tuple[str, ...], ...] = ()
    min_memory: MemoryBound | None = None
    max_memory: MemoryBound | None = None
    sharing: frozenset[Sharing] | None = None
    min_cuda: int | None = None
    min_driver: int | None = None
    node_selector: tuple[Requirement, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing is asked, so that unknown facts do not matter."""
        return self == _NOTHING

    def reason_against(self, pool: Pool) -> Reason | None:
        """The first rule that the pool breaks, None when it satisfies all. Node labels are not looked at.

        `facts-unknown` comes last: a rule that is known to be broken says more than one that cannot be judged.
        """
        rules = (self._family, self._product, self._memory, self._sharing, self._version)
        unknown = None
        for rule in rules:
            reason = rule(pool)
            if reason is Reason.FACTS_UNKNOWN:
                unknown = reason
            elif reason is not None:
                return reason
        return unknown

    def reason_against_labels(self, labels: Mapping[str, str]) -> Reason | None:
        """`node-selector` when the node's labels do not match, else None."""
        return None if all_match(self.node_selector, labels) else Reason.NODE_SELECTOR

    def _family(self, pool: Pool) -> Reason | None:
        if self.families is None:
            return None
        if pool.family is None:
            return Reason.FACTS_UNKNOWN
        return None if pool.family in self.families else Reason.FAMILY

    def _product(self, pool: Pool) -> Reason | None:
        if not self.products:
            return None
        product = pool.product
        if product is None:
            return Reason.FACTS_UNKNOWN
        if all(any(product_matches(wanted, product) for wanted in side) for side in self.products):
            return None
        return Reason.PRODUCT

    def _memory(self, pool: Pool) -> Reason | None:
        if self.min_memory is None and self.max_memory is None:
            return None
        visible = pool.visible_memory_mib
        if visible is None:
            return Reason.FACTS_UNKNOWN
        if self.min_memory is not None and visible < self.min_memory.mib:
            return Reason.MEMORY
        if self.max_memory is not None and visible > self.max_memory.mib:
            return Reason.MEMORY
        return None

    def _sharing(self, pool: Pool) -> Reason | None:
        if self.sharing is None:
            return None
        if pool.sharing is None:
            return Reason.FACTS_UNKNOWN
        return None if pool.sharing in self.sharing else Reason.SHARING

    def _version(self, pool: Pool) -> Reason | None:
        for bound, have in ((self.min_cuda, pool.cuda_version), (self.min_driver, pool.driver_version)):
            if bound is None:
                continue
            if have is None:
                return Reason.FACTS_UNKNOWN
            if have < bound:
                return Reason.VERSION
        return None


_NOTHING = Constraints()
