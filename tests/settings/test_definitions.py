"""The one table of settings: where values come from, what is refused, and that a vault cannot set
what is the machine's."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.errors import SettingsError
from oneiro_vault.settings.definitions import (
    BY_NAME,
    RULES,
    SETTINGS,
    Setting,
    Settings,
    in_force,
    load,
    machine_file,
    make_default,
)


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path, dict[str, str]]:
    """(vault, machine's file, environment)."""
    vault, home = tmp_path / "vault", tmp_path / "config"
    (home / "oneiro").mkdir(parents=True)
    vault.mkdir()
    return vault, home / "oneiro" / "config.toml", {"XDG_CONFIG_HOME": str(home)}


@pytest.mark.parametrize("data", [b"vault = [\n  1,\n", b"# caf\xe9\n"])
def test_what_no_line_can_be_added_to_stays_as_it_is(tmp_path: Path, data: bytes) -> None:
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    file = machine_file(env)
    file.parent.mkdir()
    file.write_bytes(data)
    with pytest.raises(SettingsError, match="no line can be added") as caught:
        make_default(tmp_path / "vault", env)
    assert str(tmp_path / "vault") in caught.value.hint
    assert file.read_bytes() == data


def test_the_default_keeps_the_files_mode_link_and_other_bytes(tmp_path: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    file, target = machine_file(env), tmp_path / "dotfiles.toml"
    target.write_bytes(b"# mine\r\n")
    target.chmod(0o600)
    file.parent.mkdir()
    file.symlink_to(target)
    make_default(Path("/vault"), env)
    assert file.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600
    assert target.read_bytes() == b'vault = "/vault"\n# mine\r\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('vault = "/old"  # the big one\nport = 1\n', "# the big one\nport = 1\n"),
        ("a.b = 1\n vault='/o#ld'#why", "a.b = 1\n#why"),
        ('vault = "/o\\"ld"\r\n[x]\nvault = 2 # theirs\n', "[x]\nvault = 2 # theirs\n"),
        ("vault = 3\nb = 1\n", "b = 1\n"),
        ("vault = ", ""),
    ],
)
def test_another_default_leaves_what_was_said_beside_the_old_one(
    tmp_path: Path, before: str, after: str
) -> None:
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    file = machine_file(env)
    file.parent.mkdir()
    file.write_bytes(before.encode())
    make_default(Path("/vault"), env)
    assert file.read_bytes().decode() == f'vault = "/vault"\n{after}'


def test_nothing_set_gives_the_defaults(places: tuple[Path, Path, dict[str, str]]) -> None:
    vault, _, env = places
    for settings in (load(vault, env), load(None, env), Settings()):
        assert {name: settings[name] for name in settings} == {s.name: s.default for s in SETTINGS}


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_every_row_of_the_table_is_sound(setting: Setting) -> None:
    assert setting.scope in ("vault", "machine")
    assert setting.help
    assert setting.type in (bool, int, float, str)
    assert setting.variable.isupper()
    if setting.rule:
        assert RULES[setting.rule][0](setting.default)
        assert setting.allowed
    assert not any(
        other != setting.name and other.startswith(setting.name + ".") for other in BY_NAME
    )


def test_the_nearer_source_wins(places: tuple[Path, Path, dict[str, str]]) -> None:
    vault, machine, env = places
    (vault / "oneiro.toml").write_text(
        "recall.k = 3\n[decay]\nepisodic = 2\nsemantic = 3\n[whittle]\ncap = 4\n"
    )
    machine.write_text("vault = '/v'\n[decay]\nsemantic = 5.5\n[whittle]\ncap = 6\n")
    settings = load(vault, env | {"ONEIRO_WHITTLE_CAP": "7"})
    assert [
        settings[n]
        for n in ("recall.k", "decay.episodic", "decay.semantic", "whittle.cap", "vault")
    ] == [3, 2.0, 5.5, 7, "/v"]
    assert type(settings["decay.episodic"]) is float


