"""Shapes of secrets in a text: keys of services by how they begin, passwords by what stands before
them, cards by their check digit.

Only shapes that ordinary sentences do not have; what merely looks random (a hash, an id) is none. A
library knows more of them (`secret_scan`); these are the ones it lacks, and those of which it does
not say where they end. What stands for a secret in an example (`<token>`, `${TOKEN}`, `xxxx`) is
none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from oneiro_vault.vault.secrets import passwords


@dataclass(frozen=True, slots=True)
class Found:
    """A secret at `start`..`end` of a text; `kind` names what it is without a character of it.
    `vague`: only told by what stands before."""

    kind: str
    start: int
    end: int
    vague: bool = False


@dataclass(frozen=True, slots=True)
class _Rule:
    """One shape. `anchors`: one of them is in every text (in small letters) that can hold it, and
    `sign` stands there, so that most texts cost nothing; the last group of the pattern is the
    secret; `proves` is asked about it."""

    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    proves: Callable[[str], bool]
    sign: re.Pattern[str] | None = None


_STANDS_FOR: Final = re.compile(
    r"(?i)[$%<\[{(~/]|\*{3}|x{4}|\.{3}|…|your[-_]|my[-_]|the[-_]|example|sample|dummy|"
    r"change[-_]?me|redacted|placeholder|removed|process\.env|os\.environ|getenv|env[.\[(]|"
    r"https?://|op://|keychain:|1password|argon2|bcrypt|sha-?\d{1,3}(?![a-z\d])|at[-_]least|"
    r"\d{4}-\d\d-\d\dT\d|(?:password|passwd|pass|pwd|pw|secret|token|user|null|none|true|false)\Z"
)
_EXAMPLE: Final = re.compile(
    r"(?i)example|placeholder|dummy|redacted|changeme|x{6}|\*{3}|\.\.\.|…|(?<![a-z\d])(?:your|"
    r"insert|fake|replace)[-_]|[-_](?:key|token|secret|goes)[-_]?here(?![a-z\d])"
)
"""What the key of a service says of itself when it stands in a manual. Nobody draws these words at
random."""
_MANUAL: Final = re.compile(r"EXAMPLE(?:KEY)?\Z")
"""How the keys of a cloud's manuals end, whatever they are found by."""
_DOCUMENTED: Final = frozenset((
    "sk_test_4eC39HqLyjWDarjtT1zdp7dc", "sk_test_BQokikJOvBiI2HlWgH4olfQ2",
    "sk_test_26PHem9AhJZvU623DfE1x4sd",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0"
    "IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
))  # fmt: skip
"""Keys that everybody knows, out of the manuals of those who give them out."""
_HOST: Final = re.compile(r"@(\[[\da-fA-F:.]+\]|[\w.-]*\w)")
_NOWHERE: Final = re.compile(
    r"(?i)(?:.+\.)?(?:example(?:\.(?:com|net|org))?|test|invalid|localhost)\Z|(?:192\.0\.2|"
    r"198\.51\.100|203\.0\.113)\.\d+\Z"
)
"""Hosts that are kept for examples (RFC 2606, 5737, 6761): nobody can own them."""
_ESCAPED: Final = re.compile(r"%[\da-fA-F]{2}")
"""A character that an address cannot have, as a number; the digits are not the password's."""
_HERE: Final = re.compile(r"[^.:]+\Z|127\.[\d.]+\Z|\[::1\]\Z")
"""This machine, or one without a domain, as the parts of a set-up call each other."""
_LONGEST_KEY: Final = 400
_FEWEST: Final = 5
"""Different characters that a secret has at least."""
_UUID: Final = re.compile(r"(?i)(?<![a-z\d])[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?![a-z\d])")
_SHORT: Final = 8
_IDEOGRAPHS: Final = "\u2e80"
"""From here on a word is a sentence, and nobody's password."""
_JOINTS: Final = re.compile(r"[-_./:@]")
_CHANGES: Final = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<=[a-z])(?=[A-Z])")
_PIECE: Final = 12
"""Characters that one piece of a key has at least: names of models, versions, addresses and times
are made of shorter ones."""
_TURNS: Final = 6
"""Changes between letters and digits, or to a capital, that make a key of shorter pieces as well
(`A1B2-C3D4-E5F6`)."""


