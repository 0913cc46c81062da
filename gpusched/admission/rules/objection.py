"""What a rule objects to, and what becomes of it in each policy mode."""

from enum import StrEnum

import msgspec

from gpusched.admission.messages import REFUSAL_LIMIT, WARNING_LIMIT, worded
from gpusched.core.codes import Code, Finding
from gpusched.policy.model import Group, Mode


class Force(StrEnum):
    """Where an objection gets its force from.

    `native` repeats the API server, so it refuses whatever the mode; `malformed` refuses in every mode but off;
    `policy` follows the mode; `misspelt` refuses where the mode enforces and warns in every other but off; `advice`
    never refuses.
    """

    NATIVE = "native"
    MALFORMED = "malformed"
    POLICY = "policy"
    MISSPELT = "misspelt"
    ADVICE = "advice"


class Outcome(StrEnum):
    """What the user gets to see of an objection."""

    REFUSAL = "refusal"
    WARNING = "warning"
    AUDIT = "audit"
    NOTHING = "nothing"


_BY_MODE = {
    Force.MALFORMED: {Mode.ENFORCE: Outcome.REFUSAL, Mode.WARN: Outcome.REFUSAL, Mode.AUDIT: Outcome.REFUSAL},
    Force.POLICY: {Mode.ENFORCE: Outcome.REFUSAL, Mode.WARN: Outcome.WARNING, Mode.AUDIT: Outcome.AUDIT},
    Force.MISSPELT: {Mode.ENFORCE: Outcome.REFUSAL, Mode.WARN: Outcome.WARNING, Mode.AUDIT: Outcome.WARNING},
    Force.ADVICE: {Mode.ENFORCE: Outcome.WARNING, Mode.WARN: Outcome.WARNING, Mode.AUDIT: Outcome.AUDIT},
}


class Objection(msgspec.Struct, frozen=True):
    """One thing a rule found. `short` is the sentence for where `full` is too long, such as a warning.

    `group` picks the mode, None for the mode of everything.
    """

    code: Code
    full: str
    short: str = ""
    force: Force = Force.POLICY
    group: Group | None = None

    def outcome(self, mode: Mode, *, natively_judged: bool = False) -> Outcome:
        """What becomes of it in a mode; `natively_judged` says that the API server will refuse by its own rules."""
        if self.force is Force.NATIVE:
            return Outcome.NOTHING if natively_judged and mode is Mode.OFF else Outcome.REFUSAL
        return _BY_MODE[self.force].get(mode, Outcome.NOTHING)

    def finding(self, outcome: Outcome) -> Finding:
        """The sentence in the length that refusals and warnings may have, their code and `: ` counted in."""
        limit = REFUSAL_LIMIT if outcome is Outcome.REFUSAL else WARNING_LIMIT
        return Finding(self.code, worded(self.full, self.short, prefix=len(self.code) + 2, limit=limit))
