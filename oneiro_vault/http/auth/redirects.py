"""Where a browser may be sent with a code: exactly where the client said beforehand; only a
loopback port may differ (RFC 8252)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final
from urllib.parse import SplitResult, urlencode, urlsplit

from oneiro_vault.errors import OAuthRefusal, shown

LONGEST: Final = 2000
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
KNOWN_SCHEMES: Final = frozenset({"cursor", "vscode", "vscode-insiders", "claude"})
"""Programs on a person's own machine that are reached by a scheme of their own. Others need the
operator's list."""
_CHARACTERS: Final = re.compile(r"[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]+")
_HOST: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9\-.]*[A-Za-z0-9])?")


def parse(uri: str) -> SplitResult:
    """The parts of an address that can be a redirect at all; what parsers may read differently is
    none. Raises OAuthRefusal."""
    if not isinstance(uri, str) or len(uri) > LONGEST or not _CHARACTERS.fullmatch(uri):
        raise _refused(f"{shown(uri)} is not a plain address")
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise _refused(f"{shown(uri)} is not an address") from error
    if not parts.scheme or parts.scheme != uri.partition(":")[0] or "@" in parts.netloc:
        raise _refused(f"{shown(uri)} is not a plain address")
    if (host or parts.scheme in ("http", "https")) and not (
        host == "::1" or _HOST.fullmatch(host or "")
    ):
        raise _refused(f"{shown(uri)} names no host")
    return parts


def check(uri: str, listed: Collection[str] = ()) -> str:
    """An address that a client may register: https, http on loopback, a known program's own scheme;
    or what the operator lists.

    With a list nothing else is taken but loopback. Raises OAuthRefusal.
    """
    parts = parse(uri)
    if uri in listed or (parts.scheme == "http" and parts.hostname in LOOPBACK):
        return uri
    if listed:
        raise _refused(f"{shown(uri)} is not among the redirects that this vault allows")
    if parts.scheme == "https" and parts.hostname not in LOOPBACK:
        return uri
    if parts.scheme in KNOWN_SCHEMES:
        return uri
    raise _refused(f"{shown(uri)} is neither https nor on this machine")


def fits(requested: str, registered: Iterable[str]) -> bool:
    """Is this one of them? Letter by letter, but for the port of a loopback address."""
    return any(requested == known or _same_but_port(requested, known) for known in registered)


def _same_but_port(requested: str, known: str) -> bool:
    try:
        one, other = parse(requested), parse(known)
    except OAuthRefusal:
        return False
    both_loopback = (
        one.scheme == other.scheme == "http"
        and one.hostname == other.hostname
        and one.hostname in LOOPBACK
    )
    return both_loopback and (one.path, one.query) == (other.path, other.query)


def with_query(uri: str, **fields: str) -> str:
    """The address with these fields added to its query; empty ones are left out."""
    query = urlencode({name: value for name, value in fields.items() if value})
    return f"{uri}{'&' if '?' in uri else '?'}{query}"


def host(uri: str) -> str:
    """What a person should look at: the host, or the scheme of a program on their machine."""
    parts = parse(uri)
    if parts.scheme in ("http", "https"):
        return (
            f"{parts.hostname} (this computer)"
            if parts.hostname in LOOPBACK
            else str(parts.hostname)
        )
    return f"{parts.scheme}: (a program on this computer)"


def source(uri: str) -> str:
    """The address as a source in a content security policy, so that a form may end there and
    nowhere else."""
    parts = parse(uri)
    if parts.scheme not in ("http", "https") or parts.hostname == "::1":
        return f"{parts.scheme}:"
    return f"{parts.scheme}://{parts.netloc}"


def _refused(text: str) -> OAuthRefusal:
    return OAuthRefusal(text, code="invalid_redirect_uri")
