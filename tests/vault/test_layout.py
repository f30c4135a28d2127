"""How a vault comes to be: nothing is rewritten, nothing is swept into somebody else's
repository."""

from __future__ import annotations

import os
import shutil
import tomllib
from pathlib import Path

import pygit2
import pytest

from oneiro_vault.errors import DiskProblem, InvalidInput, RepositoryBusy
from oneiro_vault.settings.definitions import SETTINGS, load
from oneiro_vault.vault import layout
from oneiro_vault.vault.layout import create, create_here, packaged, template
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import SPEC_MARK
from tests.vault.support import git, make, note, put, reopen, sound

NEEDED = {".gitattributes", ".gitignore", "oneiro.toml"}
TEMPLATE = {
    ".gitattributes",
    ".github/workflows/dream.yml",
    ".github/workflows/memory.yml",
    ".gitignore",
    "README.md",
    "oneiro.toml",
}


def test_a_new_vault_is_one_commit_and_clean(tmp_path: Path) -> None:
    made = create(tmp_path / "a" / "vault")
    assert (set(made.added), made.adopted, made.skipped, made.outer) == (TEMPLATE, (), (), None)
    assert (
        git(made.root, "log", "--format=%s|%an|%D").strip()
        == f"adopt: a new vault|{person(made.root)}|HEAD -> main"
    )
    assert git(made.root, "config", "--local", "core.fsync") == "committed,reference\n"
    sound(made.root)
    put(reopen(made.root), 1)
    sound(made.root)


def person(root: Path) -> str:
    return reopen(root).repo.person()[0]


