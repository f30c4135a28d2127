"""Who judges: a name becomes a judge within the ceilings of a run; and how the loops of a vault
fare on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from oneiro_vault import answers
from oneiro_vault.errors import DiskProblem, InvalidInput, OneiroError, SettingsError, shown
from oneiro_vault.judges import command as programs
from oneiro_vault.judges import deferred
from oneiro_vault.judges.base import Judge, Patience
from oneiro_vault.judges.budget import Budgeted, Ceilings, Spent
from oneiro_vault.judges.command import CommandJudge
from oneiro_vault.judges.deferred import NAME, ChainJudge, DeferredJudge, Nobody, SamplingJudge
from oneiro_vault.operations.runtime import Dreams
from oneiro_vault.settings.definitions import JUDGES, Settings

QUESTIONS: Final = "questions"
"""Folder beside the journal where questions wait for the connected model or a person."""
_TITLES: Final = {
    "auto": "rules; what they leave open waits for the connected model",
    "offline": "rules",
    "deferred": "the connected model, or you",
    "sampling": "the model of a client that lets servers ask",
    "none": "nobody",
}
_KEPT: Final = "Nothing was asked and nothing was changed."
_NO_MODEL: Final = ("offline", DeferredJudge.name, Nobody.name)
_TODAY: Final = "asked.json"
"""The `day` and what was `_COUNTED` on it."""
_COUNTED: Final = ("calls", "tokens_in", "tokens_out", "cost", "estimated")


def folder(dreams: Dreams) -> Path:
    """Where questions wait."""
    return dreams.folder / QUESTIONS


@dataclass(frozen=True)
class Choice:
    """Who judges: `name` (`auto` when rules answer and the rest waits), `title` for people,
    `ready`: can it be asked at any time, `problem`: why what the settings name before it cannot be
    had."""

    name: str
    title: str
    ready: bool = False
    problem: str = ""

    def data(self) -> answers.JudgeState:
        """For an answer."""
        return {
            "name": self.name,
            "title": self.title,
            "ready": self.ready,
            "problem": self.problem,
        }


def choice(settings: Settings, env: Mapping[str, str]) -> Choice:
    """Who answers by the settings. `auto`: an API's model or a program that a person of this
    machine has set."""
    name, command = str(settings["dreams.judge"]), str(settings["dreams.command"])
    model = _models(settings).get("", "")
    problem = ""
    if name == "auto" and model:
        vendor = (
            "anthropic" if model.startswith("claude") and not settings["dreams.url"] else "openai"
        )
        problem = _no_api(vendor, settings, env)
        name = "auto" if problem else vendor
    if name == "auto" and command:
        missing = _no_program(command, env)
        problem = problem or missing
        name = "auto" if missing else "command"
    if name in ("anthropic", "openai"):
        where = settings["dreams.url"] or programs.PROVIDERS[name]
        return Choice(name, f"the model {model} ({where})", True, problem)
    if name == "command":
        known = programs.known(command)
        title = programs.PROGRAMS[known].title if known else "a program"
        return Choice(name, f"{title} ({command})", True, problem or _no_program(command, env))
    return Choice(name, _TITLES[name], False, problem)


def offer(own: str, settings: Settings, env: Mapping[str, str]) -> str:
    """The question whether the program that is found, first the client's `own`, may judge; "" when
    somebody judges already or none is found."""
    there, name = _installed(own, env)
    if not name or choice(settings, env).ready:
        return ""
    most = settings["dreams.calls"], settings["dreams.soon"]
    return (
        f"May {programs.PROGRAMS[name].title} ({there[name]}) judge what is worth remembering,"
        f" without tools, at most {most[0]} calls a night and {most[1]} a day?"
    )


def waits(settings: Settings, env: Mapping[str, str]) -> bool:
    """Do questions wait for the connected model, as things are set?"""
    return choice(settings, env).name in (ChainJudge.name, DeferredJudge.name)


def to_set(wanted: str | None, own: str, env: Mapping[str, str]) -> dict[str, str]:
    """The settings that make a program the judge: `wanted` by name or command line, "" what is
    found, first the client's `own`; "no": the connected model; None sets nothing. Raises
    InvalidInput when there is none."""
    if wanted is None:
        return {}
    if wanted == "no":
        return {"mcp.tools": "dreams"}
    there, name = _installed(own, env)
    command = there.get(wanted or name, wanted)
    if (
        missing := _no_program(command, env)
        if command
        else f"none of {', '.join(programs.PROGRAMS)} is on the PATH"
    ):
        raise InvalidInput(
            missing, kept="Nothing was written.", hint="Name a program: --judge PROGRAM."
        )
    return {"dreams.command": command}


def _installed(own: str, env: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """(name -> path, the one to take)."""
    there = programs.found(env.get("PATH", ""))
    return there, own if own in there else next(iter(there), "")


def problem(settings: Settings, dreams: Dreams) -> str:
    """What the settings name and nobody can ask, "" when nothing."""
    return "" if dreams.judges is not None else choice(settings, os.environ).problem


def _no_api(vendor: str, settings: Settings, env: Mapping[str, str]) -> str:
    """ "" when it can be asked, as far as is known without loading its SDK."""
    if find_spec(vendor) is None:
        return f"the package of {vendor} is not installed (pip install 'oneiro-vault[judges]')"
    try:
        key = _key(settings["dreams.key_file"])
    except OneiroError as error:
        return str(error)
    own = vendor == "openai" and settings["dreams.url"]
    known = any(env.get(f"{vendor.upper()}_{kind}") for kind in ("API_KEY", "AUTH_TOKEN"))
    return (
        ""
        if key or own or known
        else f"there is no key for {programs.PROVIDERS[vendor]} (dreams.key_file)"
    )


def _no_program(command: str, env: Mapping[str, str]) -> str:
    try:
        CommandJudge(command, env=env).close()
    except FileNotFoundError as error:
        return f"{error} (dreams.command)"
    return ""


def judge(
    settings: Settings, dreams: Dreams, name: str | None, calls: int | None = None
) -> Budgeted:
    """The judge called `name`, else the one in the settings, within the ceilings of one run
    (`calls`: of all its runs). Where `auto` asks a model that cannot be reached, the rules
    answer."""
    wanted, s = name or settings["dreams.judge"], settings
    patience = Patience(dreams.cancel.is_set, s["dreams.minutes"])
    asks = dreams.judges is None and wanted == "auto" and calls is None
    found = _within(settings, dreams, wanted, patience, calls)
    found.fallback = _offline() if asks and choice(s, os.environ).ready else None
    return found


def _within(
    s: Settings, dreams: Dreams, name: str, patience: Patience, calls: int | None = None
) -> Budgeted:
    made = dreams.judges(name) if dreams.judges is not None else None
    price_in, price_out = _prices(s) or (0.0, 0.0)
    ceilings = Ceilings(
        calls=s["dreams.calls"],
        together=calls or 0,
        tokens=s["dreams.tokens"],
        cost=s["dreams.spend"],
        price_in=price_in,
        price_out=price_out,
    )
    return Budgeted(made or _made(name, s, dreams, patience), ceilings, patience)


def model(settings: Settings, dreams: Dreams, day: str, seconds: float) -> Budgeted:
    """A model that answers a question at once, for `seconds`, within the ceilings of one run, which
    all that is asked so on one `day` makes up. Raises InvalidInput where there is none: rules
    choose nothing, and nobody waits for who answers later."""
    name = str(settings["dreams.judge"])
    found = choice(settings, os.environ)
    if dreams.judges is None:
        name = found.name
        if name == NAME and dreams.sample is not None:
            name = SamplingJudge.name
    if name in _NO_MODEL or (name == NAME and dreams.judges is None):
        said = "neither dreams.model nor dreams.command is set"
        raise InvalidInput(found.problem or (said if name == NAME else f"dreams.judge is {name}"))
    made = _within(settings, dreams, name, Patience(minutes=seconds / 60))
    made.begin()
    made.spent = Spent(**_on(dreams, day))
    return made


def asked(dreams: Dreams, day: str, before: Spent, spent: Spent) -> None:
    """Keep what a `model` was asked between two moments of a day."""
    counts = {
        one: number + getattr(spent, one) - getattr(before, one)
        for one, number in _on(dreams, day).items()
    }
    with suppress(DiskProblem):
        dreams.note(_TODAY, {"day": day} | counts, "what a model was asked")


def _on(dreams: Dreams, day: str) -> dict[str, Any]:
    found = dreams.noted(_TODAY)
    known = found if found.get("day") == day else {}
    numbers = {one: known.get(one) for one in _COUNTED}
    return {one: n if isinstance(n, int | float) and n > 0 else 0 for one, n in numbers.items()}


def _made(name: str, settings: Settings, dreams: Dreams, patience: Patience) -> Judge:
    if name == "auto":
        name = choice(settings, os.environ).name
    if name == "auto":
        sampling = [SamplingJudge(dreams.sample, patience)] if dreams.sample is not None else []
        return ChainJudge([*sampling, _offline()], DeferredJudge(folder(dreams)))
    if name == "none":
        return Nobody()
    if name == "deferred":
        return DeferredJudge(folder(dreams))
    if name == "sampling":
        return SamplingJudge(dreams.sample, patience)
    if name == "offline":
        return _offline()
    if name == "command":
        return _command(settings, patience)
    if name not in JUDGES:
        raise InvalidInput(
            f"there is no judge {shown(name)}", kept=_KEPT, hint=f"One of: {', '.join(JUDGES)}."
        )
    return _api(name, settings, patience)


def _offline() -> Judge:
    from oneiro_vault.judges.offline import OfflineJudge

    return OfflineJudge()


def _command(settings: Settings, patience: Patience) -> Judge:
    if not settings["dreams.command"]:
        hint = (
            "Set dreams.command in the machine's settings, or let `oneiro setup CLIENT` find one."
        )
        raise SettingsError("the judge command needs a program", kept=_KEPT, hint=hint)
    try:
        return CommandJudge(settings["dreams.command"], waiting=patience)
    except FileNotFoundError as error:
        raise InvalidInput(
            f"{error} (dreams.command)", kept=_KEPT, hint="Install it, or give its full path."
        ) from error


def _api(name: str, settings: Settings, patience: Patience) -> Judge:
    if not settings["dreams.model"]:
        raise SettingsError(
            f"the judge {name} needs a model",
            kept=_KEPT,
            hint="Set dreams.model in the machine's settings.",
        )
    if settings["dreams.spend"] and not _prices(settings):
        raise SettingsError(
            "dreams.spend is a ceiling that nothing is counted for without dreams.prices",
            kept=_KEPT,
            hint="Set dreams.prices in the machine's settings, such as `3 15`.",
        )
    models = _models(settings)

    def model(stage: str) -> str:
        return models.get(stage) or models[""]

    from oneiro_vault.judges.model_api import AnthropicJudge, OpenAIJudge

    key = _key(settings["dreams.key_file"])
    kind = AnthropicJudge if name == "anthropic" else OpenAIJudge
    try:
        return kind(model, api_key=key, base_url=settings["dreams.url"] or None, waiting=patience)
    except ImportError as error:
        text = f"the package of {name} is not installed"
        raise InvalidInput(text, kept=_KEPT, hint="pip install 'oneiro-vault[judges]'") from error
    except Exception as error:  # a vendor's SDK says in its own way that no key was found
        hint = "Set dreams.key_file, or the provider's own variable."
        raise InvalidInput(
            f"{name} cannot be asked: {str(error)[:200]}", kept=_KEPT, hint=hint
        ) from error


def _models(settings: Settings) -> dict[str, str]:
    """Stage -> the model that is asked in it; that of all others stands at ""."""
    parts = [part.rpartition("=") for part in settings["dreams.model"].split()]
    return {stage: model for stage, _, model in parts}


def _prices(settings: Settings) -> tuple[float, ...]:
    """Of a million tokens that are read, and of as many that are written; () where none are set."""
    return tuple(float(price) for price in settings["dreams.prices"].split())


def _key(place: str) -> str | None:
    if not place:
        return None
    path = Path(place).expanduser()
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"dreams.key_file: {path} cannot be read", kept=_KEPT, hint="Put the API key into it."
        ) from error


_FILE: Final = "last-dream.json"
"""`ended`, `did` and why something was `unasked` of the last run, `answered` of the last in which
somebody judged (RFC 3339)."""
_RULES: Final = ("", "offline", "none")


def standing(settings: Settings, dreams: Dreams, captures: int) -> answers.DreamState:
    """`judge`: who answers (`Choice`); `captures`, and the `questions` that wait; the last run and
    answer."""
    known, judge = dreams.noted(_FILE), choice(settings, os.environ)
    return {
        "judge": judge.data(),
        "captures": captures,
        "questions": len(deferred.waiting(folder(dreams))),
        "ended": known.get("ended"),
        "did": known.get("did", []),
        "unasked": known.get("unasked", []),
        "answered": known.get("answered"),
    }


def note(dreams: Dreams, rows: Sequence[answers.Run], ended: str) -> None:
    """Keep what these runs did; a night on which nothing was to do is a run too."""
    judges = {one["judge"] for row in rows for one in row["decisions"]} | {
        row["judge"] for row in rows if row["calls"]
    }
    known = dreams.noted(_FILE) | {"ended": ended, "did": [row["title"] for row in rows]}
    why = [one["problem"] for row in rows for one in row["unasked"]]
    known["unasked"] = list(dict.fromkeys(why))
    if judges - {*_RULES, "auto"}:
        known["answered"] = ended
    with suppress(DiskProblem):
        dreams.note(_FILE, known, "what the loops did")
