"""The one table of all benchmarks: what was measured, what it came to, and whether that is within its bound."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Row(NamedTuple):
    """One measure. With `floor` the bound is the least allowed, else the most; without a bound it is told only."""

    measure: str
    value: float
    bound: float | None = None
    floor: bool = False
    unit: str = "x"
    note: str = ""

    @property
    def missed(self) -> bool:
        """Whether the bound does not hold."""
        if self.bound is None:
            return False
        return self.value < self.bound if self.floor else self.value > self.bound


def show(rows: Iterable[Row]) -> int:
    """Print the rows as they come; 1 when some bound does not hold."""
    missed = False
    for line, failed in _lines(rows):
        print(line, flush=True)
        missed |= failed
    return int(missed)


def _lines(rows: Iterable[Row]) -> Iterator[tuple[str, bool]]:
    for row in rows:
        bound = "" if row.bound is None else f"{'>=' if row.floor else '<='} {row.bound:g}"
        verdict = "" if row.bound is None else "MISS" if row.missed else "ok"
        value = f"{row.value:.2f} {row.unit}"
        yield f"{row.measure:62} {value:>12}  {bound:8} {verdict:4} {row.note}".rstrip(), row.missed
