import pytest

from gpusched.core.code_help import CODE_HELP, REASON_HELP, help_of
from gpusched.core.codes import Code, Reason

EVERYTHING = [*Code, *Reason]


def test_every_code_has_an_entry():
    assert set(CODE_HELP) == set(Code)
    assert set(REASON_HELP) == set(Reason)


@pytest.mark.parametrize("code", EVERYTHING)
def test_entries_are_whole_sentences(code):
    found = help_of(code.value)
    assert found is not None
    assert found[0] is code
    for text in (found[1].cause, found[1].fix):
        assert text[0].isupper() or text.startswith(("spec.nodeName", "kube-scheduler"))
        assert text.endswith(".")
    assert found[1].example.strip() == found[1].example != ""


def test_no_word_is_both():
    assert not {code.value for code in Code} & {reason.value for reason in Reason}
    assert help_of("gpu-clam") is None
