"""Secrets are found before anything is committed: the history is append-only, so what went in
cannot be taken back.

Two sources: `vault.secrets.credentials`, and the detectors of detect-secrets, which are loaded (.2
s, 20 MB) only for a text that holds something long enough to be one. Only their patterns are used;
nothing is ever asked of the services themselves. What is in history already is no news, so that a
note with an old secret can still be changed, archived or forgotten.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib import import_module
from typing import Final

from oneiro_vault.errors import OneiroError, SecretFound
from oneiro_vault.vault.change import Change, Operation, Write
from oneiro_vault.vault.secrets import credentials
from oneiro_vault.vault.secrets.credentials import Found

MODES: Final = ("block", "redact", "off")
"""What happens to a secret in what is about to be written: refused, taken out, nothing."""
REMOVED: Final = "[secret removed]"
_KEPT: Final = "Nothing was written."
_LONG: Final = re.compile(r"[A-Za-z0-9_-]{20,}")
_SHORTEST: Final = 16
_WINDOW: Final = 4_000
_OVERLAP: Final = 1_000
"""No key and its name are longer."""
TEXT: Final = tuple(
    ".md .jsonl .toml .txt .json .yml .yaml .csv .org .canvas .env .ini .cfg .sh .py".split()
)
"""How the names of texts end: looked at even with a NUL in them."""
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BEGINNING: Final = 8192
"""Bytes in which a NUL makes it no text."""
_LARGEST: Final = 4_000_000
"""Bytes that are looked at of a file that is no note and no table (1 MB: half a second)."""
_DETECTORS: Final = (
    "artifactory aws azure_storage_key cloudant discord github_token gitlab_token ibm_cloud_iam "
    "ibm_cos_hmac mailchimp npm openai pypi_token sendgrid slack softlayer square_oauth stripe "
    "telegram_token twilio"
).split()
"""Left out: keywords, entropy and public addresses (they fire on prose and hashes), and three that
`credentials` does better, since they do not say where a secret ends."""


@dataclass(frozen=True, slots=True)
class Secret:
    """What it is, in which line, and the hash by which a person may allow it. Never the secret
    itself."""

    kind: str
    line: int
    sha256: str


class Secrets:
    """`mode` is one of MODES, `allowed` the sha256 of what looks like a secret and is none."""

    def __init__(self, mode: str = "block", allowed: Collection[str] = ()) -> None:
        self.mode = mode
        self._allowed = frozenset(mark.lower() for mark in allowed)

    def find(self, text: str) -> list[Secret]:
        """Every secret of a text that nobody allowed, whatever the mode."""
        return [
            Secret(one.kind, text.count("\n", 0, one.start) + 1, _mark(text, one))
            for one in self._spans(text)
        ]

    def inside(self, path: str, data: bytes) -> list[Secret]:
        """Those of a file and of its name; what is no text (a picture) has none."""
        if path.lower().endswith(TEXT):
            return self.find(path) + self.find(_text(data))
        return self.find(path) + ([] if _picture(data) else self.find(_text(data[:_LARGEST])))

    def cleaned(self, text: str) -> str:
        """The text without its secrets, unless the mode is `off`."""
        return self._cut(text) if self.mode != "off" else text

    def shown(self, data: bytes) -> bytes:
        """The bytes of a note without its secrets, as it is recalled, unless the mode is `off`."""
        text = data.decode("utf-8", "surrogateescape")
        left = self.cleaned(text)
        return data if left == text else left.encode("utf-8", "surrogateescape")

    def redacted(self, text: str) -> str:
        """The text without its secrets when the mode is `redact`."""
        return self._cut(text) if self.mode == "redact" else text

    def new(self, path: str, data: bytes, before: Iterable[bytes]) -> list[Secret]:
        """Secrets of a file that none of its earlier texts has; nothing when the mode is `off`."""
        found = self.inside(path, data) if self.mode != "off" else []
        if not found:
            return []
        known = {one.sha256 for text in before for one in self.find(_text(text))}
        return [one for one in found if one.sha256 not in known]

    def of_person(
        self, ready: Mapping[str, bytes | None], head: Callable[[str], bytes]
    ) -> dict[str, list[Secret]]:
        """Path -> new secrets of what a person left on disk (None = deleted); `head` as in
        `screened`."""
        gone = [path for path, data in ready.items() if data is None]
        pairs = (
            (path, self.new(path, data, map(head, [path, *gone])))
            for path, data in ready.items()
            if data
        )
        return {path: found for path, found in pairs if found}

    def screened(
        self,
        changes: Sequence[Change],
        operation: Operation,
        head: Callable[[str], bytes],
        refused: dict[int, OneiroError] | None = None,
    ) -> tuple[list[Change], Operation]:
        """The changes and what the commit says of them, as they may be written. `head`: path ->
        what history has there, b"" for nothing.

        Raises SecretFound for a new secret, or notes it in `refused` by its position, unless the
        mode is `redact`; then it is taken out of texts (one in a name is refused).
        """
        if self.mode == "off":
            return list(changes), operation
        done = list(changes)
        for position, change in enumerate(changes):
            if refused and position in refused:
                continue
            try:
                if isinstance(change, Write):
                    done[position] = self._screened(change, changes, head)
            except SecretFound as error:
                if refused is None:
                    raise
                refused.setdefault(position, error)
        return done, self._said(operation)

    def _screened(
        self, change: Write, changes: Sequence[Change], head: Callable[[str], bytes]
    ) -> Write:
        before: list[bytes] = []
        files = [(change.path, change.data), *([change.proposal] if change.proposal else [])]
        found = [one for path, data in files for one in self.new(path, data, ())]
        if found:  # most texts have none, and history need not be asked
            before = [text for other in changes if (text := head(other.path))]
            found = [one for path, data in files for one in self.new(path, data, before)]
        if not found:
            return change
        if self.mode == "block" or any(
            self.find(path) or not is_utf8(data) for path, data in files
        ):
            raise refusal(
                "the text", found
            )  # its path may be made of its words; and what is no UTF-8 is not rewritten
        known = {one.sha256 for text in before for one in self.find(_text(text))}
        cut = [
            (path, self._cut(data.decode("utf-8", "replace"), known).encode())
            for path, data in files
        ]
        return replace(change, data=cut[0][1], proposal=cut[1] if change.proposal else None)

    def _said(self, operation: Operation) -> Operation:
        """The title is taken from a note whose text was looked at; the reason is said."""
        found = self.find(operation.reason)
        if found and self.mode == "block":
            raise refusal("the reason", found)
        return replace(
            operation, title=self._cut(operation.title), reason=self._cut(operation.reason)
        )

    def _cut(self, text: str, known: Collection[str] = ()) -> str:
        for one in reversed(self._spans(text)):
            if _mark(text, one) not in known:
                text = text[: one.start] + REMOVED + text[one.end :]
        return text

    def _spans(self, text: str) -> list[Found]:
        found = credentials.find(text, _known)
        return (
            [one for one in found if _mark(text, one) not in self._allowed]
            if self._allowed
            else found
        )


OFF: Final = Secrets("off")
"""Nothing is looked for: a vault that is opened without settings."""


def refusal(where: str, found: Sequence[Secret]) -> SecretFound:
    """The error that says what was found, and where, and not one character of it."""
    return SecretFound(
        f"{where} holds what looks like {told(found)}, and history could never lose it again",
        kept=_KEPT,
        hint="Say it without the secret, and where that is kept. If it is none, a person can "
        "allow it in oneiro.toml, and agree by `oneiro trust`: "
        f"secrets.allowed = {quoted(found)}",
    )


def told(found: Sequence[Secret]) -> str:
    """`a GitHub token`, `a password and 2 more`."""
    kind, more = found[0].kind, len({one.sha256 for one in found}) - 1
    return f"{'an' if kind[0] in 'aeioAEIO' else 'a'} {kind}" + (
        f" and {more} more" if more else ""
    )


def quoted(found: Iterable[Secret]) -> str:
    """What to add to `secrets.allowed`, as TOML."""
    return '"' + " ".join(dict.fromkeys(one.sha256 for one in found)) + '"'


def _mark(text: str, one: Found) -> str:
    return sha256(text[one.start : one.end].encode("utf-8", "replace")).hexdigest()


def _picture(data: bytes) -> bool:
    return b"\0" in data[:_BEGINNING] and not data.startswith(_UTF16)


def is_utf8(data: bytes) -> bool:
    """Is it text in UTF-8?"""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _text(data: bytes) -> str:
    return data.decode("utf-16" if data.startswith(_UTF16) else "utf-8", "replace")


def _known(text: str) -> Iterator[Found]:
    for first, last in _lines(text):
        for kind, patterns in _library().items():
            for pattern in patterns:
                for match in pattern.finditer(text, first, last):
                    start, end = _secret_of(match)
                    if end - start >= _SHORTEST and credentials.plausible(text[start:end]):
                        yield Found(kind, start, end)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Lines with a long, mixed word, in windows: one of the patterns takes the square of what it
    sees."""
    last = -1
    for match in _LONG.finditer(text):
        if match.start() > last and _mixed(match[0]):
            first, last = _line_around(text, match.start())
            for start in range(first, max(first + 1, last - _OVERLAP), _WINDOW):
                yield start, min(start + _WINDOW + _OVERLAP, last)


