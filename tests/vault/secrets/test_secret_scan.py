"""Secrets and the one door: found before the commit, said without a character of them, and what is
in history already is no news."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from oneiro_vault.errors import InvalidInput, SecretFound
from oneiro_vault.vault import layout
from oneiro_vault.vault.change import Operation, Remove, Write
from oneiro_vault.vault.secrets.secret_scan import REMOVED, Secrets
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import digest
from tests.vault.support import REMEMBER, git, make, note, path_of, put

TOKEN = "ghp_" + "AbCdEf0123456789" * 2 + "abcd"
AWS = "AKIA" + "Q3EGRV5NZJ2YTLKW"
MARK = hashlib.sha256(TOKEN.encode()).hexdigest()


def opened(root: Path, mode: str = "block", allowed: str = "") -> Vault:
    if not (root / ".git").exists():
        make(root)
    return Vault.open(root, quiet=0.0, reserve=0, secrets=Secrets(mode, allowed.split()))


def committed(root: Path, secret: str) -> bool:
    """Is it in any object of the repository, reachable or not?"""
    command = ["git", "-C", str(root), "cat-file", "--batch", "--batch-all-objects"]
    return (
        secret.encode()
        in subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    )


def test_a_secret_is_refused_with_its_kind_and_its_hash_and_nothing_is_written(root: Path) -> None:
    vault = opened(root)
    with pytest.raises(SecretFound, match="a GitHub token") as caught:
        vault.apply([Write("a.md", f"The token is {TOKEN}.\n".encode())], REMEMBER)
    said = " ".join(caught.value.to_dict().values())
    assert MARK in said
    assert TOKEN not in said
    assert TOKEN[-8:] not in said
    assert (vault.head(), list(root.glob("*.md"))) == ("", [])
    assert not committed(root, TOKEN)


def test_one_that_only_the_library_knows(root: Path) -> None:
    vault = opened(root)
    with pytest.raises(SecretFound, match="AWS Access Key, and history"):
        vault.apply(
            [Write("a.md", f"It is {AWS}, she says. Yes, {AWS}.".encode())], REMEMBER
        )  # one, however often it is said


def test_the_library_is_loaded_for_texts_that_may_hold_one_and_for_no_other(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom oneiro_vault.vault.secrets.secret_scan import Secrets\ns = Secrets()\n"
        "s.find('---\\nid: 0123456789ab\\ncreated: 2026-11-22T10:06:35+00:00\\n---\\nThe release "
        "is on Friday.\\n')\nassert not {'detect_secrets', 'requests'} & set(sys.modules)\n"
        f"assert s.find({AWS!r})\nassert 'detect_secrets' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path, timeout=60)


def test_what_is_in_history_already_is_no_news(root: Path) -> None:
    plain = opened(root, "off")
    old = note(1, f"Our token: {TOKEN}")
    plain.apply([Write(path_of(1), old)], REMEMBER)
    vault = opened(root)
    new = note(1, f"Our old token, no longer good: {TOKEN}")
    vault.apply([Write(path_of(1), new, digest(old))], Operation("revise", "x"))
    vault.apply([Write("moved.md", new), Remove(path_of(1), digest(new))], Operation("revise", "x"))
    vault.forget("0" * 11 + "1", "moved.md", digest(new))
    vault.restore("0" * 11 + "1")
    assert vault.read("moved.md") == new
    with pytest.raises(SecretFound):
        vault.apply([Write("copy.md", new)], REMEMBER)


def test_a_reason_stays_in_history_too(root: Path) -> None:
    vault = opened(root)
    put(vault, 1)
    with pytest.raises(SecretFound, match="the reason"):
        vault.forget("0" * 11 + "1", path_of(1), digest(note(1)), reason=f"it held {TOKEN}")
    opened(root, "redact").forget(
        "0" * 11 + "1", path_of(1), digest(note(1)), reason=f"it held {TOKEN}"
    )
    assert f"Oneiro-Reason: it held {REMOVED}" in git(root, "log", "-1", "--format=%B")


def test_redact_takes_out_what_is_new_and_refuses_a_name_with_one(root: Path) -> None:
    vault = opened(root, "redact")
    receipt = vault.apply(
        [Write("a.md", f"One {TOKEN}, two {AWS}.".encode(), None, ("b.md", TOKEN.encode()))],
        REMEMBER,
    )
    assert vault.read("a.md").decode() == f"One {REMOVED}, two {REMOVED}."
    assert receipt.written["a.md"] == digest(vault.read("a.md"))
    with pytest.raises(SecretFound):
        vault.apply([Write(f"{TOKEN}.md", b"x")], REMEMBER)
    assert not committed(root, TOKEN)


def test_a_hash_allows_what_is_none(root: Path) -> None:
    vault = opened(root, allowed=MARK.upper())
    vault.apply([Write("a.md", f"The example {TOKEN} of the manual.".encode())], REMEMBER)
    with pytest.raises(SecretFound):
        vault.apply([Write("b.md", f"{TOKEN} and {AWS}".encode())], REMEMBER)


def test_a_persons_edit_with_a_secret_stays_on_disk_and_is_named(root: Path) -> None:
    vault = opened(root)
    put(vault, 1)
    (root / path_of(1)).write_bytes(note(1, f"mine, and {TOKEN}"))
    (root / "other.md").write_text("nothing special")
    (receipt,) = vault.commit_edits()
    assert list(receipt.written) == ["other.md"]
    assert vault.look().secret == {path_of(1): "a GitHub token"}
    (problem,) = [found for found in vault.problems() if found.kind == "secret"]
    assert (problem.path, problem.fixable, TOKEN in problem.message + problem.hint) == (
        path_of(1),
        False,
        False,
    )
    with pytest.raises(SecretFound, match="what a person left uncommitted"):
        vault.apply(
            [Write(path_of(1), note(1, "machine"), digest(vault.read(path_of(1))))],
            Operation("revise", "x"),
        )
    assert not committed(root, TOKEN)
    (root / path_of(1)).write_bytes(note(1, "mine, without"))
    (receipt,) = vault.commit_edits()
    assert list(receipt.written) == [path_of(1)]


def test_a_moved_note_with_a_secret_keeps_its_place_in_history(root: Path) -> None:
    vault = opened(root)
    put(vault, 1)
    (root / path_of(1)).rename(root / "elsewhere.md")
    (root / "elsewhere.md").write_bytes(note(1, f"and {TOKEN}"))
    assert vault.commit_edits() == []
    assert list(vault.listing()) == [path_of(1)]
    (root / "elsewhere.md").write_bytes(note(1))
    (receipt,) = vault.commit_edits()
    assert (list(receipt.written), receipt.removed) == (["elsewhere.md"], (path_of(1),))


def test_a_folder_of_notes_is_taken_in_without_the_one_that_holds_a_secret(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("A good note.")
    (tmp_path / "keys.md").write_text(f"key: {TOKEN}")
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\0" + TOKEN.encode())
    made = layout.create_here(tmp_path, secrets=Secrets())
    assert set(made.adopted) == {"good.md", "photo.png"}
    (left,) = made.skipped
    assert (left.path, TOKEN in left.reason) == ("keys.md", False)
    assert (tmp_path / "keys.md").read_text() == f"key: {TOKEN}"


@pytest.mark.parametrize("name", ["id_rsa", "server.pem", "page.html", "SAVED", "note.md"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_a_text_is_looked_at_however_it_is_called_and_written(name: str, encoding: str) -> None:
    data = f"An é.\nOpens with {TOKEN}\n".encode(encoding)
    assert [(one.kind, one.line, one.sha256) for one in Secrets().inside(name, data)] == [
        ("GitHub token", 2, MARK)
    ]
    assert Secrets().new(name, data, [data]) == [], "what history has is no news"


def test_of_a_picture_only_its_name_is_looked_at() -> None:
    picture = b"\x89PNG\r\n\x1a\n\0\0" + TOKEN.encode()
    assert Secrets().inside("photo.png", picture) == []
    assert [one.sha256 for one in Secrets().inside(f"{TOKEN}.png", picture)] == [MARK]
    assert Secrets().inside("note.md", picture), "a note with a NUL in it is a note"


def test_what_is_no_utf8_is_refused_rather_than_rewritten(root: Path) -> None:
    vault = opened(root, "redact")
    for encoding in ("utf-16", "latin-1"):
        with pytest.raises(SecretFound):
            vault.apply([Write("é.html", f"é {TOKEN}".encode(encoding))], REMEMBER)
    assert not committed(root, TOKEN)


def test_only_the_beginning_of_a_huge_file_is_looked_at_unless_it_is_a_note() -> None:
    huge = b"\n" * 4_000_000 + TOKEN.encode()
    assert Secrets().inside("server.log", huge) == []
    assert [one.line for one in Secrets().inside("server.log", huge[1000:])] == [3_999_001]
    assert [one.line for one in Secrets().inside("note.md", huge)] == [4_000_001]


def test_a_key_is_found_anywhere_in_a_line_of_any_length() -> None:
    """And in a time that does not grow with the square of the line: this one took minutes."""
    page = "https://a.example/b2c3d4e5f6a7b8c9d0e1f2 " * 30_000
    for place in (0, 3_970, 4_970, 600_000, len(page)):
        assert [one.sha256 for one in Secrets().find(f"{page[:place]} {TOKEN} {page[place:]}")] == [
            MARK
        ]


def test_off_looks_for_nothing(root: Path) -> None:
    vault = opened(root, "off")
    vault.apply([Write("a.md", TOKEN.encode())], Operation("remember", "x", reason=TOKEN))
    (root / "b.md").write_text(AWS)
    assert vault.commit_edits()
    assert vault.secrets.cleaned(TOKEN) == TOKEN


def test_refusals_name_the_position(root: Path) -> None:
    vault = opened(root)
    changes = [Write("a.md", b"x"), Write("b.md", TOKEN.encode()), Write("a.md", b"y")]
    receipt = vault.apply(changes, Operation("remember", "x"), each=True)
    refused = {position: type(error) for position, error in receipt.refused.items()}
    assert refused == {1: SecretFound, 2: InvalidInput}
    assert (receipt.commit, vault.head()) == ("", "")
