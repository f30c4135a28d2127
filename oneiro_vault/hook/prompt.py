"""UserPromptSubmit: memories that bear on what a person just wrote, from a warm owner or not at
all."""

from __future__ import annotations

import json

from oneiro_vault.capture import prompt_counts
from oneiro_vault.capture.conversation_state import Session
from oneiro_vault.capture.privacy import redact
from oneiro_vault.core.markdown.orientation import LIMIT, units
from oneiro_vault.daemon import client
from oneiro_vault.settings import locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from oneiro_vault.hook.program import Place

_LONGEST = 8_000
_PERSONS = frozenset(("", "user", "sdk"))
"""Where a prompt comes from when a person wrote it."""


def memories(place: Place) -> str:
    """Quoted memories, or "" when none is strictly relevant or there is nobody to ask."""
    prompt = place.event.get("prompt")
    tokens = place.setting("inject.tokens")
    if (
        not isinstance(prompt, str)
        or place.event.get("source", "") not in _PERSONS
        or prompt.lstrip().startswith("/")
    ):
        return ""
    place.outcome = prompt_counts.MISSED if tokens else prompt_counts.OFF
    if not tokens:
        return ""
    asked = redact(prompt)[:_LONGEST]
    session = Session(place.state, place.session) if place.session else None
    known = session.given if session else []
    params = {
        "prompt": asked,
        "tokens": tokens,
        "session": place.session or None,
        "known": known,
        "project": place.project or None,
    }
    found = _ask(place, params) if asked.strip() else {}
    text, ids = found.get("text"), found.get("ids")
    place.outcome = prompt_counts.NOTHING if found or not asked.strip() else prompt_counts.UNREACHED
    if not isinstance(text, str) or not text or not isinstance(ids, list) or units(text) > LIMIT:
        return ""
    if session is not None:
        session.given += [one for one in ids if isinstance(one, str)]
        session.save()
    place.outcome = prompt_counts.INJECTED
    return text


def _ask(place: Place, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the owner answers; {} when there is none, and then one is on its way."""
    owner = client.owner_of(place.root)
    try:
        if not owner or locations.stopped(int(owner.get("pid") or 0)):
            raise client.UnreachedError
        line = client.Line(owner)
        line.send("POST", "/api/inject", json.dumps(params).encode())
        found = json.loads(b"".join(line.chunks()))
    except client.UnreachedError:
        from oneiro_vault.hook.session_start import wake

        wake(place)
        return {}
    return found if isinstance(found, dict) else {}