@pytest.mark.parametrize(
    "text",
    [
        "embed.model = 'x'",
        "[embed]\nmodel = 'x'",
        "vault = '/v'",
        "index.dir = '/i'",
        "owner.idle = 1",
        "owner.start = false",
    ],
)
def test_a_vault_cannot_set_what_is_the_machines(
    places: tuple[Path, Path, dict[str, str]], text: str
) -> None:
    vault, machine, env = places
    (vault / "oneiro.toml").write_text(text)
    with pytest.raises(SettingsError, match="never taken from a vault") as caught:
        load(vault, env)
    assert "ONEIRO_" in caught.value.hint
    (vault / "oneiro.toml").unlink()
    machine.write_text(text)
    assert any(load(vault, env)[name] != row.default for name, row in BY_NAME.items())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("recall.k = 0", "above 0"), ("recall.k = 'ten'", "recall.k is 'ten'"),
        ("recall.k = 1.5", "must be"),
        ("recall.k = true", "must be"),
        ("dreams.brake = 2", "0 to 1"),
        ("dreams.brake = nan", "0 to 1"),
        ("edits.commit = 1", "must be bool"),
        ("edits.commit = 'yes'", "must be bool"), ("recal.k = 3", "no setting 'recal.k'"),
        ("zzz = 1", "no setting 'zzz'"),
        ("[recall]\nzzz = 1", "recall.zzz"),
        ("[recall.k]\nx = 1", "recall.k"), ("recall = 1", "no setting 'recall'"),
        ("recall.k = [1]", "must be"),
        ("recall.k = 2024-01-01", "must be"),
        ("a = ", "not valid TOML"), ("a = '\udcff'", "not valid TOML"),
        ("edits.quiet = -1", "0 or more"),
    ],
)  # fmt: skip
def test_bad_settings_name_file_key_and_what_is_allowed(
    places: tuple[Path, Path, dict[str, str]], text: str, words: str
) -> None:
    vault, _, env = places
    (vault / "oneiro.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(SettingsError) as caught:
        load(vault, env)
    assert words in str(caught.value)
    assert "oneiro.toml" in str(caught.value)
    assert caught.value.kept
    assert caught.value.hint


def test_what_was_a_setting_once_is_named_and_no_error(
    places: tuple[Path, Path, dict[str, str]],
) -> None:
    vault, machine, env = places
    (vault / "oneiro.toml").write_text("recall.k = 3\n[encode]\npiece = 9000\n")
    machine.write_text("[embed]\nthreads = 2\n[dreams]\nprice_in = 3.0\n")
    settings = load(vault, env | {"ONEIRO_GIT_WAIT": "1"})
    assert [text for text, _ in settings.idle()] == [
        f"the setting {name} has no effect any more"
        for name in ("encode.piece", "embed.threads", "dreams.price_in", "git.wait")
    ]
    assert [hint for _, hint in settings.idle()][1:3] == [
        "Take it out.",
        "Set dreams.prices instead.",
    ]
    assert (settings["recall.k"], settings["encode.piece"]) == (3, 6000)
    assert in_force(settings)["notices"][0] == (
        "the setting encode.piece has no effect any more. Take it out."
    )
    assert Settings({"encode.piece": 9}).but(recall_k=2)["encode.piece"] == 9


def test_a_near_miss_is_suggested(places: tuple[Path, Path, dict[str, str]]) -> None:
    vault, _, env = places
    (vault / "oneiro.toml").write_text("decay.episodc = 3")
    with pytest.raises(SettingsError) as caught:
        load(vault, env)
    assert "decay.episodic" in caught.value.hint


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("ONEIRO_RECALL_K", "5", "recall.k", 5),
        ("ONEIRO_DECAY_EPISODIC", "3", "decay.episodic", 3.0),
        ("ONEIRO_EDITS_COMMIT", "No", "edits.commit", False),
        ("ONEIRO_EDITS_COMMIT", "ON", "edits.commit", True),
        ("ONEIRO_EMBED_MODEL", "hash", "embed.model", "hash"),
        ("ONEIRO_RECALL_K", "", "recall.k", 10),
        ("ONEIRO_OWNER_IDLE", "10", "owner.idle", 10.0),
    ],
)  # fmt: skip
def test_the_environment(
    places: tuple[Path, Path, dict[str, str]], variable: str, text: str, name: str, value: object
) -> None:
    vault, _, env = places
    got = load(vault, env | {variable: text})[name]
    assert (got, type(got)) == (value, type(value))


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("ONEIRO_RECALL_K", "many"),
        ("ONEIRO_EDITS_COMMIT", "perhaps"),
        ("ONEIRO_DREAMS_BRAKE", "nan"),
        ("ONEIRO_RECALL_K", "-1"),
    ],
)
def test_a_bad_variable_is_named(
    places: tuple[Path, Path, dict[str, str]], variable: str, text: str
) -> None:
    _, _, env = places
    with pytest.raises(SettingsError, match=f"environment variable {variable}"):
        load(None, env | {variable: text})


