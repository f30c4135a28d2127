"""Our entries in a JSON or JSONC text."""

from __future__ import annotations

from typing import Any

from oneiro_vault.clients.edit import splice
from oneiro_vault.clients.edit.entries import Want, core_of, is_ours
from oneiro_vault.clients.edit.jsonc import BOM, SPACE, Document, Element, JsonError, Node, place
from oneiro_vault.clients.edit.trace import Trace, Trouble


def parsed(text: str, style: str) -> Document:
    """The document. Raises Trouble."""
    try:
        return Document(text, comments=style == "jsonc")
    except JsonError as error:
        raise Trouble(str(error), error.line, error.column) from error


def _trouble(document: Document, position: int, what: str) -> Trouble:
    return Trouble(what, *place(document.text, position))


def _member(document: Document, node: Node, name: str) -> Element | None:
    found = [element for element in node.elements if element.key == name]
    if len(found) > 1:
        raise _trouble(document, found[1].start, f'"{name}" is there a second time')
    return found[0] if found else None


def _container(document: Document, want: Want, depth: int) -> Node | None:
    """What the first `depth` names of the way lead to; None when some of it is missing."""
    node = document.root
    for step in range(depth + 1):
        kind = "array" if step == len(want.path) and not want.key else "object"
        if node.kind != kind:
            name = f'"{want.path[step - 1]}"' if step else "the file"
            raise _trouble(document, node.start, f"{name} should hold an {kind}")
        if step < depth:
            element = _member(document, node, want.path[step])
            if element is None:
                return None
            node = element.node
    return node


def add(text: str, want: Want, style: str, trace: Trace) -> str:
    """The text with one entry of ours in it, where and as it is wanted."""
    document = parsed(text, style)
    depth = len(want.path)
    value: Any = {want.key: want.entry} if want.key else [want.entry]
    while (node := _container(document, want, depth)) is None:
        depth -= 1
        trace.made.append("/".join(want.path[: depth + 1]))
        value = {want.path[depth]: value}
    if depth == len(want.path):
        found = _ours_in(document, node, want)
        if found is not None:
            return _updated(document, found, want)
    if not node.elements and "/".join(want.path[:depth]) not in trace.made:
        trace.empty["/".join(want.path[:depth])] = document.interior(node)
    key, inner = next(iter(value.items())) if isinstance(value, dict) else ("", value[0])
    return splice.insert(document, node, inner, key)


def _ours_in(document: Document, node: Node, want: Want) -> Node | None:
    """The object that names our command, if it is there. Raises Trouble when somebody else's has
    our name."""
    if not want.key:
        return next(
            (
                hook.node
                for group in node.elements
                for hook in _hook_elements(group.node)
                if is_ours(hook.node.value())
            ),
            None,
        )
    element = _member(document, node, want.key)
    if element is not None and not is_ours(element.node.value()):
        raise _trouble(
            document,
            element.start,
            f'there is another server called "{want.key}", which setup did not write',
        )
    return element.node if element else None


def _updated(document: Document, node: Node, want: Want) -> str:
    """The text with our command as wanted; what somebody added to the entry (a timeout, variables)
    stays."""
    for name, value in core_of(want).items():
        element = node.get(name)
        if element is None or element.node.value() != value:
            text = (
                splice.insert(document, node, value, name)
                if element is None
                else splice.replace(document, element.node, value)
            )
            again = Document(text)
            return _updated(again, _at(again.root, node.start), want)
    return document.text


def _at(node: Node, start: int) -> Node:
    """The container that begins at a position."""
    while node.start != start:
        node = next(
            element.node for element in node.elements if element.start <= start < element.stop
        )
    return node


def drop(text: str, want: Want, style: str, trace: Trace) -> str:
    """The text without one entry of ours, wherever it stands now."""
    document = parsed(text, style)
    node = _container(document, want, len(want.path))
    if node is None:
        return document.text
    if want.key:
        element = _member(document, node, want.key)
        if element is None or not is_ours(element.node.value()):
            return document.text
        return _tidied(
            splice.remove(document, node, node.elements.index(element)), want, trace, style
        )
    for number, group in enumerate(node.elements):
        hooks = _hook_elements(group.node)
        mine = [hook for hook in hooks if is_ours(hook.node.value())]
        if mine:
            inner = group.node.get("hooks")
            alone = len(mine) == len(hooks) or inner is None
            text = (
                splice.remove(document, node, number)
                if alone or inner is None
                else splice.remove(document, inner.node, hooks.index(mine[0]))
            )
            return drop(_tidied(text, want, trace, style), want, style, trace)
    return document.text


def _tidied(text: str, want: Want, trace: Trace, style: str) -> str:
    """Containers on the way that are empty now, as they were before us: gone, or with what stood in
    them."""
    for depth in range(len(want.path), -1, -1):
        document = parsed(text, style)
        node = _container(document, want, depth)
        if node is None:
            continue
        name, inside = "/".join(want.path[:depth]), document.interior(node)
        if node.elements:
            break
        if depth and name in trace.made and not inside.strip():
            parent = _container(document, want, depth - 1) or document.root
            text = splice.remove(
                document,
                parent,
                next(i for i, element in enumerate(parent.elements) if element.node is node),
            )
            continue
        if inside.strip() == trace.empty.get(name, "?").strip():
            text = text[: node.start + 1] + trace.empty[name] + text[node.stop - 1 :]
        break
    return text


def _hook_elements(group: Node) -> tuple[Element, ...]:
    element = group.get("hooks") if group.kind == "object" else None
    return element.node.elements if element and element.node.kind == "array" else ()


def is_empty(text: str, style: str) -> bool:
    """Does the text hold an empty object, and nothing else?"""
    document = parsed(text, style)
    around = (
        text[: document.root.start] + document.interior(document.root) + text[document.root.stop :]
    )
    return not document.root.elements and not around.strip(BOM + SPACE)
