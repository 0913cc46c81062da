"""What a terminal shows, without what differs from run to run."""

import re

#: Names that controllers made up, ages and dates, each with what stands instead.
_PASSING = (
    (r"\b(evaluate|finetune|simulation)-[a-z0-9]{5}\b", r"\1-xxxxx"),
    (r"\b(llm|web|gpusched)-[a-f0-9]{8,10}-[a-z0-9]{5}\b", r"\1-xxxxx"),
    (r"\b(PENDING|GATED quota|Ready +<none>|Running +0) +(?:\d+[smhd])+", r"\1 0s"),
    (r"\b\d{4}-\d\d-\d\d \((\d+) d\)", r"in \1 d"),
)
_FINGERPRINT = re.compile(r"\b[0-9a-f]{12}\b")


def alike(text: str) -> str:
    """The text with all of that replaced; equal fingerprints stay equal, and where lines end does not matter."""
    for pattern, instead in _PASSING:
        text = re.sub(pattern, instead, text)
    known = {found: f"fingerprint-{place}" for place, found in enumerate(dict.fromkeys(_FINGERPRINT.findall(text)))}
    return re.sub(r"[ \n]+", " ", _FINGERPRINT.sub(lambda found: known[found[0]], text))