def _line_around(text: str, place: int) -> tuple[int, int]:
    end = text.find("\n", place)
    return text.rfind("\n", 0, place) + 1, len(text) if end < 0 else end


def _mixed(word: str) -> bool:
    return not word.isalpha() and any(c.isdigit() for c in word) and any(c.isalpha() for c in word)


def _secret_of(match: re.Match[str]) -> tuple[int, int]:
    """The longest part of a match that is long enough, else all of it."""
    parts = [match.span(number) for number in range(1, match.re.groups + 1)]
    return max(
        (part for part in parts if part[1] - part[0] >= _SHORTEST),
        key=lambda part: part[1] - part[0],
        default=match.span(),
    )


@cache
def _library() -> Mapping[str, tuple[re.Pattern[str], ...]]:
    from detect_secrets.plugins.base import RegexBasedDetector

    found: dict[str, tuple[re.Pattern[str], ...]] = {}
    for name in _DETECTORS:
        for one in vars(import_module(f"detect_secrets.plugins.{name}")).values():
            if (
                isinstance(one, type)
                and issubclass(one, RegexBasedDetector)
                and one is not RegexBasedDetector
            ):
                # declared as a property, always a class's list
                found[str(one.secret_type)] = tuple(one.denylist)  # type: ignore[arg-type]
    return found
