"""Operations that change what is remembered, through the vault's one door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.core import memory as memories
from oneiro_vault.core.conversation import personal
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.markdown import taxonomy
from oneiro_vault.core.text import claims
from oneiro_vault.core.time.date_ranges import local
from oneiro_vault.core.time.relative_dates import begins
from oneiro_vault.errors import InvalidInput, OneiroError, StaleMemory, few
from oneiro_vault.errors import shown as quoted
from oneiro_vault.index.base import Row
from oneiro_vault.operations import runtime
from oneiro_vault.operations.remember import images
from oneiro_vault.operations.remember.dedupe import (
    Already,
    besides,
    corrected,
    durable,
    nearest,
    repeated,
    shown,
)
from oneiro_vault.operations.remember.drafts import (
    KEPT,
    Draft,
    Names,
    body_of,
    check_owner,
    concise,
    conversations,
    describes,
    draft,
    number_turns,
    title_of,
)
from oneiro_vault.operations.runtime import House, new_id
from oneiro_vault.vault import ledger
from oneiro_vault.vault.change import Operation, Receipt, Write
from oneiro_vault.vault.purge.denylist import AGAIN
from oneiro_vault.vault.secrets.secret_scan import REMOVED

_QUOTING: Final = ("orientation", memories.ENTITY)
LEFT: Final = 0.5
"""Share of the words of a person's own file that a model's new ones have, at least: with fewer they
wait beside it until a person decides."""
Results = dict[int, answers.RememberedRow]
Refusals = dict[int, OneiroError]


def remember(
    house: House,
    items: Sequence[Mapping[str, Any]],
    actor: str = "user",
    dedupe: bool | str | None = None,
    partial: bool = False,
    taken: Sequence[str] = (),
    near: bool = False,
    progress: Progress = quiet,
) -> answers.Remembered:
    """Store memories in one commit. What is there already is not stored again: its row has
    `duplicate_of`.

    One by itself is also compared in other words; several (or one of a stream: `dedupe` is "exact")
    only by id and by their very words; False stores anything. `taken`: ids that the same stream was
    answered with before. `partial`: a bad one is in `rejected` and stops no other. `near`: name the
    memory that one by itself is most like.
    """
    if not items:
        raise InvalidInput("there is nothing to remember", hint="Give a text.")
    if dedupe not in (None, True, False, "exact"):
        raise InvalidInput(
            f'dedupe must be true, false or "exact", not {quoted(dedupe)}', kept=KEPT
        )
    importing = dedupe == "exact" or len(items) > 1
    if house.indexing.converge() and importing:
        house.indexing.reconcile(progress)  # what is not indexed yet would be stored a second time
    drafts, refused = _drafts(house, items, actor, progress)
    conversations(list(drafts.values()))
    results = _known(house, drafts, refused, importing, taken) if dedupe is not False else {}
    drafts = {
        position: draft
        for position, draft in drafts.items()
        if position not in results and position not in refused
    }
    number_turns(house, list(drafts.values()))
    like = nearest(house, drafts[0]) if near and list(drafts) == [0] and not importing else None
    receipt = _written(
        house, drafts, refused, results, actor, dedupe is not False, partial, progress
    )
    if refused and not partial:
        raise _first(refused, len(items))
    rejected: list[answers.Rejected] = [
        {"item": position, "message": str(error), "hint": error.hint}
        for position, error in sorted(refused.items())
    ]
    rows = [results[position] for position in sorted(results)]
    for row in rows if near else ():
        row["near"] = {"id": like.handle, "title": like.title} if like else None
    return {"schema": 1, "results": rows, "commit": receipt.commit or None, "rejected": rejected}


def _drafts(
    house: House, items: Sequence[Mapping[str, Any]], actor: str, progress: Progress
) -> tuple[dict[int, Draft], Refusals]:
    good: dict[int, Draft] = {}
    bad: Refusals = {}
    chosen = [str(item.get("path", "")) for item in items if isinstance(item, Mapping)]
    names = Names(house.vault, chosen)
    for position, item in enumerate(items):
        try:
            good[position] = draft(house, item, actor, names)
        except InvalidInput as error:
            bad[position] = error
        if position % 200 == 199:
            progress("checking", position + 1, len(items))
    return good, bad


def _known(
    house: House,
    drafts: Mapping[int, Draft],
    refused: Refusals,
    importing: bool,
    taken: Sequence[str],
) -> Results:
    """Being remembered again is a use of a memory, unless a whole file of them is read once
    more."""
    already = Already(house, importing, taken)
    drafts = {at: one for at, one in drafts.items() if not one.replaces}
    found, wrong = already.find(drafts)
    refused |= wrong
    if not importing and drafts and not found and not wrong:
        twin = already.in_other_words(drafts[0])
        found = {0: twin} if twin is not None else {}
    results = {
        position: shown(row, sha) for position, row in found.items() if (sha := durable(house, row))
    }
    if not importing and results and found[0].id:
        house.vault.ledger.use(found[0].id, "use", why=runtime.AGAIN)
    return results


def _composed(drafts: Mapping[int, Draft], refused: Refusals) -> dict[int, Write]:
    notes: dict[int, Write] = {}
    for position, one in drafts.items():
        try:
            notes[position] = Write(one.path, one.compose())
        except InvalidInput as error:
            refused[position] = error
    return notes


def _first(refused: Refusals, total: int) -> OneiroError:
    position, error = min(refused.items())
    which = f"memory {position + 1}: " if total > 1 else ""
    return type(error)(f"{which}{error}", kept=error.kept or KEPT, hint=error.hint)


def _written(
    house: House,
    drafts: Mapping[int, Draft],
    refused: Refusals,
    results: Results,
    actor: str,
    dedupe: bool,
    partial: bool,
    progress: Progress,
) -> Receipt:
    notes = _composed(drafts, refused)
    while partial or not refused:
        notes = {position: note for position, note in notes.items() if position not in refused}
        again = repeated({position: drafts[position] for position in notes}) if dedupe else {}
        wanted = {position: note for position, note in notes.items() if position not in again}
        receipt = _stored(house, drafts, wanted, actor, progress)
        if not receipt.refused:
            results |= {position: _result(drafts[position], receipt) for position in wanted}
            results |= {
                position: results[first] | {"duplicate_of": results[first]["id"]}
                for position, first in again.items()
            }
            return receipt
        refused |= receipt.refused
    return Receipt("")


def _stored(
    house: House,
    drafts: Mapping[int, Draft],
    notes: Mapping[int, Write],
    actor: str,
    progress: Progress,
) -> Receipt:
    if not notes:
        return Receipt("")
    made = [drafts[position] for position in notes]
    titles = [one.says("title") for one in made]
    title = titles[0] if len(titles) == 1 else f"{len(titles)} memories"
    over = _superseding(house, made)
    ids = (*(one.id for one in made), *(row.id for one in made for row in one.replaces))
    operation = Operation("supersede" if over else "remember", title, actor, memories=ids)
    new = [picture for one in made for picture in one.pictures]
    pictures = images.writes(house.vault, new) if new else []
    again = [
        drafts[position].id
        for position, note in notes.items()
        if house.vault.erased.in_file(note.path, note.data)
    ]
    events = [ledger.make(AGAIN, ident, house.vault.clock(), actor=actor) for ident in again]
    receipt = house.indexing.apply(
        [*notes.values(), *over, *pictures], operation, events=events, progress=progress, each=True
    )
    if not receipt.refused:
        return receipt
    positions = list(notes)
    for number, error in receipt.refused.items():
        if number >= len(positions):
            raise error  # a picture, or what is replaced
    found = {positions[number]: error for number, error in receipt.refused.items()}
    return Receipt("", refused=found)


def _superseding(house: House, made: Sequence[Draft]) -> list[Write]:
    """What is replaced, its words as they were: by what, and until when it held."""
    found: dict[str, Write] = {}
    for one in made:
        for row in one.replaces:
            data, known = house.indexing.load(row)
            since = one.says("valid_from")
            changes: dict[str, object | None] = {
                "status": "superseded",
                "superseded_by": one.id,
                "valid_until": known.valid_until or since or one.says("created"),
            }
            if (memories.epoch(since) or 0.0) > house.clock():
                # announced: until then it holds; `consolidate.begun` retires it on that day
                changes = {"valid_until": changes["valid_until"]}
            content = yaml_block.edited(data, changes)
            found[row.path] = Write(row.path, content, sha256(data).hexdigest())
    return list(found.values())


def correct(
    house: House,
    text: str,
    id: str | None = None,
    valid_from: str | None = None,
    actor: str = "user",
    progress: Progress = quiet,
) -> answers.Corrected:
    """Store what holds now and replace what it corrects, in one commit; the old words stay. What
    the old memory says besides stands in one of its own from then on (`kept`). Without an `id` the
    one memory that says the same of the same subject is found. Raises AmbiguousId when several may
    be meant, NotFound when none is. What begins on a day to come, by `valid_from` or by its own
    words, leaves the other in force until then."""
    body = body_of(text, house.settings["notes.indexed_bytes"])
    house.indexing.converge()
    if valid_from is None and (day := begins(body, local(house.clock()).date())):
        valid_from = day.isoformat()
    row = house.indexing.resolve(id) if id else corrected(house, body.strip(), progress)
    item = {"text": text, "type": row.type, "replaces": row.handle, "valid_from": valid_from}
    same = {name: value for name in ("kind", "project") if (value := getattr(row, name))}
    items = [item | same]
    if rest := besides(house, body, house.indexing.load(row)[1]):
        trust = memories.weakest([row.trust, memories.trust_of(actor)])
        given = {"created": row.created, "derived_from": [row.handle], "about": list(row.about)}
        items.append({"text": rest, "type": row.type, "trust": trust} | given | same)
    done = remember(house, items, actor, dedupe=False if rest else None)
    stored, *others = done["results"]
    return {
        "schema": 1,
        "id": stored["id"],
        "path": stored["path"],
        "title": stored["title"],
        "replaced": {"id": row.handle, "title": row.title},
        "kept": {"id": others[0]["id"], "title": others[0]["title"]} if others else None,
        "commit": done["commit"],
    }


def _result(made: Draft, receipt: Receipt) -> answers.RememberedRow:
    return {
        "id": made.id,
        "path": made.path,
        "title": made.says("title"),
        "type": made.says("type"),
        "sha256": receipt.written[made.path],
        "duplicate_of": None,
        "images": [picture.row() for picture in made.pictures],
    }


def reframe(
    house: House,
    id: str,
    text: str,
    title: str | None = None,
    description: str | None = None,
    base: str | None = None,
    reason: str = "",
    actor: str = "user",
) -> answers.Reframed:
    """Replace what a memory says; a note that changed meanwhile gets a proposal beside it instead,
    and a person's own file of which a model would keep little."""
    row = house.indexing.resolve(id)
    words = body_of(text, house.settings["notes.indexed_bytes"])
    data, known = house.indexing.load(row)
    if REMOVED in words and house.vault.secrets.shown(data) != data:
        raise InvalidInput(
            f"{row.title} holds what looks like a secret, and this text has only its place",
            kept=KEPT,
            hint=f"A person changes it in an editor; else say it without `{REMOVED}`.",
        )
    concise(words, actor, len(known.body))
    theirs = actor != "user" and (bool(memories.owned(known)) or _loses(known, words))
    if not known.core:  # of what a person ratified, a model may propose any words
        describes(known.type, actor, title or "", description or "", words)
    shows = (
        "" if actor == "user" else known.body
    )  # a person means the text as it stands; a model does not think of the links
    body = images.carried(shows, words, row.path)
    base = _base(house, row, data, base)
    if title is None and known.title and known.title == title_of(known.body or known.title):
        title = title_of(
            body
        )  # a title taken from the first words must not go on saying what was retracted
    changes: dict[str, object | None] = {"timestamp": house.now()}
    changes |= {
        key: value
        for key, value in (("title", title), ("description", description))
        if value is not None
    }
    ident = known.id or new_id()
    if not known.id:
        changes["id"] = ident
    content = yaml_block.edited(data, changes, body=body)
    proposal = _proposal(house, row, words, actor)
    proposal.body = images.carried(shows, words, proposal.path)
    other = (proposal.path, proposal.compose())
    if theirs:
        receipt = house.indexing.apply(
            [Write(*other)], Operation("flag", f"proposal for {row.title}", actor, (ident,), reason)
        )
        proposals = {row.path: proposal.path}
    else:
        change = Write(row.path, content, base, proposal=other)
        receipt = house.indexing.apply(
            [change], Operation("reframe", title or row.title, actor, (ident,), reason)
        )
        proposals = receipt.proposals
    waiting: answers.Placed | None = None
    if row.path in proposals:
        waiting = {"id": proposal.id, "path": proposals[row.path]}
    sha = receipt.written.get(row.path, base)
    return {
        "schema": 1,
        "id": ident,
        "path": row.path,
        "sha256": sha,
        "commit": receipt.commit,
        "proposal": waiting,
    }