def plausible(value: str) -> bool:
    """Could somebody have drawn this at random? It has letters and digits, and does not stand for
    something else."""
    return _mixed(value) and len(set(value)) >= _FEWEST and not _STANDS_FOR.match(value)


def _drawn(value: str) -> bool:
    """Is a piece of it long and mixed enough, or all of it mixed again and again? A name that
    people gave is words and short numbers."""
    pieces = _JOINTS.split(value)
    return plausible(value) and (
        len(_CHANGES.findall(value)) >= _TURNS
        or bool(_UUID.search(value))
        or any(
            len(piece) >= _PIECE
            and (_mixed(piece) or (piece[1:].lower() != piece[1:] and not piece.isupper()))
            for piece in pieces
        )
    )


def _mixed(value: str) -> bool:
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _any(_value: str) -> bool:
    return True


def _password(value: str) -> bool:
    return plausible(value) and "(" not in value and max(value) < _IDEOGRAPHS


def _webhook(value: str) -> bool:
    last = value.rpartition("/")[2]
    return len(set(last)) >= _SHORT and not _STANDS_FOR.match(last)


def _beside(value: str) -> bool:
    """A table also says what a password is like (`varchar64`): more than letters with a number
    behind them."""
    return (
        _password(value)
        and len(value) >= _SHORT
        and (len(_CHANGES.findall(value)) > 1 or any(not c.isalnum() for c in value))
    )


def _in_address(value: str) -> bool:
    return len(value) >= 3 and not _STANDS_FOR.match(value)


def _card(value: str) -> bool:
    """Does the check digit fit (Luhn)?"""
    digits = [int(c) for c in reversed(value) if c.isdigit()]
    return sum(d if at % 2 == 0 else d * 2 - 9 * (d > 4) for at, d in enumerate(digits)) % 10 == 0


_BEGINNINGS: Final = (
    ("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{36,}"),
    ("GitHub token", "github_pat_", r"[A-Za-z0-9_]{22,}"),
    ("GitLab token", "glpat- gldt- glrt- glcbt- glptt- glagent- gloas-", r"[\w-]{20,}"),
    (
        "API key",
        "sk- sk_live_ sk_test_ rk_live_ rk_test_ whsec_ gsk_ xai- pplx- r8_ sk_org_",
        r"[\w-]{20,}",
    ),
    ("Google key", "AIza", r"[\w-]{32,}"),
    ("Google token", "ya29. GOCSPX-", r"[\w.-]{20,}"),
    ("SendGrid key", "SG.", r"[\w-]{16,}\.[\w-]{16,}"),
    ("Slack token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xapp-", r"[\w-]{16,}"),
    ("npm token", "npm_", r"[A-Za-z0-9]{36,}"),
    ("PyPI token", "pypi-AgE", r"[\w-]{40,}"),
    (
        "cloud token",
        "dop_v1_ doo_v1_ dor_v1_ dapi shpat_ shpss_ hvs. hvb. PMAK- figd_ lin_api_ ntn_",
        r"[\w.-]{20,}",
    ),
    ("Hugging Face token", "hf_", r"[A-Za-z0-9]{30,}"),
    ("Tailscale key", "tskey-", r"[\w-]{16,}"),
    ("private key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{40,}"),
    ("key of a vault", "onk_reader_ onk_writer_ onk_hook_ onk_admin_", r"[\w-]{30,}"),
)
"""(kind, how it may begin, what follows)."""

