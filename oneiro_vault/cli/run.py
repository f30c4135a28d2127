"""Run a command line, here or inside the owner: whatever happens is output, errors and an exit
code."""

from __future__ import annotations

import errno
import io
import os
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from oneiro_vault.cli import output, session, terminal
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import oneiro
from oneiro_vault.cli.output import ElsewhereError, Output
from oneiro_vault.daemon import client, protocol
from oneiro_vault.errors import InvalidInput, OneiroError, bounded, shown
from oneiro_vault.settings import locations

FAULT = 70
Answer = tuple[int, bytes, bytes]


def run(args: Sequence[str]) -> int:
    """Run a command line in this process; returns the exit code."""
    try:
        cwd = str(Path.cwd())
    except OSError:
        cwd = "/"
    request = protocol.Request(list(args), cwd, dict(os.environ), terminal.here())
    return _emitted(execute(Face(request, session.VaultSession)))


def _emitted(answer: Answer) -> int:
    code, out, err = answer
    terminal.emit(terminal.ERR, err)
    terminal.emit(terminal.OUT, out)
    return code


def inside(
    root: Path, call: Callable[..., Any], record: Mapping[str, Any]
) -> Callable[[protocol.Request], Answer]:
    """The owner's way to run command lines for clients, for the one vault it owns."""

    def runner(request: protocol.Request) -> Answer:
        home = root, session.HomeSession(call, record, request.env)
        return execute(Face(request, session.VaultSession, home=home))

    return runner


def execute(face: Face) -> Answer:
    """Exit code, output and errors. Raises only KeyboardInterrupt and BrokenPipeError."""
    wants_json = "--json" in face.request.argv
    try:
        words = list(face.request.argv)
        found = oneiro.main(words, prog_name="oneiro", standalone_mode=False, obj=face)
        if face.draft is not None:
            face.draft.unlink(missing_ok=True)
        return _rendered(face, found)
    except ElsewhereError:
        return protocol.ELSEWHERE, b"", b""
    except click.exceptions.NoArgsIsHelpError as error:
        return 2, b"", terminal.encode(error.format_message() + "\n")
    except click.UsageError as error:
        return _usage(error, wants_json)
    except (click.Abort, KeyboardInterrupt):
        raise KeyboardInterrupt from None
    except OneiroError as error:
        if face.draft is not None and face.draft.exists() and face.draft.stat().st_size:
            error.kept = f"{error.kept} What you wrote is in {face.draft}".strip()
        return _error(error, face.json or wants_json)
    except (BrokenPipeError, SystemExit):  # click turns a closed pipe into an exit
        raise BrokenPipeError from None
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            return FAULT, b"", terminal.encode(_fault(error, face))
        text = f"{shown(error.filename, 120)} is longer than a path can be"
        what = InvalidInput(text, kept="Your notes are as they were.")
        return _error(what, face.json or wants_json)
    except Exception as error:
        return FAULT, b"", terminal.encode(_fault(error, face))
    finally:
        face.close()


def _rendered(face: Face, found: object) -> Answer:
    if not isinstance(found, Output):  # --help, --version: click has printed
        return found if isinstance(found, int) else 0, b"", b""
    note = f"vault: {face.root}\n" if face.verbose else ""
    note += f"{found.note}\n" if found.note else ""
    note += "".join(f"{output.line(text)}\n" for text in found.data.get("notices", ()))
    text = found.text and output.settled(found.text.rstrip("\n")) + "\n"
    text = output.as_json(found.data) if face.json else text
    return found.code, terminal.encode(text), terminal.encode(output.settled(note))


def _usage(error: click.UsageError, wants_json: bool) -> Answer:
    if wants_json:
        return _error(InvalidInput(error.format_message(), hint="`oneiro --help`"), True)
    text = io.StringIO()
    error.show(file=text)
    return 2, b"", terminal.encode(output.safe(bounded(text.getvalue())))


def _error(error: OneiroError, wants_json: bool) -> Answer:
    if wants_json:
        return error.exit_code, terminal.encode(output.error_json(error)), b""
    return error.exit_code, b"", terminal.encode(output.error_text(error))


def report_lost(args: Sequence[str], owner: Mapping[str, str]) -> int:
    """Say that the owner vanished under a change."""
    return _emitted(_error(session.lost(" ".join(args)[:60], owner), "--json" in args))


def _fault(error: Exception, face: Face) -> str:
    """A calm line about a fault of ours; the traceback goes to a log."""
    if isinstance(error, client.FaultError):
        owner = face.session(start=False).owner()
        log = owner["log"] if owner else "the owner's log"
    else:
        log = _write_fault(error, face)
    what = output.line(str(error))[:200]
    head = f"oneiro: a fault of ours: {type(error).__name__}: {what}"
    return f"{head}\n  safe: Your notes are as they were.\n  next: The details are in {log}\n"


def _write_fault(error: Exception, face: Face) -> str:
    head = f"\n{time.strftime('%Y-%m-%dT%H:%M:%S%z')} pid {os.getpid()}\n"
    text = head + "".join(traceback.format_exception(error))
    for folder in _log_folders(face):
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            path = folder / "errors.log"
            with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
            return str(path)
    return "(no log could be written)"


def _log_folders(face: Face) -> list[Path]:
    found = [Path(tempfile.gettempdir()) / f"oneiro-{os.getuid()}"]
    with suppress(Exception):
        found.insert(0, Path(locations.log_file(locations.index_dir(str(face.root)))).parent)
    return found