def _base(house: House, row: Row, data: bytes, given: str | None) -> str:
    """Raises InvalidInput for one that this memory never had: whoever names it has not read this
    memory."""
    now = sha256(data).hexdigest()
    wanted = now if given is None else given.strip().lower()
    if wanted == now:
        return now
    repo, past = house.vault.repo, house.vault.past
    entry = (
        repo.entry(commit, row.path) if given and (commit := repo.resolve(given.strip())) else None
    )
    names = {
        path
        for found in house.vault.log.entries(memory=row.id, path=row.path)
        for path in found.paths
        if row.id and row.id in path
    }
    blobs = (
        [entry.blob]
        if entry
        else [blob for found in past.versions({row.path, *names}).values() for blob in found]
    )
    shas = [sha256(past.data(blob)).hexdigest() for blob in blobs]
    if entry or wanted in shas:
        return shas[0] if entry else wanted
    raise InvalidInput(
        f"{quoted(given)} is neither the sha256 of a text this memory had nor a commit it is in",
        kept=KEPT,
        hint=f"`oneiro --json show {row.handle}` says the sha256 it has now; without a base the "
        f"change is made to that.",
    )


def _proposal(house: House, row: Row, body: str, actor: str) -> Draft:
    ident, title, now = new_id(), f"Proposed: {row.title}", house.now()
    meta: dict[str, object] = {
        "id": ident,
        "type": row.type,
        "title": title,
        "created": now,
        "source": actor,
        "supersedes": [row.handle],
        "status": "pending",
    }
    return Draft(meta, body, memories.path_for(row.type, title, ident, now))


