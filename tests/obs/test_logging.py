"""Log lines as programs and people read them."""

import io
import logging

import msgspec
import pytest

from gpusched.obs.logging import configure


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [msgspec.json.decode(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_json_line() -> None:
    stream = io.StringIO()
    configure(stream=stream).info("decision", code="fits", duration_ms=0.2, text="two\nlines")

    (line,) = lines(stream)
    assert str(line.pop("timestamp")).endswith("Z")
    assert line == {"event": "decision", "level": "info", "code": "fits", "duration_ms": 0.2, "text": "two\nlines"}


def test_lower_levels_are_left_out() -> None:
    stream = io.StringIO()
    log = configure("warning", stream=stream)
    log.info("no")
    log.warning("yes")

    assert [line["event"] for line in lines(stream)] == ["yes"]


def test_an_exception_keeps_its_trace_on_one_line() -> None:
    stream = io.StringIO()
    log = configure(stream=stream)
    try:
        int("no number")
    except ValueError:
        log.exception("request failed", endpoint="/filter")

    (line,) = lines(stream)
    assert "ValueError" in str(line["exception"])


def test_values_that_are_no_json_become_text() -> None:
    stream = io.StringIO()
    configure(stream=stream).info("x", value=object)

    assert lines(stream)[0]["value"] == "<class 'object'>"


def test_what_libraries_log_goes_the_same_way_from_warnings_up() -> None:
    stream = io.StringIO()
    configure("debug", stream=stream)
    logging.getLogger("uvicorn.error").warning("Invalid HTTP %s received.", "request")
    logging.getLogger("uvicorn.error").info("Shutting down")

    (line,) = lines(stream)
    assert (line["event"], line["logger"], line["level"]) == (
        "Invalid HTTP request received.",
        "uvicorn.error",
        "warning",
    )


def test_text_for_a_terminal() -> None:
    stream = io.StringIO()
    configure(json=False, stream=stream).info("listening", port=8443)

    assert "listening" in stream.getvalue()
    assert "port=8443" in stream.getvalue()


def test_an_unknown_level_is_an_error() -> None:
    with pytest.raises(KeyError):
        configure("loud")
