"""Results as text for people. Pure functions of a result and a terminal's style."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.cells import cell_len

from oneiro_vault import answers
from oneiro_vault.cli.output import Style, cut, line, safe
from oneiro_vault.core.text.query import analyse
from oneiro_vault.core.text.snippet import Finder, around


def heading(found: Mapping[str, Any], style: Style) -> list[str]:
    """The lines above an answer: the commit it speaks of, and the time for which its rows held."""
    text = []
    if then := found.get("as_of"):
        text.append(style(f"as of {point(then)}", "dim"))
    if valid := found.get("valid_at"):
        text.append(style(f"what held: {line(valid['asked'])}", "dim"))
    return text


def point(then: answers.Moment) -> str:
    """A commit with its date."""
    dates = " (dates are out of order here: commits count as they came)"
    when = str(then["when"])[:16].replace("T", " ")
    said = f"{when} · {then['commit'][:10]} · {line(then['title'])}"
    return said + (dates if then.get("disordered") else "")


def left_out(found: Mapping[str, Any]) -> str:
    """What an answer left out, for standard error."""
    late = found.get("valid_at", {}).get("undated", 0)
    who = "1 memory that was" if late == 1 else f"{late} memories that were"
    return f"left out: {who} learned later, without a word since when that holds" if late else ""


def since(row: Mapping[str, Any]) -> list[str]:
    """What is to be known of a row not of now: `since revised`, `held 2025-01-01 to 2026-03-01`."""
    now, valid = row.get("now"), row.get("valid")
    found = [f"since {line(str(now))}"] if now not in (None, "same") else []
    if valid:
        start, end, now = _day(valid["from"]), _day(valid["until"]), valid.get("now")
        if now:
            return [*found, f"holds from {start}" if now == "ahead" else f"held until {end}"]
        found.append(
            f"held {start or '…'} to {end}" if end else f"holds since {start}" if start else "holds"
        )
    return found


def _day(moment: str | None) -> str:
    return str(moment or "")[:10]


SHORT = 8
"""Characters of an id that are shown; any unique prefix of 4 works."""
_ROOM = 20
"""Columns that a description gets at least."""


def rows(
    found: Sequence[Mapping[str, Any]], style: Style, explain: bool = False, query: str = ""
) -> str:
    """Memories, one a line; with a `query`, the line that answers it below, and weaker rows
    apart."""
    finder = Finder(analyse(query).words)
    titles = Counter(str(row["title"]).casefold() for row in found)
    found = [{**row, "alike": titles[str(row["title"]).casefold()] > 1} for row in found]
    good = [row for row in found if not row.get("weak")]
    weak = [row for row in found if row.get("weak")]
    text = [_row(row, style, explain, finder) for row in good]
    if weak:
        text.append(style("weaker:" if good else "nothing fits well; the nearest:", "dim"))
    text += [_row({**row, "snippet": ""}, style, explain, finder) for row in weak]
    return "\n".join(text)


def _row(row: Mapping[str, Any], style: Style, explain: bool, finder: Finder) -> str:
    date = str(row.get("created") or "")[:10] or "no date   "
    title, ident, marks = line(row["title"]), short(line(row["id"])), _marks(row)
    place = line(row["path"]) if row.get("alike") else ""
    columns = (date, "dim"), (title, "bold"), (place, "dim"), (ident, "cyan"), (marks, "yellow")
    parts = [style(part, name) for part, name in columns if part]
    description, snippet = line(row.get("description") or ""), line(row.get("snippet") or "")
    left = style.width - sum(cell_len(part) + 3 for part, _ in columns if part)
    fits = not style.width or cell_len(description) <= left
    below = snippet and snippet not in title and not (fits and snippet in description)
    says_more = fits or not below or (left >= _ROOM and snippet != description)
    if description and description != title and says_more:
        room = max(left, _ROOM) if style.width else 0
        parts.append(_marked(cut(description, room), style, finder))
    text = [" · ".join(parts)]
    if below:
        width = style.width - 4 if style.width else 0
        around_it = around(snippet, [spot for spot, _ in finder.spots(snippet)], width)
        text.append("    " + _marked(cut(around_it, width), style, finder))
    if explain:
        text.append(style(f"    {explained(row)}", "dim"))
    return "\n".join(text)


def explained(row: Mapping[str, Any]) -> str:
    """The score of a row, and what it is made of."""
    return f"{row['score']:.3f}  {_facts(row.get('why') or {})}"


def graph(found: answers.Graphed, style: Style, way: bool = False) -> str:
    """A node and below it what it is connected with, each from its side; a `way` as a chain."""
    nodes = {node["ref"]: node for node in found["nodes"]}
    if way:
        return "\n".join(_stated(edge, nodes, style) for edge in found["edges"]) or "the same"
    text = [_noded(found["nodes"][0], style)]
    below: dict[str, list[answers.GraphEdge]] = {}
    for edge in found["edges"]:
        nearer = min((edge["source"], edge["target"]), key=lambda ref: nodes[ref]["hops"])
        below.setdefault(nearer, []).append(edge)
    _branch(found["nodes"][0]["ref"], below, nodes, style, text)
    return "\n".join(text if len(text) > 1 else [*text, "  nothing that it is connected with"])


def _branch(
    ref: str,
    below: dict[str, list[answers.GraphEdge]],
    nodes: Mapping[str, answers.GraphNode],
    style: Style,
    text: list[str],
) -> None:
    ends: dict[tuple[str | None, ...], dict[str, answers.GraphEdge]] = {}
    for edge in below.pop(ref, ()):
        other = edge["target"] if edge["source"] == ref else edge["source"]
        relation = edge["relation"] if edge["source"] == ref else edge["inverse"]
        by = edge["by"] if edge["by"] not in (edge["source"], edge["target"]) else ""
        ends.setdefault((other, edge["since"], edge["until"], by), {})[relation] = edge
    for relations in ends.values():
        edge = next(iter(relations.values()))
        other = edge["target"] if edge["source"] == ref else edge["source"]
        dates = f"{edge['since'] or '…'} to {edge['until']}" if edge["until"] else edge["since"]
        indent = "  " * (nodes[ref]["hops"] + 1)
        columns = [style(", ".join(map(line, relations)), "dim"), _noded(nodes[other], style)]
        columns += [style(f"since {dates}" if not edge["until"] else dates or "", "dim")] * bool(
            dates
        )
        if edge["by"] not in (edge["source"], edge["target"]):
            columns.append(style(f"says {short(line(edge['by']))}", "dim"))
        text.append(indent + "  ".join(columns))
        _branch(other, below, nodes, style, text)


def _stated(edge: answers.GraphEdge, nodes: Mapping[str, answers.GraphNode], style: Style) -> str:
    ends = [_noded(nodes[ref], style) for ref in (edge["source"], edge["target"])]
    when = style(f"  since {edge['since']}", "dim") if edge["since"] else ""
    return f"{ends[0]}  {style(line(edge['relation']), 'dim')}  {ends[1]}{when}"


def _noded(node: answers.GraphNode, style: Style) -> str:
    status = line(node["status"])
    marks = [style(short(line(node["id"])), "cyan")] if node["id"] else []
    marks += [style(f"[{status}]", "yellow")] if status not in ("", "active") else []
    return " ".join([style(line(node["name"]), "bold"), *marks])


def _marks(row: Mapping[str, Any]) -> str:
    """`[pending]`, `[superseded, faded]`; nothing for a memory in full force."""
    status = line(str(row.get("status") or "active"))
    found = [status] if status != "active" else []
    found += [f"replaced by {short(line(row['replaced_by']))}"] if row.get("replaced_by") else []
    found += [
        name
        for name, key in (("faded", "faded"), ("file gone", "gone"), ("broken", "broken"))
        if row.get(key)
    ]
    standing = row.get("standing", answers.SAID_ONCE)
    found += [line(standing)] if standing != answers.SAID_ONCE else []
    found += since(row)
    return f"[{', '.join(found)}]" if found else ""


def _marked(text: str, style: Style, finder: Finder) -> str:
    done, parts = 0, []
    for (start, end), _ in finder.spots(text):
        if start >= done:
            parts += [text[done:start], style(text[start:end], "bold")]
            done = end
    return "".join([*parts, text[done:]])


def short(ident: str) -> str:
    """As much of an id as is comfortable to type; paths stay whole."""
    return ident[:SHORT] if ident.isalnum() else ident


def _facts(why: Mapping[str, Any]) -> str:
    return "  ".join(
        f"{name}={_value(value)}" for name, value in why.items() if value not in (None, "", [], {})
    )


def _value(value: object) -> str:
    if value is None or value == [] or value == {}:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, Mapping):
        return ", ".join(f"{line(str(name))} {_value(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        nested = any(isinstance(inner, Mapping | list | tuple) for inner in value)
        return ("; " if nested else ", ").join(_value(inner) for inner in value)
    return line(str(value))


def _field(name: str, value: object, style: Style) -> list[str]:
    """A key of the frontmatter; what holds keys of its own gets a line for each."""
    head, below = style(f"{line(name)}:", "dim"), []
    if isinstance(value, Mapping) and value:
        below = [f"{line(str(key))}: {_value(inner)}" for key, inner in value.items()]
    elif isinstance(value, list | tuple) and any(isinstance(one, Mapping) for one in value):
        below = [
            "; ".join(f"{line(str(key))}: {_value(inner)}" for key, inner in one.items())
            if isinstance(one, Mapping)
            else _value(one)
            for one in value
        ]
    return [head, *(f"  {part}" for part in below)] if below else [f"{head} {_value(value)}"]


def _linked(entry: Mapping[str, Any], style: Style) -> str:
    """Another memory: `mentions qqqq2345  Other  [superseded]`."""
    relation = line(str(entry.get("relation") or "")).replace("_", " ")
    ident = short(line(str(entry.get("id") or entry.get("path") or "")))
    status = str(entry.get("status") or "active")
    title = line(str(entry.get("title") or "")) or "not in the vault"
    mark = style(f"[{line(status)}]", "yellow") if status != "active" else ""
    name = " ".join(filter(None, (relation, style(ident, "cyan"))))
    return "  ".join(filter(None, (name, title, mark)))


def memory(found: answers.Shown, style: Style) -> str:
    """One memory in full."""
    meta = found["meta"]
    head = [
        style(line(str(meta.get("title", found["path"]))), "bold"),
        style(f"{line(found['id'])}  {line(found['path'])}", "dim"),
    ]
    head += [
        part
        for name, value in meta.items()
        if name not in {"title", "id"}
        for part in _field(name, value, style)
    ]
    head.append(f"{style('strength:', 'dim')} {found['strength']:.2f}")
    head += [f"{style('image:', 'dim')} {_image(one)}" for one in found.get("images", ())]
    for name in ("links", "backlinks"):
        head += [f"{style(name + ':', 'dim')} {_linked(entry, style)}" for entry in found[name]]
    head += [style(f"problem: {line(text)}", "yellow") for text in found["problems"]]
    if found.get("now", "same") != "same":
        head.append(style(f"today: {line(found['now'])}", "yellow"))
    head = heading(found, style) + notice(found, style) + head
    text = "\n".join([*head, "", safe(found["body"]).strip("\n")])
    return text + (f"\n\n{facts(found['why'], style)}" if found.get("why") else "")


def _image(one: answers.Picture) -> str:
    """`attachments/ab/….jpg  1200 × 800`."""
    return f"{line(one['path'])}  " + (
        f"{one['width']} × {one['height']}" if one["present"] else "not here yet"
    )


def notice(found: Mapping[str, Any], style: Style) -> list[str]:
    """Why what follows is not what the file says now, and what to do about it."""
    why = found.get("notice")
    if not why:
        return []
    text = [
        f"{line(why['path'])}: {line(why['reason'])}.",
        f"Below is {line(why['shown'])}.",
        line(why["hint"]),
    ]
    return [style(part, "yellow") for part in text]


def facts(found: Mapping[str, Any], style: Style, indent: str = "") -> str:
    """Nested names and values, one a line."""
    text = []
    for name, value in found.items():
        if isinstance(value, Mapping) and value:
            text += [f"{indent}{style(str(name), 'dim')}", facts(value, style, indent + "  ")]
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            text.append(f"{indent}{style(str(name), 'dim')}")
            text += [f"{indent}  {_facts(entry)}" for entry in value]
        else:
            text.append(f"{indent}{style(str(name), 'dim')} {_value(value)}")
    return "\n".join(text)


def entries(found: Iterable[answers.LogEntry], style: Style) -> str:
    """Commits, one a line, with who and why when it is known."""
    return "\n".join(_entry(entry, style) for entry in found)


def _entry(entry: answers.LogEntry, style: Style) -> str:
    who = line(entry.get("actor") or entry.get("author") or "")
    when = str(entry["when"])[:16].replace("T", " ")
    op, title = line(entry["op"]), line(entry["title"]) or "(no message)"
    reason = line(entry.get("reason") or "")
    if entry.get("undoes"):
        op, reason = "redo" if title.startswith("redo ") else "undo", ""
        title = title.removeprefix(f"{op} ")
    gone = [line(path) for path in entry.get("removed") or ()]
    if gone and op != "forget":
        took = f"took out {gone[0] if len(gone) == 1 else f'{len(gone)} files'}"
        reason = f"{reason}; {took}" if reason else took
    what = (f"{style(op, 'bold')}: " if op else "") + title + (f"  ({reason})" if reason else "")
    facts = ("run", entry.get("run")), ("judged by", entry.get("judge"))
    by = " · ".join([who, *(f"{word} {line(said)}" for word, said in facts if said)])
    commit = style(entry["commit"][:10], "cyan")
    return "  ".join([commit, style(when, "dim"), what, style(by, "dim")])


def story(found: answers.Why, style: Style) -> str:
    """What happened to one memory, oldest first, and how it is used."""
    parts = [
        *notice(found, style),
        style(line(found["title"]), "bold"),
        style(f"{line(found['id'])}  {line(found['path'] or 'not in the vault now')}", "dim"),
        entries(found["story"], style) or "not committed yet",
    ]
    parts += [f"from {_linked(entry, style)}" for entry in found["lineage"]]
    return "\n".join([*parts, used(found["uses"])])


def used(uses: Mapping[str, Any]) -> str:
    """How often a memory was used, and when last."""
    days = uses.get("days", 0)
    if not days:
        return "not used yet"
    return f"used on {days} {'day' if days == 1 else 'days'}, last on {str(uses['last'])[:10]}"


def problems(found: Sequence[Mapping[str, Any]], style: Style) -> str:
    """What is wrong, one a line, with what to do."""
    colors = {"error": "red", "warning": "yellow"}
    text = []
    for problem in found:
        level = "mended" if problem.get("fixed") else problem["level"]
        where = f"{line(problem['path'])}: " if problem.get("path") else ""
        level = style(level, colors.get(level, "green"))
        text.append(f"{level}  {where}{line(problem['message'])}")
        if problem.get("fixed"):
            continue
        if problem.get("hint"):
            text.append(f"    {line(problem['hint'])}")
        elif problem.get("fixable"):
            text.append("    `oneiro doctor --fix` mends it")
    return "\n".join(text)


_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def workflow_commands(found: Iterable[answers.Problem]) -> str:
    """Problems as workflow commands of GitHub Actions, which shows the first ten of a kind."""
    ordered = sorted(found, key=lambda problem: list(_LEVELS).index(problem["level"]))
    return "\n".join(_annotation(problem) for problem in ordered)


def _annotation(problem: answers.Problem) -> str:
    """Nothing in a note can end the command or begin another: what separates is escaped."""
    place = {"file": problem["path"], "line": str(problem.get("line") or 1)}
    facts = (place if problem["path"] else {}) | {"title": f"oneiro {problem['code']}"}
    told = ",".join(f"{name}={_escaped(value or '', ',:')}" for name, value in facts.items())
    said = " ".join(filter(None, (problem["message"], problem["hint"])))
    return f"::{_LEVELS[problem['level']]} {told}::{_escaped(said)}"


def _escaped(text: str, more: str = "") -> str:
    return "".join(f"%{ord(c):02X}" if c in "%\r\n" + more else c for c in safe(text))


def gaps(found: Mapping[str, Any]) -> str:
    """What an answer may be missing, for standard error."""
    notes = []
    reason = str(found.get("degraded") or "")
    for notice in found.get("notices", ()):  # said already
        reason = reason.replace(notice, "").strip("; ")
    if reason:
        notes.append(f"{'incomplete' if found.get('as_of') else 'keywords only'}: {line(reason)}")
    if found.get("behind"):
        notes.append(f"commits not indexed yet: {found['behind']}")
    notes += filter(None, [left_out(found)])
    return "\n".join(notes)


def model_use(use: answers.ModelUse) -> str:
    """Why the model did not choose all, and what it was asked and cost, for standard error."""
    said = [f"{use['calls']} {'question' if use['calls'] == 1 else 'questions'}"]
    guess = " (estimated)" if use["estimated"] else ""
    said += [f"{use['tokens_in']:,} tokens in, {use['tokens_out']:,} out{guess}"]
    said += [f"about {max(use['cost'], 0.0001):.4f} spent"] if use["cost"] else []
    cost = f"{use['judge']}: {', '.join(said)}" if use["calls"] else ""
    return "\n".join(line(one) for one in (use["problem"], cost) if one)


def pace(state: answers.Embedding) -> str:
    """`31 a second`, of `status`'s `embedding`; empty while nothing can be said."""
    return f"{state['rate']:.0f} a second" if state["rate"] else ""


def embedded(state: answers.Embedding) -> str:
    """`6,200 of 24,256 passages have a vector (25%), 31 a second, about 9 minutes left`."""
    done, total, seconds = state["done"], state["total"], state["seconds_left"]
    said = [f"{done:,} of {total:,} passages have a vector ({100 * done // total}%)", pace(state)]
    if seconds is not None:
        left = f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"
        said.append(f"about {left} left")
    return ", ".join(filter(None, said))
