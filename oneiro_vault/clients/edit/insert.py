"""Our entries into and out of a client's settings, text to text; what is not ours keeps every
character."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from oneiro_vault.clients.edit import in_json, in_toml
from oneiro_vault.clients.edit.entries import Want, is_ours
from oneiro_vault.clients.edit.jsonc import BOM
from oneiro_vault.clients.edit.trace import Trace

_NOTHING: Final = BOM + " \t\r\n"


def add(text: str | None, wants: Sequence[Want], style: str, trace: Trace) -> str:
    """The text (None: no file) with everything wanted in it; unchanged when it is there. `style`:
    json, jsonc or toml. Raises Trouble."""
    if style == "toml":
        return in_toml.add(text or "", wants, trace)
    if text is None or not text.strip(_NOTHING):
        trace.text = text
        text = (BOM if (text or "").startswith(BOM) else "") + "{}\n"
    for want in wants:
        text = in_json.add(text, want, style, trace)
    return text


def drop(text: str, wants: Sequence[Want], style: str, trace: Trace) -> str | None:
    """The text without what is ours; None when nothing but us was ever in the file. Raises
    Trouble."""
    before = text
    if style == "toml":
        text = in_toml.drop(text, wants, trace)
        return None if text != before and not trace.existed and not text.strip(_NOTHING) else text
    if not text.strip(_NOTHING):
        return text
    for want in reversed(wants):
        text = in_json.drop(text, want, style, trace)
    if text == before or not in_json.is_empty(text, style):
        return text
    return None if not trace.existed else text if trace.text is None else trace.text


def current(text: str, want: Want, style: str) -> Mapping[str, Any] | None:
    """Our entry as it stands in the text, or None. Raises Trouble."""
    if not text.strip(_NOTHING):
        return None
    found = in_toml.parsed(text) if style == "toml" else in_json.parsed(text, style).root.value()
    for name in want.path:
        found = found.get(name) if isinstance(found, dict) else None
    if want.key:
        found = found.get(want.key) if isinstance(found, dict) else None
        return found if isinstance(found, dict) and is_ours(found) else None
    groups = found if isinstance(found, list) else []
    return next(
        (
            group
            for group in groups
            if isinstance(group, dict) and any(is_ours(hook) for hook in _hooks(group))
        ),
        None,
    )


def _hooks(group: Mapping[str, Any]) -> list[Any]:
    found = group.get("hooks")
    return found if isinstance(found, list) else []