def test_a_folder_in_place_of_the_file(places: tuple[Path, Path, dict[str, str]]) -> None:
    vault, _, env = places
    (vault / "oneiro.toml").mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        load(vault, env)


def test_a_file_in_place_of_the_folder(places: tuple[Path, Path, dict[str, str]]) -> None:
    vault, machine, env = places
    machine.parent.rmdir()
    machine.parent.write_text("")
    assert load(vault, env)["recall.k"] == 10


def test_where_the_machines_file_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert machine_file({"XDG_CONFIG_HOME": "/x"}) == Path("/x/oneiro/config.toml")
    assert machine_file({"HOME": "/h"}) == Path("/h/.config/oneiro/config.toml")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert machine_file() == tmp_path / "oneiro" / "config.toml"
    assert load(None)["recall.k"] == 10


def test_an_unknown_name_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        Settings()["nonsense"]


def test_the_line_is_named(places: tuple[Path, Path, dict[str, str]]) -> None:
    vault, _, env = places
    for text, line in (
        ("# a\n\nrecall.kk = 1", 3),
        ("[decay]\nepisodic = 0.1\n[recall]\n k  =  'x' # k\n", 4),
        ('[ "recall" ]\n"kk" = 1', 2),
        ("[recall]\nk = 1\n[zzz]\n", 0),
        ("[recall.k]\nx = 1", 1),
        ("a = 1\ndreams = { brake = 7 }", 1),
        ("dreams = { brake = 7 }", 1),
        ("[[recall]]\nk = 1", 1),
    ):
        (vault / "oneiro.toml").write_text(text)
        wrong = load(vault, env, strict=False).wrong
        assert f"oneiro.toml, line {line}: " in str(wrong[0]) if line else not wrong, text


def test_what_is_right_counts_beside_what_is_wrong(
    places: tuple[Path, Path, dict[str, str]],
) -> None:
    """A vault of a newer version, with a setting this one does not know."""
    vault, machine, env = places
    (vault / "oneiro.toml").write_text(
        "[recall]\nk = 3\nnewer = 1\n[embed]\nmodel = 'evil/model'\n"
    )
    machine.write_text("[owner]\nidle = 'soon'\n")
    settings = load(vault, env, strict=False)
    assert (settings["recall.k"], settings["embed.model"], settings["owner.idle"]) == (
        3,
        "default",
        900.0,
    )
    assert [
        word in str(error)
        for error, word in zip(settings.wrong, ("newer", "never taken", "soon"), strict=True)
    ] == [True] * 3
    assert settings.but(recall_k=4).wrong == settings.wrong
    with pytest.raises(SettingsError):
        load(vault, env | {"ONEIRO_RECALL_K": "many"}, strict=False)


def test_a_caller_in_another_process_has_settings_of_its_own(
    places: tuple[Path, Path, dict[str, str]],
) -> None:
    vault, _, env = places
    (vault / "oneiro.toml").write_text("recall.k = 3\n")
    settings = load(vault, env | {"ONEIRO_DECAY_EPISODIC": "2", "ONEIRO_EMBED_MODEL": "hash"})
    with settings.on_behalf(
        env | {"ONEIRO_RECALL_K": "4", "ONEIRO_VAULT": "/v", "ONEIRO_OWNER_IDLE": "900"}
    ) as unmet:
        assert (settings["recall.k"], settings["decay.episodic"], settings["embed.model"]) == (
            4,
            7.0,
            "hash",
        )
        assert unmet == ["ONEIRO_EMBED_MODEL", "ONEIRO_OWNER_IDLE"]
    assert (settings["recall.k"], settings["decay.episodic"]) == (3, 2.0)
    with (
        pytest.raises(SettingsError, match="ONEIRO_RECALL_K"),
        settings.on_behalf({"ONEIRO_RECALL_K": "many"}),
    ):
        pass
