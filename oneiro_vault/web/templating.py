"""Templates, and what goes into them: dates as elements, notes as safe HTML, addresses of assets by
their content."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from oneiro_vault.web.guard import STATIC
from oneiro_vault.web.notes import address as address_of
from oneiro_vault.web.notes import body_html
from oneiro_vault.web.views import wording

TYPES: Final[Mapping[str, str]] = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_LINK: Final = re.compile(r"\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]")
_ID: Final = re.compile(r"\b((?=[a-z]*[0-9])[0-9a-hjkmnp-tv-z]{12})\b")
"""What is surely a memory's id in somebody's sentence, and no word."""
HTMX: Final = "htmx.min.js"
"""Brought by the wheel; where the source is used as it is, by the package django-htmx, of which
nothing is run."""


def asset(name: str) -> bytes:
    """One of the page's own files. Raises FileNotFoundError."""
    own = files("oneiro_vault.web") / "static" / name
    return (own if own.is_file() or name != HTMX else _htmx()).read_bytes()


def _htmx() -> Traversable:
    found = find_spec("django_htmx")
    for place in (found.submodule_search_locations or []) if found else []:
        return Path(place) / "static/django_htmx/htmx-2.min.js"
    raise FileNotFoundError(HTMX)


@cache
def address(name: str) -> str:
    """Where a browser finds an asset; another content has another address."""
    return f"{STATIC}{hashlib.sha256(asset(name)).hexdigest()[:12]}/{name}"


def moment(value: object, date_only: bool = False, absolute: bool = False) -> Markup:
    """An ISO time as an element that says it absolutely; a script says instead how long ago, unless
    it shall stay `absolute`."""
    text = str(value or "")
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return Markup("{}").format(text)
    told = at.strftime("%-d %B %Y" if date_only or len(text) == 10 else "%-d %B %Y, %H:%M")
    kept = Markup(" data-absolute") if absolute else ""
    return Markup('<time datetime="{}" title="{}"{}>{}</time>').format(text, told, kept, told)


def count(number: int, one: str, several: str = "") -> str:
    """`1 note`, `1,204 notes`."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def plain(title: str) -> str:
    """A title without the brackets of wiki links; of one that is cut off, too."""
    return _LINK.sub(lambda link: link[2] or link[1], title).replace("[[", "")


def linked(text: str, source: str = "") -> Markup:
    """A line in which wiki links lead where they would in the note with the id `source`."""
    parts, at = Markup(), 0
    for link in _LINK.finditer(text):
        shown = Markup('<a href="{}">{}</a>').format(
            address_of(link[1], source), link[2] or link[1]
        )
        parts += escape(text[at : link.start()]) + shown
        at = link.end()
    return parts + escape(text[at:])


def ids(text: object) -> Markup:
    """Text in which the ids of memories lead to them, each short."""
    parts = _ID.split(str(text))
    link = '<a href="/ui/memory/{0}">{1}</a>'
    return Markup("").join(
        Markup(link).format(part, part[:8]) if at % 2 else part for at, part in enumerate(parts)
    )


def cost(text: str) -> str:
    """What a run's report says of its cost, without what was none."""
    parts = [one.strip() for one in text.rstrip(".").split(";")]
    told = [one for one in parts if not one.startswith("0 ")]
    return ", ".join(told) or "no question was asked"


@cache
def environment() -> Environment:
    """Everything is escaped; what is not there is an error, not an empty string."""
    made = Environment(
        loader=PackageLoader("oneiro_vault.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["note"] = body_html
    made.filters |= {"moment": moment, "count": count, "plain": plain, "ids": ids, "cost": cost}
    made.filters |= {"linked": linked, "called": wording.called, "colour": wording.colour}
    made.filters |= {"stands": wording.stands, "judged": wording.judged}
    made.globals |= {"asset": address, "wording": wording}
    return made


def rendered(template: str, context: Mapping[str, object], block: str = "") -> str:
    """A template of this package with its values; of one with a `block` of that name it alone,
    which imports for itself what it uses."""
    found = environment().get_template(template)
    made = found.blocks.get(block)
    return "".join(made(found.new_context(dict(context)))) if made else found.render(context)
