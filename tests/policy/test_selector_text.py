import pytest

from gpusched.core.selector import Operator, Requirement
from gpusched.policy.selector_text import format_selector, parse_selector


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", (Requirement("a", Operator.IN, ("b",)),)),
        ("a==b", (Requirement("a", Operator.IN, ("b",)),)),
        (" a != b ", (Requirement("a", Operator.NOT_IN, ("b",)),)),
        ("a in (y, x,y)", (Requirement("a", Operator.IN, ("x", "y")),)),
        ("a notin(x)", (Requirement("a", Operator.NOT_IN, ("x",)),)),
        ("a in (,x)", (Requirement("a", Operator.IN, ("", "x")),)),
        ("a=", (Requirement("a", Operator.IN, ("",)),)),
        ("a=in", (Requirement("a", Operator.IN, ("in",)),)),
        ("!a", (Requirement("a", Operator.DOES_NOT_EXIST),)),
        (
            "feature.node.kubernetes.io/x,!b,c in (d)",
            (
                Requirement("feature.node.kubernetes.io/x", Operator.EXISTS),
                Requirement("b", Operator.DOES_NOT_EXIST),
                Requirement("c", Operator.IN, ("d",)),
            ),
        ),
    ],
)
def test_parsed(text: str, expected: tuple[Requirement, ...]) -> None:
    assert parse_selector(text) == expected
    assert parse_selector(format_selector(expected)) == expected


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("", '"" selects nothing; write key=value'),
        ("a,", "an empty part stands between two commas"),
        (",a", "an empty part stands between two commas"),
        ("a in ()", '"a in ( )" cannot be read'),
        ("a in b", '"a in b" cannot be read'),
        ("a in (b", '"a in ( b" cannot be read'),
        ("a in (b c)", '"a in ( b c )" cannot be read'),
        ("a in ((b))", '"a in ( ( b ) )" cannot be read'),
        ("a>1", '"a > 1" cannot be read'),
        ("a b", '"a b" cannot be read'),
        ("!", '"!" cannot be read'),
        ("!a=b", '"! a = b" cannot be read'),
        ("=b", '"= b" cannot be read'),
        ("a=b=c", '"a = b = c" cannot be read'),
        ("a),b", '"a ) , b" cannot be read'),
        ("in in (a)", '"in in ( a )" cannot be read'),
        ("-a=b", '"-a" is no label key'),
        ("a=-b", '"-b" is no label value'),
    ],
)
def test_refused(text: str, beginning: str) -> None:
    sentence = parse_selector(text)

    assert isinstance(sentence, str)
    assert sentence.startswith(beginning)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        (",".join(f"k{number}" for number in range(65)), "has 65 requirements; write 64 at most"),
        (f"a in ({','.join(f'v{number}' for number in range(65))})", "has 65 values; write 64 at most"),
        (" " * 200_000, "selects nothing; write key=value, key!=value, key in (a,b), key notin (a,b), key or !key"),
    ],
    ids=["requirements", "values", "blanks"],
)
def test_no_text_takes_long(text: str, end: str) -> None:
    assert str(parse_selector(text)).endswith(end)
