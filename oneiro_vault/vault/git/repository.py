"""The git room's objects and refs, on pygit2, and how a repository is made and found.

A commit is made through trees, never through the index: a person's staging area is not involved,
and 50,000 notes cost no more than the few folders along the changed paths.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pygit2

from oneiro_vault.errors import GitProblem, InvalidInput, RepositoryBusy, UnsafePath, VaultNotFound
from oneiro_vault.vault.git import activity
from oneiro_vault.vault.git.activity import Activity
from oneiro_vault.vault.git.commands import Commands
from oneiro_vault.vault.git.objects import PACK_FROM, Memory, Stored, pack, store_loose
from oneiro_vault.vault.git.staging_area import Entry, Locked, Staging
from oneiro_vault.vault.write import disk

_FOLDER: Final = 0o040000
_ZERO: Final = "0" * 40
_KEPT: Final = "No note was touched."


class Repo:
    """The repository whose work tree is exactly `root`; never a parent's. Raises VaultNotFound."""

    def __init__(self, root: Path) -> None:
        self.root = root
        if not os.path.lexists(root / ".git"):
            raise VaultNotFound(
                f"{root} is not the root of a git repository",
                kept=_KEPT,
                hint=f"Make it one with: oneiro init --here (in {root})",
            )
        try:
            self._repo: Any = pygit2.Repository(
                str(root), pygit2.enums.RepositoryOpenFlag.NO_SEARCH
            )
        except (pygit2.GitError, KeyError, OSError) as error:
            raise _unopened(root, error) from error
        if self._repo.is_bare or os.path.realpath(self._repo.workdir or "") != os.path.realpath(
            root
        ):
            raise VaultNotFound(
                f"the repository in {root} keeps its files elsewhere, or has none",
                kept=_KEPT,
                hint="Use a clone with its files in place.",
            )
        self.git_dir = Path(self._repo.path)
        self.common_dir = common_dir(self.git_dir)
        self.commands = Commands(root, self.git_dir)
        self.activity = Activity(self.git_dir, self.tip)
        self.renew()

    @property
    def shallow(self) -> bool:
        """Does this clone lack the beginning of its history?"""
        return (self.common_dir / "shallow").exists()

    def renew(self) -> None:
        """Look at the disk afresh, since packs were replaced. Called with the write lock."""
        again = pygit2.Repository(str(self.root), pygit2.enums.RepositoryOpenFlag.NO_SEARCH)
        # A store written in Python must not be in an object database that several threads read:
        # libgit2 holds that database's mutex while our callback waits for the interpreter, and
        # another thread holds the interpreter while it waits for the mutex. So commits are built in
        # a repository object of their own, which only the holder of the write lock touches.
        self._draft: Any = pygit2.Repository(
            str(self.root), pygit2.enums.RepositoryOpenFlag.NO_SEARCH
        )
        self._memory = Memory()
        self._draft.odb.add_backend(self._memory, 1000)
        self._repo, self.staging = (
            again,
            Staging(again, self.root, self.git_dir, self.commands, self.activity),
        )
        self._folders: tuple[str, dict[str, pygit2.Tree | None]] = ("", {})

    # -- where we are

    def branch(self) -> str:
        """Full name of the branch HEAD is on (it may be unborn). Raises RepositoryBusy when HEAD is
        detached."""
        try:
            head = self._repo.lookup_reference("HEAD")
        except (KeyError, ValueError, pygit2.GitError) as error:
            raise _unreadable("HEAD", error) from error
        if not isinstance(head.target, str):
            activity.refuse_half_done(
                self.root, self.git_dir, self.remotes
            )  # a rebase detaches it for as long as it takes
            raise RepositoryBusy(
                "HEAD is detached: there is no branch to write to",
                kept="Every note is as it was.",
                hint="Go back with: git switch NAME",
            )
        return str(head.target)

    def tip(self, ref: str = "HEAD") -> str:
        """The commit `ref` points to, "" when it is unborn or absent. Raises GitProblem when it is
        damaged."""
        try:
            return str(self._repo.lookup_reference(ref).resolve().target)
        except KeyError:
            return ""
        except (ValueError, OSError, pygit2.GitError) as error:
            raise _unreadable(ref, error) from error

    def tips(self) -> set[str]:
        """The commits that branches, here and at remotes, and tags are at."""
        names = self._repo.listall_references()
        places = ("refs/heads/", "refs/remotes/", "refs/tags/")
        return {self.resolve(name) for name in names if name.startswith(places)} - {""}

    def check_ready(self) -> None:
        """Raise RepositoryBusy while something is half done, and on a detached HEAD."""
        activity.refuse_half_done(self.root, self.git_dir, self.remotes)
        self.branch()

    def contains(self, commit: str, tip: str) -> bool:
        """Is `commit` in the history that ends at `tip`?"""
        if not commit or not tip:
            return False
        try:
            return commit == tip or bool(self._repo.descendant_of(tip, commit))
        except (KeyError, ValueError, pygit2.GitError):
            return False

    def ahead(self, old: str, new: str) -> int:
        """How many commits of `new` are not in `old` ("" = nothing); 0 when either is not known."""
        try:
            return self._repo.ahead_behind(new, old)[0] if old and new else 0
        except (KeyError, ValueError, pygit2.GitError):
            return 0

    def folder(self, commit: str, path: str) -> str:
        """Id of a folder of a commit, "" when there is none: equal ids mean equal contents."""
        found = self._at(commit, path)
        return str(found.id) if isinstance(found, pygit2.Tree) else ""

    def config(self, name: str) -> str:
        """A git setting, "" when unset."""
        try:
            return str(self._repo.config[name])
        except KeyError:
            return ""

    def remotes(self) -> list[str]:
        """Names of the repository's remotes."""
        return [str(name) for name in self._repo.remotes.names()]

    def configure(self, values: Mapping[str, str]) -> None:
        """Set values in this repository's own configuration."""
        local = pygit2.Config(str(self.common_dir / "config"))
        for name, value in values.items():
            local[name] = value

    def person(self) -> tuple[str, str]:
        """Name and email of the person as git knows them, or a sensible local stand-in."""
        user = os.environ.get("USER") or "you"
        return self.config("user.name") or user, self.config("user.email") or f"{user}@localhost"

    # -- reading objects

    def entry(self, commit: str, path: str) -> Entry | None:
        """The file at `path` in a commit ("" = nothing yet)."""
        found = self._at(commit, path)
        return (
            None
            if found is None or isinstance(found, pygit2.Tree)
            else Entry(str(found.id), int(found.filemode))
        )

    def content(self, commit: str, path: str) -> bytes:
        """The bytes of a file in a commit, b"" when there is none. Raises GitProblem."""
        known = self.entry(commit, path)
        return self.data(known.blob) if known else b""

    def is_folder(self, commit: str, path: str) -> bool:
        """Is `path` a folder in a commit?"""
        return isinstance(self._at(commit, path), pygit2.Tree)

    def _at(self, commit: str, path: str) -> pygit2.Object | None:
        folder, _, name = path.rpartition("/")
        with _readable():
            tree = self._folder(commit, folder) if commit else None
            return tree[name] if tree is not None and name in tree else None

    def _folder(self, commit: str, folder: str) -> pygit2.Tree | None:
        """Those of the last commit asked for are kept: libgit2 parses a large one anew for every
        look-up by path."""
        if self._folders[0] != commit:
            self._folders = (commit, {"": self._repo[commit].tree})
        known = self._folders[1]
        if folder not in known:
            above, _, name = folder.rpartition("/")
            tree = self._folder(commit, above)
            found = tree[name] if tree is not None and name in tree else None
            known[folder] = found if isinstance(found, pygit2.Tree) else None
        return known[folder]

    def data(self, blob: str) -> bytes:
        """The bytes of a blob. Raises GitProblem when it is missing or damaged."""
        try:
            found = self._repo[blob]
        except (KeyError, ValueError, pygit2.GitError) as error:
            raise GitProblem(
                f"object {blob} cannot be read: {error}",
                kept="Other notes are unaffected.",
                hint="Run `oneiro doctor`.",
            ) from error
        return bytes(found.data) if isinstance(found, pygit2.Blob) else b""

    def knows(self, oid: str) -> bool:
        """Is there such an object, in whatever branch or in none? No words are the id of any."""
        try:
            return oid in self._repo
        except ValueError:
            return False

    def size(self, blob: str) -> int:
        """Bytes of a blob, without reading it. Raises GitProblem when it is missing."""
        try:
            return int(self._repo.odb.read_header(blob)[1])
        except (KeyError, ValueError, pygit2.GitError) as error:
            raise GitProblem(
                f"object {blob} cannot be read: {error}", hint="Run `oneiro doctor`."
            ) from error

    def listing(self, commit: str, under: str = "") -> dict[str, Entry]:
        """path -> Entry of every file (not submodules) of a commit, optionally only below one
        folder."""
        with _readable():
            start = self._folder(commit, under) if commit else None
            return (
                dict(self._walk(start, under + "/" if under else "")) if start is not None else {}
            )

    def _walk(self, tree: pygit2.Tree, prefix: str) -> Iterator[tuple[str, Entry]]:
        for item in tree:
            if isinstance(item, pygit2.Tree):
                yield from self._walk(item, f"{prefix}{item.name}/")
            elif isinstance(item, pygit2.Blob):
                yield prefix + (item.name or ""), Entry(str(item.id), int(item.filemode))

    def difference(self, old: str, new: str) -> dict[str, tuple[Entry | None, Entry | None]]:
        """Files that differ between two commits ("" = the empty tree): path -> (before, after),
        renames not paired."""
        if not (old and new):
            return {
                path: (entry, None) if old else (None, entry)
                for path, entry in self.listing(old or new).items()
            }
        found: dict[str, tuple[Entry | None, Entry | None]] = {}
        with _readable():
            deltas = list(self._repo[old].tree.diff_to_tree(self._repo[new].tree).deltas)
        for delta in deltas:
            for side, file in ((0, delta.old_file), (1, delta.new_file)):
                pair = list(found.get(file.path, (None, None)))
                if file.mode and str(file.id) != _ZERO:
                    pair[side] = Entry(str(file.id), int(file.mode))
                found[file.path] = (pair[0], pair[1])
        return found

    def resolve(self, name: str) -> str:
        """Hex id of a commit given by any name or prefix, "" when there is none (or several)."""
        try:
            return str(self._repo.revparse_single(name).peel(pygit2.Commit).id)
        except (KeyError, ValueError, pygit2.GitError):
            return ""

    def parents(self, commit: str) -> list[str]:
        """Hex ids of a commit's parents. Raises GitProblem."""
        with _readable():
            return [str(parent) for parent in self._repo[commit].parent_ids]

    def message(self, commit: str) -> str:
        """The whole message of a commit. Raises GitProblem."""
        with _readable():
            return str(self._repo[commit].message)

    def whole(self, commit: str) -> bool:
        """Can a commit and the listing of its top folder be read?"""
        try:
            _ = self._repo[commit].tree
            return True
        except (KeyError, ValueError, pygit2.GitError, OSError, GitProblem):
            return False

    # -- making a commit

    def add(self, data: bytes) -> str:
        """A blob, in memory until `store`. Returns its hex id."""
        return str(self._draft.create_blob(data))

    def discard(self) -> None:
        """Forget objects that were made and not stored."""
        self._memory.objects.clear()

    def commit(
        self,
        parent: str,
        changes: Mapping[str, Entry | None],
        message: str,
        author: tuple[str, str],
        committer: tuple[str, str],
        when: float,
        also: Sequence[str] = (),
    ) -> str:
        """A commit in memory: `changes` (None = gone) on top of `parent` ("" = a root commit);
        `also`: further parents."""
        with _readable():
            base = self._draft[parent].tree if parent else None
            tree = self._build(base, changes, "") or self._draft.TreeBuilder().write()
        signatures = [_signature(*who, when) for who in (author, committer)]
        return str(
            self._draft.create_commit(
                None, *signatures, message, tree, [*filter(None, [parent]), *also]
            )
        )

    def _build(
        self, base: pygit2.Tree | None, changes: Mapping[str, Entry | None], prefix: str
    ) -> pygit2.Oid | None:
        """None when nothing is left of this folder."""
        builder = self._draft.TreeBuilder(base) if base is not None else self._draft.TreeBuilder()
        below: dict[str, dict[str, Entry | None]] = {}
        here: dict[str, Entry | None] = {}
        for path, entry in changes.items():
            name, slash, rest = path.partition("/")
            if slash:
                below.setdefault(name, {})[rest] = entry
            else:
                here[name] = entry
        for name in [
            name for name, entry in here.items() if entry is None
        ]:  # first: a folder may take a file's name, or the reverse
            _put(builder, name, here.pop(name), prefix)
        for name, inner in below.items():
            old = builder.get(name)
            if old is not None and not isinstance(old, pygit2.Tree):
                hint = (
                    "If a folder is meant to take its place, commit that: `git add -A`, `git "
                    "commit`."
                )
                raise UnsafePath(
                    f"{prefix}{name} is a file in the history, not a folder", kept=_KEPT, hint=hint
                )
            new = self._build(old, inner, f"{prefix}{name}/")
            if new is not None:
                builder.insert(name, new, _FOLDER)
            elif old is not None:
                builder.remove(name)
        for name, entry in here.items():
            _put(builder, name, entry, prefix)
        return builder.write() if len(builder) else None

    def store(self) -> Stored:
        """The objects made since `discard`, as loose files or, when they are many, as one pack."""
        made, folder = dict(self._memory.objects), self.common_dir / "objects"
        if len(made) < PACK_FROM:
            return store_loose(str(folder), made)
        with tempfile.TemporaryFile(dir=folder) as file:
            for piece in pack(made):
                file.write(piece)
            file.seek(0)
            self.commands.run(
                "index-pack", "--stdin", source=file, timeout=3600.0
            )  # fsyncs the pack itself
        return Stored(str(folder), pack=True)

    def store_durably(self) -> None:
        """The same, for what no intent has to wait for. Raises OSError."""
        stored = self.store()
        try:
            disk.sync(stored.files)
            disk.sync(stored.name())
        except OSError:
            stored.drop()
            raise

    def move(self, ref: str, old: str, new: str) -> bool:
        """Compare-and-swap of a branch from `old` ("" = must not exist) to `new`; False when it is
        not at `old` any more.

        Not durable by itself: `ref_files` says what to fsync. Raises Locked, or DiskProblem.
        """
        if not old:
            return self._create(ref, new)
        try:
            found = self._repo.lookup_reference(ref)
            if str(found.target) != old:
                return False
            found.set_target(new, "oneiro")
        except (KeyError, OSError, pygit2.GitError) as error:
            return self._unmoved(ref, old, error)
        return True

    def _create(self, ref: str, new: str) -> bool:
        """By git itself: libgit2 looks for the branch before it takes the lock."""
        status, _, err = self.commands.attempt("update-ref", "-m", "oneiro", ref, new, _ZERO)
        if status == 0:
            return True
        return self._unmoved(ref, "", OSError(err.decode("utf-8", "replace").strip()))

    def _unmoved(self, ref: str, old: str, error: Exception) -> bool:
        """False: it had moved already; else why it did not."""
        if self.tip(ref) != old:
            return False
        lock = self.common_dir / (ref + ".lock")
        if lock.exists() or "lock" in str(
            error
        ):  # it may be free again by now: that is for the next try to see
            raise Locked(lock) from error
        with (
            disk.guarded("Moving the branch"),
            tempfile.NamedTemporaryFile(dir=self.common_dir) as probe,
        ):
            probe.write(bytes(8192))  # the library keeps the reason to itself: ask the disk
            probe.flush()
        raise GitProblem(
            f"{ref} could not be moved: {error}", kept=_KEPT, hint="Run `oneiro doctor`."
        ) from error

    def ref_files(self, ref: str) -> list[str]:
        """The files and folders to fsync after `move`."""
        place = self.common_dir / ref
        return [str(place), str(place.parent)] if place.exists() else [str(self.common_dir)]


