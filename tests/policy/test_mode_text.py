import pytest

from gpusched.policy.malformed import Malformed
from gpusched.policy.mode_text import format_modes, parse_modes
from gpusched.policy.model import Group, Mode, Modes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("warn", Modes(Mode.WARN)),
        (" Enforce ", Modes(Mode.ENFORCE)),
        (
            "enforce, sharing = audit,quota=warn",
            Modes(Mode.ENFORCE, ((Group.QUOTA, Mode.WARN), (Group.SHARING, Mode.AUDIT))),
        ),
        ("node-name=warn,off", Modes(Mode.OFF, ((Group.NODE_NAME, Mode.WARN),))),
    ],
)
def test_parsed(text: str, expected: Modes) -> None:
    assert parse_modes(text) == expected
    assert parse_modes(format_modes(expected)) == expected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", '"" names no mode; write for example enforce, or leave the key out'),
        ("on", '"on" is no mode; write enforce, warn, audit or off'),
        ("strict", '"strict" is no mode; write enforce'),
        ("dry-run", '"dry-run" is no mode; write audit'),
        ("Disabled", '"Disabled" is no mode; write off'),
        ("enforce;quota=warn", '"enforce;quota=warn" is not separated by commas; write enforce, quota=warn'),
        ("enforced", '"enforced" is no mode; write enforce'),
        ("enforce,warn", '"enforce,warn" names two modes; write one of them, such as enforce'),
        ("quota=warn", '"quota=warn" lacks the mode of all other rules; write for example enforce,quota=warn'),
        ("enforce,families=warn", '"families" is no rule group; write family'),
        (
            "warn,quota=off,quota=warn",
            '"warn,quota=off,quota=warn" names quota twice; write it once, such as quota=warn',
        ),
    ],
)
def test_malformed(text: str, sentence: str) -> None:
    assert parse_modes(text) == Malformed(sentence)
