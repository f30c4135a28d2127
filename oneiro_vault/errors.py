"""Every error a person or a model can meet, as one tree; a class has its exit code and its HTTP
status.

A message says what happened; `kept` what is safe; `hint` what to do next.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False  # the bridge answers sooner by what `typing` takes to load
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import ClassVar, Final

_LONGEST: Final = 2000
_RUN: Final = re.compile(r"\S{301,}")


def shown(value: object, limit: int = 60) -> str:
    """What somebody gave us, as a message may repeat it: quoted, on one line, its middle left out
    when it is longer than `limit`."""
    text = str(value)
    return repr(
        text if len(text) <= limit else f"{text[: limit - limit // 3]}…{text[-(limit // 3) :]}"
    )


def few(names: Sequence[str], most: int = 3) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def bounded(text: str) -> str:
    """A message nobody has to scroll through, whatever was quoted in it."""
    text = _RUN.sub(lambda run: f"{run[0][:200]}…{run[0][-60:]}", text)
    return text if len(text) <= _LONGEST else f"{text[:1400]} … {text[-400:]}"


class OneiroError(Exception):
    """Base of all our errors: `str(error)` is the message, `kept` and `hint` may be empty; none is
    ever longer than a screen."""

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, *, kept: str = "", hint: str = "") -> None:
        super().__init__(bounded(message))
        self.kept = bounded(kept)
        self.hint = bounded(hint)

    def to_dict(self) -> dict[str, str]:
        """The error as JSON-ready data: error (class name), message, kept, hint."""
        return {
            "error": type(self).__name__,
            "message": str(self),
            "kept": self.kept,
            "hint": self.hint,
        }


class InvalidInput(OneiroError):
    """The request itself cannot be carried out."""

    exit_code = 2
    http_status = 400


class SettingsError(InvalidInput):
    """A settings file or variable has a wrong type, value or name. `of_machine`: the file is this
    machine's own, not the vault's."""

    of_machine = False


class UnreadableNote(InvalidInput):
    """A file cannot be read as a note; its bytes stay as they are."""

    http_status = 422


class UnsafePath(InvalidInput):
    """A path leaves the vault or names something the tool never touches."""


class SecretFound(InvalidInput):
    """What is to be written holds a secret; history could never lose it again. Says what it is and
    where, not one character of it."""

    http_status = 422


class ForeignFile(InvalidInput):
    """Another program's settings file cannot be edited: broken, or with something of ours that is
    not ours; it stays as it is."""

    http_status = 422


class OAuthRefusal(InvalidInput):
    """A program asks for access that cannot be granted. `code` is OAuth's name for it;
    `location` where to send the browser with that, empty when it must not be sent anywhere."""

    def __init__(
        self,
        message: str,
        *,
        kept: str = "",
        hint: str = "",
        code: str = "invalid_request",
        location: str = "",
    ) -> None:
        super().__init__(message, kept=kept, hint=hint)
        self.code, self.location = code, location


class UnknownClient(OAuthRefusal):
    """The program is not known, or is not who it says it is."""

    http_status = 401


class NotFound(OneiroError):
    """No memory, commit or vault by that name."""

    exit_code = 3
    http_status = 404


class BeforeHistory(NotFound):
    """Nothing was known at that moment: the vault's history begins later."""


class VaultNotFound(NotFound):
    """No vault was named and none was found."""

    exit_code = 5


class AmbiguousId(OneiroError):
    """Several memories fit the id."""

    exit_code = 4
    http_status = 409


class StaleMemory(OneiroError):
    """The note changed since it was read."""

    exit_code = 6
    http_status = 409


class RepositoryBusy(OneiroError):
    """The repository is in the middle of something a person started."""

    exit_code = 7
    http_status = 409


class Brake(OneiroError):
    """Far too much would vanish at once, or notes were taken out of the history; nothing was
    done."""

    exit_code = 8
    http_status = 409


class LockTimeout(OneiroError):
    """Another program held a lock for too long."""

    exit_code = 9
    http_status = 503


class Elsewhere(LockTimeout):
    """It is another machine's to run loops, or it cannot be known whose. `later`: worth another try
    before the next time is due."""

    def __init__(
        self, message: str, *, kept: str = "", hint: str = "", later: bool = False
    ) -> None:
        super().__init__(message, kept=kept, hint=hint)
        self.later = later


class DiskProblem(OneiroError):
    """The disk is full, read-only or failing."""

    exit_code = 10
    http_status = 507


class GitProblem(OneiroError):
    """git is missing, too old or refused."""

    exit_code = 11


class Unreachable(GitProblem):
    """The other copy of the vault cannot be reached now."""

    http_status = 503


class IndexProblem(OneiroError):
    """An index cannot answer; the notes are untouched."""

    exit_code = 12
    http_status = 503


class IndexFull(DiskProblem, IndexProblem):
    """The disk is too full for an index to answer: even reading may want a page of room."""


class EmbedderProblem(IndexProblem):
    """No vectors can be computed: the model is missing, wrong or its process died."""


class OwnerProblem(OneiroError):
    """The owner process cannot be started or reached."""

    exit_code = 13
    http_status = 503


def all_errors() -> dict[str, type[OneiroError]]:
    """Class name -> class for the whole tree (used to rebuild an error that crossed a socket)."""
    found: dict[str, type[OneiroError]] = {}
    queue: list[type[OneiroError]] = [OneiroError]
    while queue:
        cls = queue.pop()
        found[cls.__name__] = cls
        queue.extend(cls.__subclasses__())
    return found


def from_dict(data: dict[str, str]) -> OneiroError:
    """Rebuild an error from `to_dict`; an unknown class becomes a plain OneiroError."""
    cls = all_errors().get(data.get("error", ""), OneiroError)
    return cls(
        data.get("message", "unknown error"), kept=data.get("kept", ""), hint=data.get("hint", "")
    )
