"""JSON and JSONC edited by splicing: every edit is only itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneiro_vault.clients.edit import splice
from oneiro_vault.clients.edit.jsonc import Document
from tests.clients import texts


@given(texts.wild(comments=True), st.data(), texts.VALUES)
@settings(deadline=None)
def test_insert_then_remove_is_the_identity_in_any_container(
    made: tuple[str, Any], data: st.DataObject, value: Any
) -> None:
    text, _ = made
    document = Document(text)
    container = data.draw(
        st.sampled_from(
            [node for node in texts.everything(document.root) if node.elements] or [document.root]
        )
    )
    inside = Document(splice.insert(document, container, value, "new key"))
    found = next(node for node in texts.everything(inside.root) if node.start == container.start)
    assert found.elements[-1].node.value() == value
    after = splice.remove(inside, found, len(found.elements) - 1)
    if container.elements:
        assert after == text
    else:  # what stood in an empty container is its caller's to remember
        assert Document(after).root.value() == document.root.value()


@given(texts.wild(comments=True), st.data())
@settings(deadline=None)
def test_removing_any_element_leaves_the_others_and_every_comment_outside_of_it(
    made: tuple[str, Any], data: st.DataObject
) -> None:
    text, _ = made
    document = Document(text)
    full = [node for node in texts.everything(document.root) if node.elements]
    if not full:
        return
    container = data.draw(st.sampled_from(full))
    index = data.draw(st.integers(0, len(container.elements) - 1))
    element = container.elements[index]
    after = splice.remove(document, container, index)
    found = next(
        node for node in texts.everything(Document(after).root) if node.start == container.start
    )
    kept = [other for number, other in enumerate(container.elements) if number != index]
    assert [(other.key, other.node.value()) for other in found.elements] == [
        (other.key, other.node.value()) for other in kept
    ]
    outside = texts.comments(text[: element.start]) + texts.comments(text[element.stop :])
    assert texts.comments(after) == sorted(outside)


@given(texts.tidy(), st.data(), texts.VALUES)
@settings(deadline=None)
def test_replace_changes_one_value(made: tuple[str, Any], data: st.DataObject, value: Any) -> None:
    text, _ = made
    document = Document(text)
    node = data.draw(st.sampled_from(texts.everything(document.root)))
    after = splice.replace(document, node, value)
    assert after.startswith(text[: node.start])
    assert after.endswith(text[node.stop :])
    assert Document(after[node.start : len(after) - len(text) + node.stop]).root.value() == value


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{}", '{\n  "k": [\n    1\n  ]\n}'),
        ('{"a":1}', '{"a":1,"k":[1]}'),
        ('{"a": 1}', '{"a": 1, "k": [1]}'),
        ('{ "a": 1 }', '{ "a": 1, "k": [1] }'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"k": [\n\t\t1\n\t]\n}'),
        ('{\r\n    "a": 1,\r\n}', '{\r\n    "a": 1,\r\n    "k": [\r\n        1\r\n    ],\r\n}'),
        ('{\n  "a": 1 // why\n}', '{\n  "a": 1, // why\n  "k": [\n    1\n  ]\n}'),
        ('{"a": 1 // why\n}', '{"a": 1, // why\n  "k": [\n    1\n  ]\n}'),
        ('{\n  "a": 1, "b": 2\n}', '{\n  "a": 1, "b": 2,\n  "k": [\n    1\n  ]\n}'),
        ('{"a": 1 /* x */ }', '{"a": 1, /* x */ "k": [1] }'),
    ],
)
def test_a_new_member_is_written_as_its_neighbours_are(text: str, wanted: str) -> None:
    document = Document(text)
    assert splice.insert(document, document.root, [1], "k") == wanted


@pytest.mark.parametrize(
    ("text", "index", "wanted"),
    [
        ('{"a": 1, "b": 2}', 0, '{"b": 2}'),
        ('{"a": 1, "b": 2, "c": 3}', 1, '{"a": 1, "c": 3}'),
        ("[1, 2, 3]", 2, "[1, 2]"),
        ('{\n  "a": 1,\n  "b": 2\n}', 0, '{\n  "b": 2\n}'),
        (
            '{\n  "a": 1, // of a\n  "b": 2, // of b\n  "c": 3\n}',
            1,
            '{\n  "a": 1, // of a\n   // of b\n  "c": 3\n}',
        ),
        ('{ // first\n  "a": 1, "b": 2}', 0, '{ // first\n   "b": 2}'),
        ('{"a": /* in */ 1 /* behind */, "b": 2}', 0, '{/* behind */ "b": 2}'),
        (
            '{\n  "a": 1,\n  "b": 2, // of b\n  "c": 3\n}',
            1,
            '{\n  "a": 1,\n   // of b\n  "c": 3\n}',
        ),
        ('{\n  "a": 1,\n  "b": 2 // of b\n}', 1, '{\n  "a": 1\n   // of b\n}'),
    ],
)
def test_removing_leaves_a_tidy_place(text: str, index: int, wanted: str) -> None:
    document = Document(text)
    assert splice.remove(document, document.root, index) == wanted
