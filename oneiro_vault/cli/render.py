"""Results as text for people. Pure functions of a result and a terminal's style."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from oneiro_vault.cli.output import Style, cut, line, safe

SHORT = 8
"""Characters of an id that are shown; any unique prefix of 4 works."""


def rows(found: Sequence[Mapping[str, Any]], style: Style, explain: bool = False) -> str:
    """One line a memory: date · title · id · description."""
    text = []
    for row in found:
        date = str(row.get("created") or "")[:10] or "no date   "
        title, ident = line(row["title"]), short(row["id"])
        fixed = len(date) + len(title) + len(ident) + 9
        description = line(row.get("description") or "")
        room = max(style.width - fixed, 20) if style.width else 0
        parts = [style(date, "dim"), style(title, "bold"), style(ident, "cyan")]
        text.append(" · ".join(parts + ([cut(description, room)] if description and description != title else [])))
        if explain:
            text.append(style(f"    {row['score']:.3f}  {_facts(row.get('why') or {})}", "dim"))
    return "\n".join(text)


def short(ident: str) -> str:
    """As much of an id as is comfortable to type; paths stay whole."""
    return ident[:SHORT] if ident.isalnum() else ident


def _facts(why: Mapping[str, Any]) -> str:
    return "  ".join(f"{name}={_value(value)}" for name, value in why.items() if value not in (None, "", [], {}))


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_value(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return ", ".join(_value(inner) for inner in value)
    return line(str(value))


def memory(found: Mapping[str, Any], style: Style) -> str:
    """One memory in full."""
    meta = found["meta"]
    head = [style(line(str(meta.get("title", found["path"]))), "bold"), style(f"{found['id']}  {found['path']}", "dim")]
    head += [f"{style(name + ':', 'dim')} {_value(value)}" for name, value in meta.items() if name not in {"title", "id"}]
    head.append(f"{style('strength:', 'dim')} {found['strength']:.2f}")
    for name in ("links", "backlinks"):
        head += [f"{style(name + ':', 'dim')} {_value(entry)}" for entry in found[name]]
    head += [style(f"problem: {line(text)}", "yellow") for text in found["problems"]]
    text = "\n".join(head) + "\n\n" + safe(found["body"]).strip("\n")
    return text + (f"\n\n{facts(found['why'], style)}" if found.get("why") else "")


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


def entries(found: Iterable[Mapping[str, Any]], style: Style) -> str:
    """Commits, one a line, with who and why when it is known."""
    text = []
    for entry in found:
        who = line(entry.get("actor") or entry.get("author") or "")
        reason = f"  ({line(entry['reason'])})" if entry.get("reason") else ""
        when = str(entry["when"])[:16].replace("T", " ")
        what = f"{style(entry['op'], 'bold')}: {line(entry['title'])}{reason}"
        text.append("  ".join([style(entry["commit"][:10], "cyan"), style(when, "dim"), what, style(who, "dim")]))
    return "\n".join(text)


def story(found: Mapping[str, Any], style: Style) -> str:
    """What happened to one memory, oldest first, and how it is used."""
    uses = found["uses"]
    days = uses.get("days", 0)
    used = f"used on {days} {'day' if days == 1 else 'days'}, last on {str(uses['last'])[:10]}" if days else "not used yet"
    parts = [
        style(line(found["title"]), "bold"),
        style(f"{found['id']}  {found['path'] or 'not in the vault now'}", "dim"),
        entries(found["story"], style),
    ]
    parts += [f"from {_value(entry)}" for entry in found["lineage"]]
    return "\n".join([*parts, used])


def problems(found: Sequence[Mapping[str, Any]], style: Style) -> str:
    """What is wrong, one a line, with what to do."""
    colors = {"error": "red", "warning": "yellow"}
    text = []
    for problem in found:
        level = "mended" if problem.get("fixed") else problem["level"]
        where = f"{line(problem['path'])}: " if problem.get("path") else ""
        text.append(f"{style(level, colors.get(level, 'green'))}  {where}{line(problem['message'])}")
        if problem.get("hint") and not problem.get("fixed"):
            text.append(f"    {line(problem['hint'])}")
        elif problem.get("fixable") and not problem.get("fixed"):
            text.append("    `oneiro doctor --fix` mends it")
    return "\n".join(text)


def gaps(found: Mapping[str, Any]) -> str:
    """What an answer may be missing, for standard error."""
    notes = []
    if found.get("degraded"):
        notes.append(f"keywords only: {line(str(found['degraded']))}")
    if found.get("behind"):
        notes.append(f"{found['behind']} commits are not indexed yet")
    return "\n".join(notes)