_KEYED: Final = (
    r"(?i)(?:secret(?!ar)|token(?!i[sz])|credential|(?:api|access|auth|private|signing|encryption|"
    r"service|account|client)[_ -]?(?:key|secret(?!ar)))"
    rf"[\w-]{{0,20}}[\"'`*]{{0,3}}\s{{0,3}}(?::=|=>|[:=]{{1,2}}|\sis\s){passwords.MARKS}"
    r"([^\s\"'`*,;<>()\[\]{}]{16,400})(?<![.:])(?![\w(\[{])"
)

_ADDRESS: Final = "password in an address"
_RULES: Final = (
    *(
        _Rule(
            kind,
            tuple(heads.lower().split()),
            re.compile(rf"(?<![A-Za-z0-9])((?:{'|'.join(map(re.escape, heads.split()))}){rest})"),
            plausible,
        )
        for kind, heads, rest in _BEGINNINGS
    ),
    _Rule(
        "private key",
        ("private key",),
        re.compile(
            r"(-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:[\s>|+]|"
            r"\\[nr]){0,60}(?:[\w-]{1,30}: (?:[^\n]{0,200}\n|"
            r"\S{1,200}\s)[\s>]{0,40}){0,8}[A-Za-z0-9+/=]{16}(?:[A-Za-z0-9+/=\s>]|"
            r"\\[nr]){0,20000}(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?)"
        ),
        _any,
    ),
    _Rule(
        "signed token",
        ("eyj",),
        re.compile(r"(?<![\w-])(eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,})"),
        _any,
    ),
    _Rule(
        _ADDRESS,
        ("://",),
        re.compile(r"[A-Za-z][\w+.-]{1,30}://[^\s/:@\"'<>]{0,200}:([^\s/@\"'<>]{1,300})@[\w\[]"),
        _in_address,
    ),
    _Rule(
        "token of a header",
        ("bearer", "basic "),
        re.compile(r"(?i)\b(?:bearer|authorization: basic)\s+([\w.~+/-]{16,}=*)"),
        plausible,
    ),
    _Rule(
        "storage key",
        ("accountkey", "accesskey"),
        re.compile(r"(?i)(?:Account|Access)Key=([A-Za-z0-9+/]{32,}={0,2})"),
        plausible,
    ),
    _Rule(
        "one-time password",
        ("otpauth://",),
        re.compile(r"otpauth://\S{0,300}?[?&]secret=([A-Za-z0-9]{16,})"),
        _any,
    ),
    _Rule("password", passwords.ANCHORS, re.compile(passwords.NAMED), _password),
    _Rule("password", passwords.ASSIGNED, re.compile(passwords.VARIABLE), _password),
    _Rule(
        "password",
        ("password",),
        re.compile(passwords.NETRC),
        _in_address,
        re.compile(r"(?i)\b(?:machine|default)\s"),
    ),
    _Rule("password", (":",), re.compile(passwords.PGPASS), _password, re.compile(passwords.PORT)),
    _Rule("password", (" -u ", " -u=", "--user"), re.compile(passwords.USER), _password),
    _Rule(
        "hash of a password",
        passwords.HASHES,
        re.compile(passwords.HASH),
        _any,
        re.compile(passwords.HASHED),
    ),
    _Rule(
        "address of a webhook",
        ("hooks.slack", "api/webhooks", "/webhooks/"),
        re.compile(passwords.WEBHOOK),
        _webhook,
    ),
    _Rule("key", ("token",), re.compile(passwords.TOKEN), _drawn),
    _Rule("key", ("secret", "token", "credential", "key"), re.compile(_KEYED), _drawn),
)
_CARDS: Final = re.compile(
    r"(?<![\w.,/-])((?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6011|65\d\d)([ -]?)\d{4}\2\d{4}\2\d{4}|"
    r"3[47]\d\d([ -]?)\d{6}\3\d{5})(?![\w-]|[.,/]\d)"
)


