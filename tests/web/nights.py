"""Real nights in a vault, before its owner starts: a judge that merges whatever says the same, rules
for the rest, and with `review` proposals that wait."""

from __future__ import annotations

import time
from typing import Any

from oneiro_vault.app import App
from oneiro_vault.core.question import Question
from oneiro_vault.settings.definitions import Settings
from tests.box import Box
from tests.copies import indexed
from tests.judges.scripted import ScriptedJudge
from tests.operations.dream.support import OTHERS, SETTINGS, TWINS, fill, judged, merge

EARLIER = (
    "I lock the mast shed at six.",
    "Bo keeps the spare oars in the attic.",
)
LATER = (
    "My sister Mette lives in Bergen.",
    "I lock the mast shed at six and open it at nine.",
    "Bo keeps the spare oars in the cellar now.",
    "The kitchen tap drips in summer only.",
)
PLACES = {
    "shed": {"action": "revise", "text": LATER[1], "reason": "both say when the shed is locked"},
    "oars": {"action": "supersede", "flavour": "progression", "reason": "the oars were moved"},
    "tap": {"action": "contradict", "reason": "winter and summer cannot both be true"},
}
DAY = 86_400.0
MADE = SETTINGS | {"dreams.brake": 1.0}


def script(question: Question) -> Any:
    """Merges; and files what the talk says: new, more exact, instead of, and against what is
    known."""
    if question.kind == "merge":
        return merge(question)
    if question.kind == "encode.units":
        units = [
            {"content": text, "title": "", "about": [], "tags": [], "happened": ""}
            for text in (*EARLIER, *LATER)
            if text in question.shown[0].text
        ]
        return {"reason": "said in passing", "units": units, "complete": True}
    for word, place in PLACES.items():
        known = [one for one in question.shown if word in one.text]
        if known and word in question.given:
            return place | {"existing": known[0].id}
    return {"action": "create", "reason": "nothing says that yet"}


def lived(box: Box, *, review: bool = False) -> list[Any]:
    """Fill the vault and dream twice, yesterday and now, when with `review` all only waits; the
    runs of the second night."""
    now = time.time()
    with App.open(box.vault, Settings(MADE), clock=lambda: now - DAY) as app:
        fill(app, *TWINS[:2], *OTHERS)
        _night(app, EARLIER, review=False)
    with App.open(box.vault, Settings(MADE), clock=lambda: now) as app:
        fill(app, *TWINS[2:])
        return _night(app, LATER, review=review)


def _night(app: App, said: tuple[str, ...], *, review: bool) -> list[Any]:
    text = f"User: {' '.join(said)}\n\nAssistant: Noted."
    app.call("capture", {"text": text, "kind": "session", "session": said[0][:6]})
    indexed(app)
    judged(app, ScriptedJudge(script))
    params = {"loops": ["encode", "consolidate"], "review": review}
    found: list[Any] = app.call("dream", params)["runs"]
    return found
