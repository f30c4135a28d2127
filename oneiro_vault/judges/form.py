"""Does an answer have the form that was asked for? Told at once to whoever answers by hand; what follows from it is checked again later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def wrong(schema: Mapping[str, Any], answer: Any) -> str:
    """What does not fit, as `place: why`; "" when all of it does."""
    return _wrong(schema, answer, schema.get("$defs", {}), "the answer")


def _wrong(schema: Mapping[str, Any], value: Any, known: Mapping[str, Any], place: str) -> str:
    if "$ref" in schema:
        return _wrong(known.get(str(schema["$ref"]).rpartition("/")[2], {}), value, known, place)
    if "anyOf" in schema:
        found = [_wrong(one, value, known, place) for one in schema["anyOf"]]
        return "" if "" in found else found[0]
    if "const" in schema and value != schema["const"]:
        return f"{place} must be {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{place} must be one of {', '.join(map(str, schema['enum']))}"
    kind = schema.get("type")
    if kind in _TYPES and (not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return f"{place} must be of type {kind}"
    if isinstance(value, str) and len(value) > schema.get("maxLength", len(value)):
        return f"{place} is longer than {schema['maxLength']} characters"
    if isinstance(value, list):
        return next(
            (text for number, one in enumerate(value, 1) if (text := _wrong(schema.get("items", {}), one, known, f"{place} {number}"))), ""
        )
    return _object(schema, value, known, place) if isinstance(value, dict) else ""


def _object(schema: Mapping[str, Any], value: Mapping[str, Any], known: Mapping[str, Any], place: str) -> str:
    fields = schema.get("properties", {})
    if missing := [name for name in schema.get("required", ()) if name not in value]:
        return f"{place} lacks {missing[0]!r}"
    if schema.get("additionalProperties") is False and (more := sorted(value.keys() - fields.keys())):
        return f"{place} has no {more[0][:40]!r}"
    return next(filter(None, (_wrong(fields[name], one, known, name) for name, one in value.items() if name in fields)), "")