def _put(builder: pygit2.TreeBuilder, name: str, entry: Entry | None, prefix: str) -> None:
    old = builder.get(name)
    if isinstance(old, pygit2.Tree):
        raise UnsafePath(f"{prefix}{name} is a folder", kept=_KEPT)
    if entry is not None:
        try:
            builder.insert(name, entry.blob, entry.mode)
        except (ValueError, pygit2.GitError) as error:
            raise InvalidInput(
                f"git refuses the name {prefix + name!r}: {error}", kept=_KEPT
            ) from error
    elif old is not None:
        builder.remove(name)


def _signature(name: str, email: str, when: float) -> pygit2.Signature:
    clean = [
        "".join(c for c in text if c not in "<>" and c.isprintable()).strip() or "unknown"
        for text in (name, email)
    ]
    moment = int(min(max(when, 0.0), 253402300799.0))
    return pygit2.Signature(clean[0], clean[1], moment, _offset(moment))


def _offset(moment: int) -> int:
    try:
        return time.localtime(moment).tm_gmtoff // 60
    except (OverflowError, ValueError, OSError):
        return 0


def _unreadable(ref: str, error: Exception) -> GitProblem:
    return GitProblem(
        f"{ref} cannot be read: {error}",
        kept="The notes in the folder are untouched.",
        hint="Run `oneiro doctor --fix`.",
    )