def test_an_empty_folder_is_fine_and_a_full_one_points_to_here(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert create(tmp_path / "empty").commit
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").write_text("")
    with pytest.raises(InvalidInput, match="not empty") as caught:
        create(tmp_path / "full")
    assert "--here" in caught.value.hint
    with pytest.raises(InvalidInput, match="not a folder"):
        create(tmp_path / "full/x")
    with pytest.raises(InvalidInput, match="not a folder"):
        create_here(tmp_path / "none")
    with pytest.raises(InvalidInput, match="inside the vault"):
        create(tmp_path / "empty/inner/deep")
    (tmp_path / "empty/x").mkdir()
    with pytest.raises(InvalidInput, match="inside the vault"):
        create_here(tmp_path / "empty/x")


def test_a_folder_of_notes_is_taken_in_byte_for_byte(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    strange: dict[str, bytes] = {
        "a.md": b"# A\r\n[[b|x]]\r\n", "Ünï 💡 note.md": b"\xef\xbb\xbf---\ntitle: x\n---\n",
        "empty.md": b"", "junk.md": bytes(range(256)),
        "bad.md": b"---\n: [\n---\n", "big.md": b"x" * 5_000_000, "img/p.png": b"\x89PNG",
        "a/b/c/d.MD": b"deep", "what?.md": b"odd",
        "README.md": b"# mine\n", "no ending": b"x",
    }  # fmt: skip
    for name, data in strange.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    (root / "run.md").write_text("x")
    (root / "run.md").chmod(0o755)
    (tmp_path / "outside").write_text("secret")
    (root / "link.md").symlink_to(tmp_path / "outside")
    os.mkfifo(root / "fifo.md")
    (root / ".obsidian").mkdir()
    (root / ".obsidian/app.json").write_text("{}")
    (root / "repo").mkdir()
    git(root / "repo", "init", "-q")
    (root / "repo/x.md").write_text("theirs")
    (root / "marked.md").write_bytes(b"<<<<<<< a\n=======\n>>>>>>> b\n")
    with (root / "huge.bin").open("wb") as file:
        file.truncate(100_000_001)
    open(os.fsencode(root) + b"/\xff.md", "w").close()
    steps: list[tuple[str, int, int]] = []
    made = create_here(root, lambda *step: steps.append(step))
    assert set(made.added) == NEEDED
    assert set(made.adopted) == set(strange) | {"run.md"}
    left = {refused.path: refused.reason for refused in made.skipped}
    assert set(left) == {"link.md", "fifo.md", "repo", "marked.md", "huge.bin", "\ufffd.md"}
    assert "symbolic link" in left["link.md"]
    assert "100 MB" in left["huge.bin"]
    assert {name: (root / name).read_bytes() for name in strange} == strange
    vault = reopen(root)
    listing = vault.repo.listing(vault.head())
    assert {name: vault.repo.data(listing[name].blob) for name in strange} == strange
    assert git(root, "log", "--format=%s") == f"adopt: {len(strange) + len(NEEDED) + 1} files\n"
    assert steps[-1][1] == steps[-1][2]
    assert git(root, "status", "--porcelain", "--untracked-files=no") == ""
    again = create_here(root)
    assert (again.added, again.adopted, again.commit) == ((), (), made.commit)


def test_a_guest_puts_nothing_in_the_way(tmp_path: Path) -> None:
    """No page of ours among a person's notes, and no workflows in their repository unless they
    ask."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text("mine")
    made = create_here(tmp_path / "notes")
    assert set(made.added) == NEEDED
    assert {path.name for path in made.root.iterdir()} == NEEDED | {"a.md", ".git"}
    assert create_here(made.root).added == ()
    asked = create_here(made.root, workflows=True)
    assert set(asked.added) == {name for name in TEMPLATE if name.startswith(".github/")}
    (tmp_path / "empty").mkdir()
    assert set(create_here(tmp_path / "empty").added) == TEMPLATE


def test_a_vault_without_its_repository_gets_a_new_one_with_all_of_its_files(
    tmp_path: Path,
) -> None:
    made = create(tmp_path / "vault")
    (made.root / "a.md").write_text("mine")
    shutil.rmtree(made.root / ".git")
    again = create_here(made.root)
    assert (again.added, again.adopted) == ((), ("a.md",))
    assert set(git(made.root, "ls-files").splitlines()) == TEMPLATE | {"a.md"}
    assert git(made.root, "status", "--porcelain") == ""


def test_ids_found_in_adopted_notes_are_named(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v/x.md").write_bytes(note(7))
    create_here(tmp_path / "v")
    assert reopen(tmp_path / "v").log.entries(memory=f"{7:012d}")[0].op == "adopt"


def test_a_large_folder_is_stored_in_portions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oneiro_vault.vault.worktree import commit_edits

    monkeypatch.setattr(commit_edits, "_PORTION", 2_000)
    (tmp_path / "v").mkdir()
    for number in range(60):
        (tmp_path / f"v/{number}.md").write_bytes(b"%d" % number * 50)
    made = create_here(tmp_path / "v")
    assert len(made.adopted) == 60
    sound(made.root)


def test_in_a_repository_with_history_only_notes_are_added(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "config", "user.name", "Ada")
    (root / "main.py").write_text("print()")
    (root / ".gitignore").write_text("build/\n")
    (root / ".gitattributes").write_text("*.py text\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "code")
    (root / "new.py").write_text("untracked code")
    (root / "notes").mkdir()
    (root / "notes/x.md").write_text("x")
    (root / "build").mkdir()
    (root / "build/gen.md").write_text("ignored")
    (root / "main.py").write_text("changed")
    (root / "staged.md").write_text("staged")
    git(root, "add", "staged.md")
    made = create_here(root)
    assert set(made.added) == {"oneiro.toml"}
    assert made.adopted == ("notes/x.md",)
    assert git(root, "status", "--porcelain").splitlines() == [
        " M main.py",
        "A  staged.md",
        "?? new.py",
    ]
    assert (root / ".gitignore").read_text() == "build/\n"
    assert (root / ".gitattributes").read_text() == "*.py text\n"
    assert ".oneiro/" in (root / ".git/info/exclude").read_text().splitlines()
    assert "*.md merge=oneiro -text" in (root / ".git/info/attributes").read_text().splitlines()
    assert "gc.auto" not in git(root, "config", "--local", "--list")
    create_here(root)
    assert (root / ".git/info/exclude").read_text().count(".oneiro/") == 1


def test_inside_another_repository_the_outer_one_is_told_to_look_away(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "code.py").write_text("x")
    git(tmp_path, "add", "code.py")
    git(tmp_path, "commit", "-qm", "x")
    made = create(tmp_path / "my [memory] #1")
    assert made.outer == tmp_path
    assert git(tmp_path, "status", "--porcelain") == ""
    git(tmp_path, "add", "-A")
    assert git(tmp_path, "ls-files") == "code.py\n"
    assert not (tmp_path / ".gitignore").exists()
    side = tmp_path.parent / (tmp_path.name + "-side")
    git(tmp_path, "worktree", "add", "-q", str(side))
    try:
        assert create(side / "memory").outer == side
        assert git(side, "status", "--porcelain") == ""
    finally:
        shutil.rmtree(side)


def test_a_bare_repository_around_it_is_no_outer_one(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", ".")
    assert create(tmp_path / "v").outer is None


def test_a_repository_in_the_middle_of_something_is_not_made_a_vault(tmp_path: Path) -> None:
    vault = make(tmp_path / "v")
    put(vault)
    git(vault.root, "checkout", "-q", "--detach")
    with pytest.raises(RepositoryBusy):
        create_here(vault.root)
    assert not (vault.root / "oneiro.toml").exists()


def test_a_folder_that_cannot_be_written_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise OSError(0, "no")

    real = Path.mkdir

    def mkdir(self: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        if self.name == ".git":
            raise OSError(30, "Read-only file system")
        real(self, mode, parents, exist_ok)

    monkeypatch.setattr(pygit2, "init_repository", refuse)
    monkeypatch.setattr(Path, "mkdir", mkdir)
    with pytest.raises(DiskProblem, match="read-only"):
        create(tmp_path / "v")
    monkeypatch.setattr(Path, "mkdir", real)
    with pytest.raises(DiskProblem):
        create(tmp_path / "v")


def test_the_template_is_found_beside_and_inside_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set(template()) == TEMPLATE
    package = tmp_path / "oneiro_vault"
    (package / "vault").mkdir(parents=True)
    monkeypatch.setattr(layout, "__file__", str(package / "vault/layout.py"))
    assert packaged("vault_template") == tmp_path / "vault_template"
    (package / "vault_template").mkdir()
    assert packaged("vault_template") == package / "vault_template"


def test_the_template_says_what_the_code_does(tmp_path: Path) -> None:
    files = template()
    assert files["README.md"].startswith(SPEC_MARK)
    text = files["oneiro.toml"].decode()
    assert tomllib.loads(text) == {
        name: {}
        for name in dict.fromkeys(s.name.split(".")[0] for s in SETTINGS if s.scope == "vault")
    }
    spelled = "\n".join(
        line.removeprefix("# ") if " = " in line else line for line in text.splitlines()
    )
    made = create(tmp_path / "v").root
    (made / "oneiro.toml").write_text(spelled)
    told, known = load(made, {}), {s.name: s.default for s in SETTINGS}
    assert {name: told[name] for name in told} == known
    given = {f"{head}.{name}" for head, row in tomllib.loads(spelled).items() for name in row}
    assert given == {s.name for s in SETTINGS if s.scope == "vault"}
    assert all(s.help in text for s in SETTINGS if s.scope == "vault")


def test_the_format_spec_names_every_type_key_and_operation() -> None:
    from oneiro_vault.core.frontmatter.yaml_block import ORDER
    from oneiro_vault.core.memory import STATUSES, TYPES
    from oneiro_vault.vault.change import OPS

    spec = template()["README.md"].decode()
    missing = [word for word in (*OPS, *TYPES, *STATUSES, *ORDER) if f"`{word}`" not in spec]
    assert missing == []


def test_git_attributes_keep_bytes_as_they_are(tmp_path: Path) -> None:
    vault: Vault = reopen(create(tmp_path / "v").root)
    git(vault.root, "config", "core.autocrlf", "true")
    (vault.root / "x.md").write_bytes(b"a\r\nb\n")
    vault.edits.commit()
    assert vault.repo.data(vault.listing()["x.md"]) == b"a\r\nb\n"
    sound(vault.root)