def forget(house: House, id: str, reason: str = "", actor: str = "user") -> answers.Forgotten:
    """Take a memory out of the tree, and its words out of what quotes them. Its bytes stay in
    history and `restore` brings them back."""
    row = house.indexing.resolve(id)
    data = house.vault.read(row.path)
    check_owner(row, actor, "Only a person may forget it; `reframe` proposes other words.")
    untold = quoting(house, row)
    sha = sha256(data).hexdigest()
    receipt = house.vault.forget(row.id, row.path, sha, actor, reason, untold)
    house.indexing.refresh([row.path, *(one.path for one in untold)])
    back = (
        f"restore {row.id}" if row.id else f"undo {receipt.commit[:12]}"
    )  # without an id of its own nothing in history names it
    copies = [one.path for one in house.index.get(row.id)] if row.id else []
    done: answers.Forgotten = {
        "schema": 1,
        "id": row.handle,
        "path": row.path,
        "title": row.title,
        "commit": receipt.commit,
        "back": back,
    }
    if copies:
        told = f"{few(copies)} is a copy of it and stays under its id: forget it again, or adopt it"
        done["notices"] = [told]
    return done


def _loses(known: memories.Memory, words: str) -> bool:
    """Would little be left of a file that a person wrote, which names no source?"""
    old, new = (claims.content(text) | claims.numbers(text) for text in (known.body, words))
    return not known.source and bool(old) and len(old & new) < LEFT * len(old)


