"""What a person does to a memory: other words, what holds now, forget, restore, take back; each
through the one write path, and nothing that somebody else wrote meanwhile is lost."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Final

from starlette.responses import Response

from oneiro_vault import answers
from oneiro_vault.core.markdown.word_diff import changes
from oneiro_vault.errors import OneiroError
from oneiro_vault.web.notes import body_html
from oneiro_vault.web.page import Handler, Page
from oneiro_vault.web.views.memory import address

_CONFLICT: Final = 409


async def edit(page: Page) -> Response:
    """The words in a form; with `from` those of an earlier version, to be said again."""
    shown = await page.ops.show(id=page.named("id"), passive=True)
    body, title, earlier = shown["body"], _title(shown), None
    if page.asked("from"):
        found = await page.ops.versions(id=shown["id"], limit=200)
        for one in found["versions"]:
            if one["there"] and one["commit"].startswith(page.asked("from")):
                body, title, earlier = one["body"], one["name"], one
    return _form(page, shown, body, title, earlier=earlier)


def _form(
    page: Page,
    shown: answers.Shown,
    body: str,
    title: str,
    reason: str = "",
    earlier: answers.Version | None = None,
    trouble: OneiroError | None = None,
) -> Response:
    return page.html(
        "memory/edit.html",
        200 if trouble is None or page.fragment else trouble.http_status,
        memory=shown,
        changed=False,
        body=body,
        title=title,
        reason=reason,
        earlier=earlier,
        error=trouble,
        words=_hash(shown["body"]),
    )


async def changed(page: Page) -> Response:
    """For a form in use: was the memory changed since?"""
    shown = await page.ops.show(id=page.named("id"), passive=True)
    different = _hash(shown["body"]) != page.asked("words")
    return page.html("memory/edit.html", block="changed", changed=different)


async def save(page: Page) -> Response:
    """Other words for the same thing. What was changed meanwhile is shown beside them first."""
    fields = await page.form()
    shown = await page.ops.show(id=page.named("id"), passive=True)
    text, title = fields.get("text", ""), " ".join(fields.get("title", "").split())
    base = fields.get("base", "")
    if base != shown["sha256"]:
        if fields.get("words") != _hash(shown["body"]):
            return await _conflict(page, shown, text, title, fields.get("reason", ""))
        base = shown["sha256"]  # only what stands above the words is another
    renamed = title if title and title != _title(shown) else None
    if text.strip() == shown["body"].strip() and renamed is None:
        return page.see(address(shown["id"], "same"))
    reason = fields.get("reason", "")
    try:
        done = await page.ops.reframe(
            id=shown["id"], text=text, title=renamed, base=base, reason=reason
        )
    except OneiroError as error:  # the person's words are nowhere else
        return _form(page, shown, text, title, reason, trouble=error)
    if done["proposal"]:
        return page.see(address(done["proposal"]["id"], "proposed"))
    return page.see(address(done["id"], "edited", done["commit"]))


async def _conflict(
    page: Page, shown: answers.Shown, text: str, title: str, reason: str
) -> Response:
    return page.html(
        "memory/conflict.html",
        200 if page.fragment else _CONFLICT,
        memory=shown,
        theirs=await asyncio.to_thread(body_html, shown["body"], shown["id"]),
        text=text,
        title=title,
        reason=reason,
        words=_hash(shown["body"]),
        changes=await asyncio.to_thread(changes, shown["body"].strip(), text.strip()),
    )


def _title(shown: answers.Shown) -> str:
    return str(shown["meta"].get("title", ""))


def _hash(words: str) -> str:
    return sha256(words.strip().encode("utf-8", "surrogatepass")).hexdigest()[:16]


async def correct(page: Page) -> Response:
    """What holds now, in a memory of its own; the old one stays and says by what it was
    replaced."""
    fields = await page.form()
    done = await page.ops.correct(
        id=page.named("id"), text=fields.get("text", ""), valid_from=fields.get("since") or None
    )
    return page.see(address(done["id"], "corrected", done["commit"]))


async def forget(page: Page) -> Response:
    """Out of the vault; the history keeps it."""
    fields = await page.form()
    done = await page.ops.forget(id=page.named("id"), reason=fields.get("reason", ""))
    return page.see(address(done["id"]))


async def restore(page: Page) -> Response:
    """Word for word."""
    done = await page.ops.restore(id=page.named("id"))
    return page.see(address(done["id"], "restored", done["commit"]))


async def undo(page: Page) -> Response:
    """Take one commit back."""
    fields = await page.form()
    done = await page.ops.undo(commit=fields.get("commit", ""))
    return page.see(address(page.named("id"), "undone", done["commit"]))


async def feedback(page: Page) -> Response:
    """It helped, or it is wrong."""
    fields = await page.form()
    useful = fields.get("useful") == "yes"
    done = await page.ops.feedback(
        id=page.named("id"), useful=useful, reason=fields.get("reason", "")
    )
    return page.see(address(done["id"], "useful" if useful else "wrong"))


async def ratify(page: Page) -> Response:
    """A person vouches for a block of the orientation, or no longer."""
    fields = await page.form()
    undone = fields.get("undo") == "yes"
    done = await page.ops.ratify(id=page.named("id"), undo=undone, reason=fields.get("reason", ""))
    return page.see(address(done["id"], "unratified" if undone else "ratified", done["commit"]))


READS: Final[dict[str, Handler]] = {
    "/ui/memory/{id}/edit": edit,
    "/ui/memory/{id}/changed": changed,
}
WRITES: Final[dict[str, Handler]] = {
    "/ui/memory/{id}/edit": save,
    "/ui/memory/{id}/correct": correct,
    "/ui/memory/{id}/forget": forget,
    "/ui/memory/{id}/restore": restore,
    "/ui/memory/{id}/undo": undo,
    "/ui/memory/{id}/feedback": feedback,
    "/ui/memory/{id}/ratify": ratify,
}