_VAGUE: Final = frozenset(("password", "key"))
_CHOSEN: Final = frozenset(("password", _ADDRESS, "hash of a password"))
"""What people choose themselves may be any word."""
INVISIBLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-"
    "\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
"""What nobody sees between the letters of a word, as the inside of a character class."""
_UNSEEN: Final = re.compile(f"[{INVISIBLE}]")
_WIDER: Final = re.compile("[\uff01-\uff5e]")
_WIDE: Final = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}


def find(text: str, more: Callable[[str], Iterator[Found]] = lambda _text: iter(())) -> list[Found]:
    """Every secret of a text, in order; where shapes overlap, one. `more` finds others.

    Characters that nobody sees (a zero-width space, a soft hyphen) hide none, nor do the wide forms
    of letters.
    """
    plain, places = _seen(text)
    found = [one for one in joined([*_all(plain), *more(plain)]) if not _in_a_manual(plain, one)]
    return (
        [Found(one.kind, places[one.start], places[one.end - 1] + 1, one.vague) for one in found]
        if places
        else found
    )


def _in_a_manual(text: str, one: Found) -> bool:
    """Is this the key of an example, which opens nothing?"""
    value = text[one.start : one.end]
    if len(value) > _LONGEST_KEY:
        return False
    if one.kind == _ADDRESS and (host := _HOST.match(text, one.end)):
        return _for_show(
            text[text.rfind("://", 0, one.start) + 3 : one.start - 1],
            _ESCAPED.sub("%", value),
            host[1],
        )
    said = _MANUAL.search(value) or (one.kind not in _CHOSEN and _EXAMPLE.search(value))
    return bool(said) or value in _DOCUMENTED


def _for_show(user: str, password: str, host: str) -> bool:
    """Do user and password only show what an address is made of? On a host that nobody can own,
    unless it could have been drawn at random (somebody hid the host and forgot the password); on
    this machine, if it is what programs come with (`guest:guest`)."""
    if password == user:
        return bool(_HERE.match(host) or _NOWHERE.match(host))
    word = password.rstrip("0123456789!")
    return bool(_NOWHERE.match(host)) and (
        (len(password) < _PIECE and not plausible(password)) or bool(_STANDS_FOR.match(word))
    )


def _seen(text: str) -> tuple[str, list[int]]:
    """The text as a reader has it, and where each of its characters stood ([]: where it stands)."""
    if text.isascii():
        return text, []
    plain = text.translate(_WIDE) if _WIDER.search(text) else text
    if not _UNSEEN.search(plain):
        return plain, []
    places = [at for at, c in enumerate(plain) if not _UNSEEN.match(c)]
    return _UNSEEN.sub("", plain), places


def _all(text: str) -> Iterator[Found]:
    small = text.lower()
    for rule in _RULES:
        if any(anchor in small for anchor in rule.anchors) and (
            rule.sign is None or rule.sign.search(text)
        ):
            for match in rule.pattern.finditer(text):
                if rule.proves(match[1]):
                    yield Found(rule.kind, *match.span(1), rule.kind in _VAGUE)
    if "|" in text and any(anchor in small for anchor in passwords.ANCHORS):
        for start, end, beside in passwords.cells(text):
            if (_beside if beside else _password)(text[start:end]):
                yield Found("password", start, end, vague=True)
    for match in _CARDS.finditer(text):
        if _card(match[1]):
            yield Found("card number", *match.span(1))


def joined(found: Iterator[Found] | list[Found]) -> list[Found]:
    """In order, what overlaps as one, named by the longest; what is vague gives way."""
    done: list[Found] = []
    for one in sorted(found, key=lambda f: (f.start, -f.end)):
        if not done or one.start >= done[-1].end:
            done.append(one)
        elif one.vague == done[-1].vague:
            last = done.pop()
            kind = last.kind if last.end - last.start >= one.end - one.start else one.kind
            done.append(Found(kind, last.start, max(last.end, one.end), last.vague))
        elif not one.vague:
            done[-1] = one
    return done