def _unopened(root: Path, error: Exception) -> GitProblem | VaultNotFound:
    if "not owned" in str(error):
        return GitProblem(
            f"{root} belongs to another user: {error}",
            kept=_KEPT,
            hint=f"If you trust it: git config --global --add safe.directory {root}",
        )
    return VaultNotFound(
        f"the repository of {root} cannot be opened: {error}",
        kept=_KEPT,
        hint="`git status` there says more.",
    )


def init(root: Path, settings: Mapping[str, str]) -> None:
    """On branch `main`, with `settings` in its own configuration. Raises OSError."""
    try:
        made = pygit2.init_repository(str(root), initial_head="main")
    except (pygit2.GitError, OSError) as error:
        with suppress(FileExistsError):
            (root / ".git").mkdir()  # libgit2 keeps the errno to itself: let the system say it
        raise OSError(0, str(error)) from error
    for name, value in settings.items():
        made.config[name] = value


def borrow(folder: str, config: Path) -> None:
    """A bare repository that knows the remotes, and how to talk to them, from another's
    configuration."""
    made = pygit2.init_repository(folder, bare=True)
    made.config["include.path"] = str(config)


def around(folder: Path) -> tuple[Path, Path] | None:
    """Work tree and private folder of the repository that `folder` is in, if any."""
    found = pygit2.discover_repository(str(folder))
    workdir = pygit2.Repository(found).workdir if found else None
    return (Path(os.path.realpath(workdir)), common_dir(Path(found))) if found and workdir else None


def common_dir(git_dir: Path) -> Path:
    """Where objects and branches live: another folder for linked worktrees."""
    pointer = git_dir / "commondir"
    return (git_dir / pointer.read_text().strip()).resolve() if pointer.exists() else git_dir


def exclude(private: Path, line: str, name: str = "exclude") -> None:
    """Add a line to a repository's private `info/` file unless it is there."""
    place = private / "info" / name
    old = place.read_bytes() if place.exists() else b""
    if line.encode() in old.splitlines():
        return
    place.parent.mkdir(exist_ok=True)
    with place.open("ab") as file:
        file.write((b"\n" if old and not old.endswith(b"\n") else b"") + line.encode() + b"\n")


@contextmanager
def _readable() -> Iterator[None]:
    """Turn what libgit2 says about a missing or damaged object into a GitProblem."""
    try:
        yield
    except (KeyError, pygit2.GitError) as error:
        text = f"a part of the history cannot be read: {error}"
        raise GitProblem(
            text, kept="The notes in the folder are untouched.", hint="Run `oneiro doctor --fix`."
        ) from error
