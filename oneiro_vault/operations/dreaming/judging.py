"""Who judges: a name becomes a judge within the ceilings of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from oneiro_vault.config import JUDGES, Settings
from oneiro_vault.errors import InvalidInput, SettingsError, shown
from oneiro_vault.judges.base import Judge
from oneiro_vault.judges.budget import Budgeted, Ceilings
from oneiro_vault.judges.deferred import DeferredJudge
from oneiro_vault.judges.nobody import Nobody
from oneiro_vault.judges.sampling import SamplingJudge
from oneiro_vault.judges.waiting import Patience
from oneiro_vault.operations.house import House

QUESTIONS: Final = "questions"
"""Folder beside the journal where questions wait for the connected model or a person."""
_KEPT: Final = "Nothing was asked and nothing was changed."


def folder(house: House) -> Path:
    """Where questions wait."""
    return house.vault.folder / QUESTIONS


def judge(house: House, name: str | None) -> Budgeted:
    """The judge called `name`, else the one in the settings, within the ceilings of one run."""
    wanted = house.settings["dreams.judge"] if name is None else name
    made = house.judges(wanted) if house.judges is not None else None
    s = house.settings
    ceilings = Ceilings(s["dreams.calls"], s["dreams.tokens"], s["dreams.spend"], s["dreams.price_in"], s["dreams.price_out"])
    patience = Patience(house.cancel.is_set, s["dreams.minutes"])
    return Budgeted(made or _made(wanted, house, patience), ceilings, patience)


def _made(name: str, house: House, patience: Patience) -> Judge:
    if name == "none":
        return Nobody()
    if name == "deferred":
        return DeferredJudge(folder(house))
    if name == "sampling":
        return SamplingJudge(house.sample, patience)
    if name == "offline":
        from oneiro_vault.judges.offline import OfflineJudge

        return OfflineJudge()
    if name not in JUDGES:
        raise InvalidInput(f"there is no judge {shown(name)}", kept=_KEPT, hint=f"One of: {', '.join(JUDGES)}.")
    return _api(name, house.settings, patience)


def _api(name: str, settings: Settings, patience: Patience) -> Judge:
    """A model's API; the vendor's SDK is an optional part of the installation."""
    if not settings["dreams.model"]:
        raise SettingsError(f"the judge {name} needs a model", kept=_KEPT, hint="Set dreams.model in the machine's settings.")
    models = stages(settings["dreams.models"])

    def model(stage: str) -> str:
        return models.get(stage) or str(settings["dreams.model"])

    options: dict[str, Any] = {
        "api_key": _key(settings["dreams.key_file"]),
        "base_url": settings["dreams.url"] or None,
        "waiting": patience,
    }
    try:
        if name == "anthropic":
            from oneiro_vault.judges.anthropic_api import AnthropicJudge

            return AnthropicJudge(model, batch=settings["dreams.batch"], **options)
        from oneiro_vault.judges.openai_api import OpenAIJudge

        return OpenAIJudge(model, **options)
    except ImportError as error:
        text = f"the package of {name} is not installed"
        raise InvalidInput(text, kept=_KEPT, hint="pip install 'oneiro-vault[judges]'") from error
    except Exception as error:  # a vendor's SDK says in its own way that no key was found
        hint = "Set dreams.key_file, or the provider's own variable."
        raise InvalidInput(f"{name} cannot be asked: {str(error)[:200]}", kept=_KEPT, hint=hint) from error


def stages(text: str) -> dict[str, str]:
    """`encode=small dialectic=large` as a mapping. Raises SettingsError."""
    found = {}
    for part in text.split():
        stage, sign, model = part.partition("=")
        if not (stage and sign and model):
            raise SettingsError(f"dreams.models: {shown(part)} is not stage=model", kept=_KEPT)
        found[stage] = model
    return found


def _key(place: str) -> str | None:
    if not place:
        return None
    path = Path(place).expanduser()
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (OSError, ValueError) as error:
        raise SettingsError(f"dreams.key_file: {path} cannot be read", kept=_KEPT, hint="Put the API key into it.") from error
