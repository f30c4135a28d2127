"""The page on which a person lets a program in: plain HTML, no script, nothing from elsewhere,
everything that was sent to us escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from html import escape
from typing import Final

from starlette.responses import HTMLResponse, Response

STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:3rem auto;padding:0 "
    "1rem;color:#222;background:#fff}dt{color:#666;font-size:.85rem}dd{margin:0 0 "
    ".6rem;overflow-wrap:anywhere}label{display:block;margin:.4rem "
    "0}input[type=password]{width:100%;box-sizing:border-box;font:inherit;padding:.4rem}button{fon"
    "t:inherit;padding:.4rem 1.2rem;margin:.8rem .6rem 0 "
    "0}.bad{color:#a00}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}dt{col"
    "or:#999}.bad{color:#f77}}"
)
_HASH: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
_CHOICES: Final = {"writer": "read and change memories", "reader": "read memories only"}


def consent(name: str, host: str, ident: str, role: str, sealed: str, problem: str = "") -> str:
    """Which program (as it calls itself), where the answer goes, what it asks for; a password, and
    less to choose than was asked."""
    offered = [value for value in _CHOICES if value in (role, "reader")]
    choices = "".join(
        f'<label><input type="radio" name="access" '
        f'value="{value}"{" checked" if value == offered[0] else ""}> {_CHOICES[value]}</label>'
        for value in offered
    )
    return (
        "<h1>Let a program use your memory vault?</h1><dl>"
        f"<dt>It calls itself</dt><dd><strong>{escape(name)}</strong></dd>"
        f"<dt>You will be sent to</dt><dd><strong>{escape(host)}</strong></dd>"
        f"<dt>Its id</dt><dd>{escape(ident)}</dd></dl>"
        "<p>Anybody can choose a name. Go on only if you have just started this yourself and the "
        "address is the one you expect.</p>"
        + (f'<p class="bad" role="alert">{escape(problem)}</p>' if problem else "")
        + '<form method="post" action="/authorize" autocomplete="off">'
        f'<input type="hidden" name="sealed" value="{escape(sealed)}">'
        f"<fieldset><legend>It may</legend>{choices}</fieldset>"
        '<label>Password of this vault <input type="password" name="password" '
        'autocomplete="current-password" maxlength="1000"></label><button name="decision" '
        'value="allow">Let it in</button><button name="decision" '
        'value="deny">Refuse</button></form>'
    )


def message(title: str, text: str, hint: str = "") -> str:
    """A page that only says something."""
    return f"<h1>{escape(title)}</h1><p>{escape(text)}</p>" + (
        f"<p>{escape(hint)}</p>" if hint else ""
    )


def page(
    body: str, status: int = 200, leads: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    """A whole page. Its form may end at `leads`, a source of a content security policy, besides
    here."""
    policy = (
        f"default-src 'none'; style-src 'sha256-{_HASH}'; form-action 'self' {leads}".rstrip()
        + "; frame-ancestors 'none'; base-uri 'none'"
    )
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width">'
        f"<title>oneiro vault</title><style>{STYLE}</style></head><body>{body}</body></html>"
    )
    return HTMLResponse(
        html,
        status,
        {
            **private(),
            "Content-Security-Policy": policy,
            "X-Frame-Options": "DENY",
            **(headers or {}),
        },
    )


def private() -> dict[str, str]:
    """Headers of everything that is for one pair of eyes. Our own address may be told to ourselves
    only (a form needs its Origin)."""
    return {"Cache-Control": "no-store", "Pragma": "no-cache", "Referrer-Policy": "same-origin"}
