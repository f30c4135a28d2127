"""Where a password stands: after its name in the languages people write, in the files of tools, in
a table, and as the hash of one.

Patterns only (the last group is the secret) and the cells of tables; `credentials` says whether
what stands there can be one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

WORDS: Final = (
    "pass(?:word|wd|phrase|code|wort|ord)|pwd|kennwort|contrase(?:ñ|n\u0303)a|mots? de passe|"
    "wachtwoord|senha|palavra-passe|has[łl]o|lösenord|adgangskode|salasana|heslo|jelszó|şifre|"
    "парол[ья]|密码|密碼|口令|パスワード|비밀번호|mật khẩu"
)
"""How people call it, in small letters."""
ANCHORS: Final = (
    "pass", "pwd", "kennwort", "contrase", "wachtwoord", "senha", "haslo", "adgangskode",
    "salasana", "heslo", "hasło", "lösenord",
    "jelszó", "şifre", "парол", "密码", "密碼", "口令", "パスワード", "비밀번호", "mật khẩu",
)  # fmt: skip
"""One of them is in every text with such a word."""

MARKS: Final = r"\s{0,3}(?:[\"'`*]{1,3}\s{0,3}[\"'`*]{0,3}|_{1,2}\s{1,3}[\"'`*]{0,3})?"
"""Between the colon and the value: quotes, and the end of what is set in bold (`**Password:**
...`)."""
_WHOSE: Final = (
    r"(?:\s(?:for|of|to|on|from|für|fürs|von|vom|zum|de|del|da|do|di|du|para|pour|per|voor|van|от|"
    r"для)\s[^\n:=|.!?]{1,40}?)?"
)
_IS: Final = r"(?:\s{0,3}(?::=|=>|->|→|[:=：]{1,2})|\s(?:is|ist|es|est|è|é|jest|är|er)(?=\s)|\s{0,2}[是为為は])"  # noqa: E501
_ABOUT: Final = (
    r"(?!s?[ _-]?(?:protected|less|managers?|policy|length|strength|rotation|resets?)\b)"
)
NAMED: Final = (
    rf"(?i)(?<![a-z])(?:{WORDS}){_ABOUT}[\w-]{{0,20}}[\"'`*]{{0,3}}{_WHOSE}{_IS}{MARKS}"
    rf"([^\s\"'`*,;<>|]{{8,200}})(?<![.:])"
)
"""`Password: …`, `пароль от почты: …`."""

_HOLDERS: Final = (
    "db|database|smtp|mail|imap|ftp|ssh|sudo|admin|root|user|login|account|wifi|wlan|mysql|pg|"
    "postgres|mongo|redis|ldap|vpn|proxy|key"
)
VARIABLE: Final = (
    rf"(?<![A-Za-z])(?:(?:PG|SSH|[A-Z0-9_]{{1,40}}_)?(?:PASS(?:WORD|WD)?|PW)=|"
    rf"(?i:(?:{_HOLDERS})[_-]pass[\"']?\s{{0,2}}[:=]|[\"']pass[\"']\s{{0,2}}(?::|=>)))"
    r"\s{0,2}[\"'`]?([^\s\"'`,;<>|]{6,200})"
)
"""`DB_PASS=…`, `"pass": "…"`: in prose a pass is something else."""
ASSIGNED: Final = ("pass=", "passwd=", "password=", "pw=", "_pass", "-pass", 'pass"', "pass'")
TOKEN: Final = (
    r"(?i)(?<![a-z])(?:access|refresh|id|auth|bearer|"
    r"session)_?token[\"']?\s{0,2}[:=]\s{0,2}[\"']?([\w.~+/-]{12,400}=*)"
)
NETRC: Final = (
    r"(?i)(?<!\S)(?:machine\s{1,3}(?:[\w-]+\.[\w.-]+|localhost)|default)\s{1,9}(?:login|"
    r"user)\s{1,3}\S{1,100}\s{1,9}"
    r"(?:account\s{1,3}\S{1,100}\s{1,9})?password\s{1,3}[\"']?([^\s\"']{4,200})"
)
PORT: Final = r":(?:\d{4,5}|\*):"
PGPASS: Final = (
    r"(?m)(?<![^\s`])(?:\*|[A-Za-z][\w.-]{0,200}|\d{1,3}(?:\.\d{1,3}){3}):(?:\d{4,5}|\*):(?:\*|"
    r"[A-Za-z_][\w-]{0,60}):[A-Za-z_][\w.-]{0,60}:([^\s:`]{6,200})(?![^\s`])"
)
USER: Final = r"(?<!\S)(?:-u|--user)[ =][\"']?[\w.@-]{1,80}:([^\s\"':]{6,200})"
"""What `curl` and others take."""
WEBHOOK: Final = (
    r"(?i)(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/"
    r"|discord(?:app)?\.com/api/(?:v\d+/)?webhooks/)(T?[\w-]{4,}/[\w-]{4,}(?:/[\w-]{8,})*)"
)
HASH: Final = (
    r"(\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}"
    r"|\$argon2(?:id|i|d)\$(?:v=\d+\$)?m=\d+,t=\d+,p=\d+(?:,\w+=[^,$\s]+)?\$[A-Za-z0-9+/]{8,}={0,2}\$[A-Za-z0-9+/]{16,}={0,2}"
    r"|\$scrypt\$ln=\d+,r=\d+,p=\d+\$[A-Za-z0-9+/.]{8,}={0,2}\$[A-Za-z0-9+/.]{16,}={0,2}"
    r"|\$7\$[./A-Za-z0-9]{11,}\$[./A-Za-z0-9]{43}"
    r"|\$(?:1|5|6|y|gy|apr1)\$(?:rounds=\d+\$|"
    r"[./A-Za-z0-9]{1,6}\$)?[./A-Za-z0-9]{1,64}\$[./A-Za-z0-9]{22,}"
    r"|(?:pbkdf2_sha\d+|pbkdf2:sha\d+|scrypt):?\$?\d[\d:]*\$[\w./+-]{4,}\$[A-Za-z0-9+/=]{32,})"
)
HASHES: Final = ("$", "pbkdf2", "scrypt:")
HASHED: Final = r"\$(?:[1567y]|2[abxy]?|gy|apr1|argon2\w*|scrypt)\$|pbkdf2|scrypt:"

_CELL: Final = re.compile(
    rf"(?i)\s*[*_`]*(?:[\w.-]{{1,30}}[ _-]){{0,2}}(?:{WORDS})(?:\s*\([^()|]{{0,40}}\))?[*_`:]*\s*"
)
_RULED: Final = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_BARE: Final = re.compile(r"\s*[\"'*_`]*([^\s|\"'`*]{6,200}?)[\"'*_`]*\s*")
_WIDEST: Final = 2_000
"""Characters of a line that may be the row of a table."""


def cells(text: str) -> Iterator[tuple[int, int, bool]]:
    """Start and end of what a table has under such a word, or (True) beside it."""
    columns: list[int] = []
    before: tuple[int, str] | None = None
    at = 0
    for line in text.split("\n"):
        if "|" not in line or len(line) > _WIDEST:
            columns = []
            beside = before
            before = None
        elif before is not None and _RULED.fullmatch(" ".join(line.lstrip(" \t>").split())):
            columns = [
                number for number, (_, cell) in enumerate(_row(*before)) if _CELL.fullmatch(cell)
            ]
            beside = before = None
        else:
            beside, before = before, (at, line)
            for number, (start, cell) in enumerate(_row(at, line)):
                if number in columns and (found := _BARE.fullmatch(cell)):
                    yield start + found.start(1), start + found.end(1), False
        if beside is not None:
            yield from _pairs(*beside)
        at += len(line) + 1
    if before is not None:
        yield from _pairs(*before)


def _row(at: int, line: str) -> list[tuple[int, str]]:
    """Each cell with its place."""
    edge = len(line) - len(line.lstrip(" \t>|"))
    found, start = [], edge
    for cell in line[edge:].split("|"):
        found.append((at + start, cell))
        start += len(cell) + 1
    return found


def _pairs(at: int, line: str) -> Iterator[tuple[int, int, bool]]:
    row = _row(at, line)
    for (_, name), (start, cell) in pairwise(row):
        if _CELL.fullmatch(name) and (found := _BARE.fullmatch(cell)):
            yield start + found.start(1), start + found.end(1), True
