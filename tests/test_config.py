"""Values made for the fields of a settings form are what they claim to be, whatever the schema says."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from conformance.form import other_value, wrong_value

TYPES = ["string", "boolean", "number", "integer", "array", "object"]

numbers = st.integers(-100, 100_000) | st.floats(-100, 100, allow_nan=False)
values: st.SearchStrategy[Any] = st.none() | st.booleans() | numbers | st.text(max_size=8)


def rules(**more: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Fields with any mixture of the given keywords."""
    return st.fixed_dictionaries({}, optional={"default": values, "title": st.text(max_size=3), **more})


def of_type(*names: str, **more: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda rule, name: {**rule, "type": name}, rules(**more), st.sampled_from(names))  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType] # JSON


limits = dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), numbers)
fields = (
    of_type("number", "integer", **limits, multipleOf=st.integers(1, 50) | st.just(0.5))
    | of_type("string", minLength=st.integers(0, 5000), maxLength=st.integers(0, 40))
    | of_type("boolean", "array", "object")
    | of_type(*TYPES, enum=st.lists(values, min_size=1, max_size=4))
    | of_type("string", pattern=st.just("^[A-Z]+$"), format=st.just("uri"))
)


def fits(rule: Any, value: Any) -> bool:
    validator: Any = Draft202012Validator(rule)
    return bool(validator.is_valid(value))


@given(fields, values)
def test_another_value_fits_the_field_and_is_neither_the_present_one_nor_the_default(rule: Any, now: Any) -> None:
    other = other_value(rule, now)

    if other is not None:
        assert fits(rule, other)
        for taken in (now, rule.get("default")):
            assert (other, isinstance(other, bool)) != (taken, isinstance(taken, bool))


@given(of_type(*TYPES, **limits))
def test_a_wrong_value_never_fits(rule: Any) -> None:
    assert not fits(rule, wrong_value(rule))


@pytest.mark.parametrize(
    ("rule", "now", "other"),
    [
        ({"type": "boolean"}, None, True),
        ({"type": "boolean"}, True, False),
        ({"type": "boolean", "default": True}, None, False),
        ({"type": "string"}, "conformance", "conformance-2"),
        ({"type": "string", "enum": ["small", "large"]}, "small", "large"),
        ({"type": "string", "enum": ["small"]}, "small", None),
        ({"type": "string", "minLength": 14}, None, "conformancexxx"),
        ({"type": "integer", "minimum": 1, "maximum": 86_400_000}, None, 1),
        ({"type": "integer", "minimum": 2, "maximum": 10}, 2, 10),
        ({"type": "number", "exclusiveMinimum": 4, "maximum": 5}, None, 5),
        ({"type": "string", "pattern": "^x$"}, None, None),
        ({"type": "array"}, None, None),
        ({}, None, None),
    ],
)
def test_values_are_plain_ones_where_possible(rule: Any, now: Any, other: Any) -> None:
    assert other_value(rule, now) == other
