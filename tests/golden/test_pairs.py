from pathlib import Path

import pytest

from tests.golden.pairs import CALLS, INPUT, OUTPUT, ROOT, answered, inputs, output_of


def _title(path: Path) -> str:
    return f"{path.parent.name}/{path.name.removesuffix(INPUT)}"


@pytest.mark.parametrize("path", inputs(), ids=_title)
def test_the_answer_is_the_one_on_file(path: Path) -> None:
    assert answered(path) == output_of(path).read_text(encoding="utf-8")


@pytest.mark.parametrize("group", CALLS)
def test_every_answer_has_its_request(group: str) -> None:
    requests = {path.name.removesuffix(INPUT) for path in (ROOT / group).glob(f"*{INPUT}")}
    answers = {path.name.removesuffix(OUTPUT) for path in (ROOT / group).glob(f"*{OUTPUT}")}
    assert requests == answers
    assert len(requests) >= 12
    assert {name.partition("-")[0] for name in requests} == CALLS[group].keys()
