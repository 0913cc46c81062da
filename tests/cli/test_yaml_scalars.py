import pytest

from gpusched.cli.yaml_scalars import key_text, plain


# What sigs.k8s.io/yaml v1.6.0 makes of each scalar.
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("+1", 1),
        ("-0x1F", -31),
        ("0777", 511),
        ("0o17", 15),
        ("-0o17", -15),
        ("0b101", 5),
        ("1_000", 1000),
        ("00", 0),
        ("0x_1", 1),
        ("1.0", 1),
        ("1e3", 1000),
        ("1.5e3", 1500),
        ("08", 8),
        ("09.5", 9.5),
        ("1_0.5", 10.5),
        ("+.5", 0.5),
        ("1.", 1),
        ("1e-3", 0.001),
        ("1e21", 1e21),
        ("0", 0),
        ("99999999999999999999", 99999999999999999999),
        ("_1", "_1"),
        ("12:30", "12:30"),
        ("12:30:45", "12:30:45"),
        ("2001-01-01", "2001-01-01"),
        ("2001-01-01T00:00:00Z", "2001-01-01T00:00:00Z"),
        ("1Gi", "1Gi"),
        ("500m", "500m"),
        ("0x", "0x"),
        ("0o8", "0o8"),
        ("1e", "1e"),
        ("1e400", "1e400"),
        ("-", "-"),
        ("..", ".."),
        ("._5", "._5"),
        ("NaN", "NaN"),
        ("tRue", "tRue"),
        ("9" * 5000, "9" * 5000),
        ("0x" + "f" * 20, "0x" + "f" * 20),
    ],
)
def test_numbers_are_read_as_kubernetes_reads_them(text: str, value: object) -> None:
    found = plain(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("text", ["y", "Y", "yes", "on", "ON", "True", "TRUE"])
def test_words_for_true(text: str) -> None:
    assert plain(text) is True


@pytest.mark.parametrize("text", ["n", "N", "no", "off", "OFF", "False"])
def test_words_for_false(text: str) -> None:
    assert plain(text) is False


@pytest.mark.parametrize("text", ["", "~", "null", "Null", "NULL"])
def test_words_for_null(text: str) -> None:
    assert plain(text) is None


@pytest.mark.parametrize(("key", "text"), [(True, "true"), (False, "false"), (16, "16"), (1.5, "1.5")])
def test_keys_become_text(key: object, text: str) -> None:
    assert key_text(key) == text