def hush(house: House, row: Row, actor: str) -> None:
    """Take the words of a memory that was said to be wrong out of what quotes them."""
    if changes := quoting(house, row):
        reason = f"{row.handle} was said to be wrong"
        house.indexing.apply(changes, Operation("revise", row.title, actor, reason=reason))


def quoting(house: House, row: Row) -> list[Write]:
    """The profiles and the blocks in a person's own words without the lines that quote a memory;
    one of which nothing is left sleeps. What was said of a conversation stays as long as its facts
    do."""
    told = "" if memories.captured(row) else house.index.bodies([row.key]).get(row.key, "")
    rows = house.index.list(type=_QUOTING, status="active", limit=10_000_000)
    bodies = house.index.bodies([one.key for one in rows])
    found: list[Write] = []
    for one in rows:
        rests = row.handle in one.derived_from
        quoted = personal.is_profile if one.type == memories.ENTITY else personal.is_quoted
        body = bodies.get(one.key, "").strip()
        if one.key == row.key or memories.owned(one) or not body or not quoted(body):
            continue
        if rests or (one.type == memories.ENTITY and told):
            left = personal.without(body, taxonomy.prose(told), row.handle)
            if left != body:
                found.append(_pared(house, one, left, row.handle))
    return found


def _pared(house: House, row: Row, body: str, gone: str) -> Write:
    data, known = house.indexing.load(row)
    last = row.type == memories.ENTITY
    keys = personal.pared(body, known.derived_from, (gone,), last=last) | {"timestamp": house.now()}
    content = yaml_block.edited(data, keys, f"{body}\n" if body else "")
    return Write(row.path, content, sha256(data).hexdigest())


