"""The schedule in the hands of systemd, launchd or cron, which start `oneiro dream --scheduled` at
its times: it does only what is due, so nothing runs twice beside an owner."""

from __future__ import annotations

import plistlib
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from oneiro_vault import answers
from oneiro_vault.errors import InvalidInput, OneiroError

_KEPT: Final = "Nothing was installed."


@dataclass(frozen=True)
class Timer:
    """What the system is to start for one vault, and when (local times `HH:MM`)."""

    root: Path
    program: tuple[str, ...]
    times: tuple[str, ...]
    env: Mapping[str, str]

    @property
    def name(self) -> str:
        """The same for the same vault, different for any other."""
        root = str(self.root).encode("utf-8", "surrogateescape")
        return f"oneiro-dream-{sha256(root).hexdigest()[:8]}"

    @property
    def command(self) -> list[str]:
        """What is started."""
        return [*self.program, "--vault", str(self.root), "dream", "--scheduled"]

    def files(self, kind: str) -> dict[Path, bytes]:
        """The files of a kind of timer; none for cron."""
        home = Path(self.env.get("HOME", "~")).expanduser()
        if kind == "systemd":
            folder = Path(self.env.get("XDG_CONFIG_HOME") or home / ".config") / "systemd" / "user"
            return {
                folder / f"{self.name}.service": self._service(),
                folder / f"{self.name}.timer": self._timer(),
            }
        return (
            {home / "Library" / "LaunchAgents" / f"{self.name}.plist": self._plist()}
            if kind == "launchd"
            else {}
        )

    def _service(self) -> bytes:
        words = " ".join(_systemd(word) for word in self.command)
        return (
            f"[Unit]\nDescription=Dreams of {self.root.name}\n\n[Service]\nType=oneshot\nNice=10\n"
            f"ExecStart={words}\n"
        ).encode()

    def _timer(self) -> bytes:
        at = "".join(f"OnCalendar=*-*-* {time}:00\n" for time in self.times)
        what = f"[Unit]\nDescription=Dreams of {self.root.name}\n\n[Timer]\n{at}Persistent=true\n"
        return f"{what}\n[Install]\nWantedBy=timers.target\n".encode()

    def _plist(self) -> bytes:
        at = [{"Hour": int(time[:2]), "Minute": int(time[3:])} for time in self.times]
        return plistlib.dumps(
            {"Label": self.name, "ProgramArguments": self.command, "StartCalendarInterval": at}
        )

    def lines(self) -> list[str]:
        """Lines of a crontab."""
        words = shlex.join(self.command).replace("%", r"\%")
        return [
            f"{int(time[3:])} {int(time[:2])} * * * {words} # {self.name}" for time in self.times
        ]


def kind_here(env: Mapping[str, str]) -> str:
    """The kind of timer this machine has. Raises InvalidInput when it has none we know."""
    path = env.get("PATH", "")
    if sys.platform == "darwin":
        return "launchd"
    if shutil.which("systemctl", path=path) and Path("/run/systemd/system").is_dir():
        return "systemd"
    if shutil.which("crontab", path=path):
        return "cron"
    hint = (
        "Let what you have start `oneiro dream --scheduled` at these times; an owner that stays "
        "(`oneiro serve`) needs none."
    )
    raise InvalidInput("this machine has no systemd, launchd or cron", kept=_KEPT, hint=hint)


def install(timer: Timer, kind: str) -> answers.Timer:
    """Put the timer in place and start it. Raises OneiroError saying what the system said."""
    if not timer.times:
        raise InvalidInput(
            "the schedule is empty", kept=_KEPT, hint="Set dreams.schedule in oneiro.toml."
        )
    remove(timer, kind)
    for path, data in timer.files(kind).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    if kind == "systemd":
        _run(timer, "systemctl", "--user", "daemon-reload")
        _run(timer, "systemctl", "--user", "enable", "--now", f"{timer.name}.timer")
    elif kind == "launchd":
        _run(timer, "launchctl", "load", "-w", *map(str, timer.files(kind)))
    else:
        _put_crontab(timer, [*_crontab(timer), *timer.lines()])
    return shown(timer, kind)


def remove(timer: Timer, kind: str) -> answers.Timer:
    """Take the timer away; one that is not there is no mistake."""
    there = [path for path in timer.files(kind) if path.exists()]
    if kind == "cron":
        lines = _crontab(timer)
        kept = [line for line in lines if not line.endswith(f"# {timer.name}")]
        if len(kept) != len(lines):
            _put_crontab(timer, kept)
    elif there and kind == "systemd":
        _run(timer, "systemctl", "--user", "disable", "--now", f"{timer.name}.timer")
    elif there:
        _run(timer, "launchctl", "unload", "-w", *map(str, there))
    for path in there:
        path.unlink(missing_ok=True)
    if there and kind == "systemd":
        _run(timer, "systemctl", "--user", "daemon-reload")
    return shown(timer, kind)


def shown(timer: Timer, kind: str) -> answers.Timer:
    """What is in place now."""
    files = {str(path): path.exists() for path in timer.files(kind)}
    there = (
        any(line.endswith(f"# {timer.name}") for line in _crontab(timer))
        if kind == "cron"
        else bool(files) and all(files.values())
    )
    return {
        "kind": kind,
        "name": timer.name,
        "installed": there,
        "files": list(files),
        "command": timer.command,
    }


def _systemd(word: str) -> str:
    escaped = re.sub(r'(["\\])', r"\\\1", word).replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _crontab(timer: Timer) -> list[str]:
    done = subprocess.run(
        ["crontab", "-l"],
        env=dict(timer.env),
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    return done.stdout.splitlines() if done.returncode == 0 else []


def _put_crontab(timer: Timer, lines: Sequence[str]) -> None:
    _run(timer, "crontab", "-", given="".join(f"{line}\n" for line in lines))


def _run(timer: Timer, *command: str, given: str | None = None) -> None:
    try:
        done = subprocess.run(
            command,
            env=dict(timer.env),
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        text, hint = (
            f"{command[0]} cannot be run: {error}",
            "`oneiro schedule` shows what to start by other means.",
        )
        raise OneiroError(text, kept="Notes are untouched.", hint=hint) from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[:300]
        raise OneiroError(
            f"{' '.join(command[:3])} failed: {said}",
            kept="Notes are untouched.",
            hint="`oneiro schedule remove` takes back what was written.",
        )
