"""What people marked as private, and what their client adds for itself: taken out before anything
is written anywhere."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# `\s{0,8}` rather than `\s*`: two of those side by side would make a page of blanks take minutes.
_TAG = re.compile(r"<\s{0,8}(/?)\s{0,8}private(?=[\s/>]|\Z)[^<>]{0,200}>?", re.IGNORECASE)


def redact(text: str) -> str:
    """Without `<private>…</private>`: in any case, nested; one that is not closed hides everything
    after it."""
    kept: list[str] = []
    depth = position = 0
    for tag in _TAG.finditer(text):
        if not depth:
            kept.append(text[position : tag.start()])
        if tag[1]:
            depth = max(0, depth - 1)
        elif not tag[0].endswith("/>"):
            depth += 1
        position = tag.end()
    if not depth:
        kept.append(text[position:])
    return "".join(kept)


def summary(text: str) -> str:
    """Without the `<analysis>` a client thought aloud in, and out of its `<summary>` tags.

    Only the first of each counts: a summary may well talk about such tags.
    """
    lower = text.lower()
    begin, body = lower.find("<analysis>"), lower.find("<summary>")
    if begin >= 0 and (body < 0 or begin < body):
        end = lower.find("</analysis>", begin)
        after = (
            end + len("</analysis>")
            if end >= 0
            else body
            if body >= 0
            else begin + len("<analysis>")
        )
        text = text[:begin] + text[after:]
        lower = text.lower()
        body = lower.find("<summary>")
    if body >= 0:
        end = lower.rfind("</summary>")
        inside = text[body + len("<summary>") : end if end > body else len(text)]
        text = text[:body] + inside + (text[end + len("</summary>") :] if end > body else "")
    return text.strip()


def veil(mode: str, allowed: str) -> Callable[[bytes], bytes]:
    """Takes the secrets out of notes for a program that reads them without the app."""
    from oneiro_vault.vault.secrets.secret_scan import Secrets

    return Secrets(mode, allowed.split()).shown