def restore(house: House, id: str, actor: str = "user") -> answers.Restored:
    """Bring a forgotten memory back, byte for byte."""
    receipt = house.vault.restore(id.strip().lower(), actor)
    house.indexing.refresh(receipt.written)
    path = next(path for path in receipt.written if path.lower().endswith(".md"))
    row = house.index.by_path(path)
    return {"schema": 1, "id": row.handle if row else id, "path": path, "commit": receipt.commit}


def undo(
    house: House,
    commit: str | None = None,
    run: str | None = None,
    source: str | None = None,
    actor: str = "user",
) -> answers.Undone:
    """Bring back the exact bytes from before one commit, a whole run of a loop, or all that came
    from a source (an import, a session, an actor). `left`: what somebody else changed since, which
    stays."""
    named = [one for one in (commit, run, source) if one is not None]
    if len(named) != 1:
        raise InvalidInput(
            "name a commit, a run or a source to undo",
            kept=KEPT,
            hint="`oneiro log` lists commits, `oneiro runs` runs.",
        )
    left: Mapping[str, str] = {}
    gone = house.uses.forgotten()
    if source is not None:
        receipt, left = house.vault.undo_source(_source(source), actor, gone)
        receipts = [receipt]
    elif run is not None:
        receipts, left = _undo_run(house, run.strip().lower(), actor)
    else:
        receipts = [house.vault.undo(str(commit), actor, gone)]
    removed = {path for one in receipts for path in one.removed}
    paths = [*dict.fromkeys(path for one in receipts for path in (*one.written, *one.removed))]
    house.indexing.refresh(paths)
    touched = sorted(path for path in paths if not path.startswith("ledger/"))
    stays: list[answers.Kept] = [{"path": path, "why": why} for path, why in sorted(left.items())]
    return {
        "schema": 1, "commit": receipts[-1].commit, "undone": named[0], "paths": touched,
        "removed": sorted(removed), "left": stays,
    }  # fmt: skip


def _undo_run(house: House, run: str, actor: str) -> tuple[list[Receipt], Mapping[str, str]]:
    try:
        return [house.vault.undo_run(run, actor, house.uses.forgotten())], {}
    except StaleMemory:
        receipts, left = house.vault.undo_rest(run, actor, house.uses.forgotten())
        if not receipts:
            raise
        return receipts, left


def _source(name: str) -> str:
    name = name.strip()
    if name in ("", "user"):
        raise InvalidInput(
            "what you wrote yourself is not taken back as a whole",
            kept=KEPT,
            hint="Undo single commits: `oneiro log`.",
        )
    return name
