import pytest

from gpusched.core.fault import Fault
from gpusched.core.fields import Field


def test_absent_and_null_are_the_same_and_no_fault() -> None:
    root = Field({"a": None})

    for field in (root.get("a"), root.get("b"), root.get("a").get("c"), Field(None)):
        assert not field.present
        assert field.items() == []
        assert field.entries() == []
        assert field.text("x") == "x"
        assert field.optional_text() is None
        assert field.integer(3) == 3
        assert field.boolean(default=True) is True
        assert field.strings() == {}
        assert field.quantities() == {}
    assert root.faults == []


def test_paths_name_indexes_and_bracket_keys_with_dots_or_slashes() -> None:
    root = Field({"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]}})

    container = root.get("spec").get("containers").items()[0]

    assert container.path == "spec.containers[0]"
    assert container.get("resources").get("limits").get("nvidia.com/gpu").path == (
        "spec.containers[0].resources.limits[nvidia.com/gpu]"
    )
    assert Field([1], "spec.template").items()[0].path == "spec.template[0]"


@pytest.mark.parametrize(
    ("value", "read", "message"),
    [
        ({}, "items", 'must be a list, not a mapping: start every item with "- "'),
        ("x", "items", 'must be a list, not a string: start every item with "- "'),
        ([], "entries", 'must be a mapping, not a list: write "key: value" lines'),
        (1.5, "strings", 'must be a mapping, not a number: write "key: value" lines'),
        (8, "text", "must be a string, but YAML reads it as the number 8: put it in quotes as it was written"),
        (True, "text", "must be a string, but YAML reads it as true: put it in quotes as it was written"),
        (
            550.90,
            "text",
            "must be a string, but YAML reads it as the number 550.9: put it in quotes as it was written",
        ),
        (False, "text", "must be a string, but YAML reads it as false: put it in quotes as it was written"),
        ([], "text", "must be a string, not a list"),
        ("5", "integer", 'must be a whole number, not the string "5": write it without quotes'),
        (True, "integer", "must be a whole number, not true"),
        (1.5, "integer", "must be a whole number, not 1.5"),
        ({}, "integer", "must be a whole number, not a mapping"),
        ("yes", "boolean", 'must be true or false without quotes, not the string "yes"'),
        (1, "boolean", "must be true or false without quotes, not 1"),
    ],
)
def test_a_value_of_the_wrong_type_is_one_fault(value: object, read: str, message: str) -> None:
    field = Field({"a": value}).get("a")

    getattr(field, read)()
    getattr(field, read)()

    assert field.faults == [Fault("a", message)]


def test_get_on_something_else_than_a_mapping_is_one_fault_and_absent() -> None:
    root = Field(["x"], "spec")

    assert not root.get("a").present
    assert not root.get("b").present
    assert root.faults == [Fault("spec", 'must be a mapping, not a list: write "key: value" lines')]


def test_integers_written_as_whole_floats_are_integers() -> None:
    assert Field(2.0).integer() == 2
    assert Field(-3).integer() == -3


def test_string_maps_drop_and_report_other_values() -> None:
    field = Field({"a": "x", "b": 8, "c": True, "d": None, "gpusched.io/e": 1.5}, "metadata.labels")

    assert field.strings() == {"a": "x", "d": ""}
    assert field.faults == [
        Fault(
            "metadata.labels.b",
            "must be a string, but YAML reads it as the number 8: put it in quotes as it was written",
        ),
        Fault("metadata.labels.c", "must be a string, but YAML reads it as true: put it in quotes as it was written"),
        Fault(
            "metadata.labels[gpusched.io/e]",
            "must be a string, but YAML reads it as the number 1.5: put it in quotes as it was written",
        ),
    ]


def test_keys_are_made_text_as_kubectl_does() -> None:
    field = Field({8: "x", True: "y", None: "z"})

    assert field.strings() == {"8": "x", "true": "y"}
    assert field.faults == [Fault("", "key null must be a string, not null: write it in quotes")]


def test_quantities_keep_text_and_write_numbers_as_json() -> None:
    field = Field(
        {"cpu": 2, "gpu": "1", "half": 0.5, "none": None, "bad": True, "list": [1], "nan": float("nan")}, "limits"
    )

    assert field.quantities() == {"cpu": "2", "gpu": "1", "half": "0.5", "none": "0"}
    assert field.faults == [
        Fault("limits.bad", "must be a quantity, not true: write a number such as 1"),
        Fault("limits.list", "must be a quantity, not a list: write a number such as 1"),
        Fault("limits.nan", "must be a quantity, not nan: write a number such as 1"),
    ]


def test_enormous_integers_are_named_not_printed() -> None:
    field = Field({"a": 10**6000})

    assert field.quantities() == {}
    assert field.strings() == {}
    assert all("more than 150 digits" in fault.message for fault in field.faults)
    assert len(field.faults) == 2


def test_children_share_the_faults_of_the_root() -> None:
    faults: list[Fault] = []
    Field({"a": {"b": 1}}, "", faults).get("a").get("b").text()

    assert [fault.path for fault in faults] == ["a.b"]
