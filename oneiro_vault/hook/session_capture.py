"""PostCompact, SessionEnd, Stop: what was said since last time goes into the spool, if a marker
allows."""

# pathlib imports re and urllib: 8 ms on a path that has 20.
# ruff: noqa: PTH113, PTH116, PTH119

from __future__ import annotations

import os
import time

from oneiro_vault.capture import spool
from oneiro_vault.capture.conversation_state import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from oneiro_vault.answers import Json
    from oneiro_vault.hook.program import Place

AT_ONCE = 12_000_000
"""Bytes of a transcript that a hook reads itself (.1 s); more is for the owner to read."""
_CODEX = "rollout-"


def count(place: Place) -> None:
    """A person said something. When Stop did not come for a while, capture here."""
    session = _counted(place)
    every = place.setting("capture.every")
    if session is not None and every and session.messages > every:
        _transcript(place, session, "turns")


def keep(place: Place, name: str) -> None:
    """Capture what this event calls for."""
    if not place.marker.allows or not place.session:
        return
    if name == "Stop":
        session = _counted(place)
        every = place.setting("capture.every")
        if session is None or not every or session.messages < every:
            return
        _transcript(place, session, "turns")
    elif name == "PostCompact" and isinstance(place.event.get("compact_summary"), str):
        _summary(place)
    else:
        _transcript(
            place,
            Session(place.state, place.session),
            "compaction" if name == "PostCompact" else "session",
        )


def _counted(place: Place) -> Session | None:
    """One more message, and where to find it; None when this conversation is not to be captured."""
    if not place.marker.allows or not place.session or not place.setting("capture.every"):
        return None
    session = Session(place.state, place.session)
    session.messages += 1
    session.talk = {
        "session": place.session,
        "client": _client(place),
        "cwd": place.cwd,
        "transcript": str(place.event.get("transcript_path") or ""),
    }
    session.save()
    return session


def _summary(place: Place) -> None:
    """A client's summary of what is about to leave its context (without one the transcript is
    taken)."""
    from oneiro_vault.capture.privacy import redact, summary

    text = redact(summary(place.event["compact_summary"])).strip()
    if text:
        _put(place, {"kind": "compaction", "text": text})


def _transcript(place: Place, session: Session, kind: str) -> None:
    path = place.event.get("transcript_path")
    if not isinstance(path, str) or not os.path.isfile(path):
        return
    folder = spool.folder_of(place.state)
    start = session.captured_to(folder, path)
    size = os.stat(path).st_size
    if size < start:
        start = 0
    entry: Json = {"kind": kind, "transcript": path, "from": start, "to": size}
    if size - start <= AT_ONCE:
        from oneiro_vault.capture import transcripts

        turns, entry["to"] = transcripts.read(path, start)
        entry["text"], entry["last"] = transcripts.render(turns), transcripts.last_time(turns)
        if not entry["text"]:
            return
    _put(place, entry)
    session.transcript, session.offset, session.messages = path, entry["to"], 0
    session.save()


def _put(place: Place, entry: Json) -> None:
    from oneiro_vault.hook.session_start import wake

    entry |= {
        "schema": 1,
        "session": place.session,
        "client": _client(place),
        "project": place.project,
        "when": _now(),
    }
    spool.put(spool.folder_of(place.state), entry, Session(place.state, place.session).key)
    wake(place)


def _client(place: Place) -> str:
    """Both clients say the same in the same words, but for the name of their transcript."""
    name = os.path.basename(str(place.event.get("transcript_path") or ""))
    return "codex" if name.startswith(_CODEX) else "claude-code"


def _now() -> str:
    """RFC 3339 in local time, without importing datetime."""
    moment = time.localtime()
    offset = time.strftime("%z", moment)
    return time.strftime("%Y-%m-%dT%H:%M:%S", moment) + f"{offset[:3]}:{offset[3:5]}"
