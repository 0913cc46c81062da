from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.admission.admission import Op
from gpusched.simulate.apply_patch import PatchError, apply_patch

TREE: dict[str, Any] = {"spec": {"tolerations": [{"key": "a"}, {"key": "b"}], "x/y~z": 1}}


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (Op("add", "/spec/name", "n"), {"spec": TREE["spec"] | {"name": "n"}}),
        (
            Op("add", "/spec/tolerations/-", 1),
            {"spec": TREE["spec"] | {"tolerations": [{"key": "a"}, {"key": "b"}, 1]}},
        ),
        (
            Op("add", "/spec/tolerations/0", 1),
            {"spec": TREE["spec"] | {"tolerations": [1, {"key": "a"}, {"key": "b"}]}},
        ),
        (
            Op("add", "/spec/tolerations/2", 1),
            {"spec": TREE["spec"] | {"tolerations": [{"key": "a"}, {"key": "b"}, 1]}},
        ),
        (Op("remove", "/spec/tolerations/0"), {"spec": TREE["spec"] | {"tolerations": [{"key": "b"}]}}),
        (
            Op("replace", "/spec/tolerations/1/key", "c"),
            {"spec": TREE["spec"] | {"tolerations": [{"key": "a"}, {"key": "c"}]}},
        ),
        (Op("replace", "/spec/x~1y~0z", 2), {"spec": TREE["spec"] | {"x/y~z": 2}}),
        (Op("remove", "/spec/x~1y~0z"), {"spec": {"tolerations": TREE["spec"]["tolerations"]}}),
    ],
)
def test_operations(op: Op, expected: object) -> None:
    before = repr(TREE)

    assert apply_patch(TREE, [op]) == expected
    assert repr(TREE) == before


@pytest.mark.parametrize(
    "op",
    [
        Op("replace", "/spec/absent", 1),
        Op("remove", "/spec/absent"),
        Op("add", "/absent/name", 1),
        Op("add", "/spec/tolerations/3", 1),
        Op("replace", "/spec/tolerations/2", 1),
        Op("replace", "/spec/tolerations/-", 1),
        Op("add", "/spec/tolerations/x", 1),
        Op("add", "/spec/x~1y~0z/deeper", 1),
        Op("replace", "", []),
    ],
)
def test_what_does_not_apply_is_an_error(op: Op) -> None:
    with pytest.raises(PatchError):
        apply_patch(TREE, [op])


_KEYS = st.sampled_from(["a", "b/c", "d~e", "0"])
_TREES = st.recursive(
    st.integers(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=10
)


@given(tree=st.dictionaries(_KEYS, _TREES, min_size=1, max_size=3), data=st.data())
def test_it_agrees_with_an_independent_library(tree: dict[str, Any], data: st.DataObject) -> None:
    path, node = "", tree
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        path += "/" + str(key).replace("~", "~0").replace("/", "~1")
        inner = node[key]
        if not (isinstance(inner, dict | list) and inner and data.draw(st.booleans())):
            break
        node = inner
    op = data.draw(st.sampled_from([Op("add", path, 7), Op("replace", path, 7), Op("remove", path)]))

    assert apply_patch(tree, [op]) == jsonpatch.apply_patch(tree, [op.as_json()])
