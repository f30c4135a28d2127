"""A vault that says a thing everywhere it can be said, and a look at everything afterwards."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from oneiro_vault.app import App
from oneiro_vault.capture import spool
from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.worktree.files import digest
from tests.vault.support import git

TEXT = "Zoë's number is 555-0100 (home)"
NEEDLES = ("555-0100", "5550100", "555\\u002d0100")


def everything(root: Path, needles: tuple[str, ...] = NEEDLES) -> list[str]:
    """Where the number (or what is given) still is: any object, loose or packed, and any file of
    the vault, its repository and its indexes."""
    found = []
    done = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch"],
        cwd=root,
        capture_output=True,
        check=True,
        timeout=60,
    )
    for needle in needles:
        if needle.encode() in done.stdout:
            found.append(f"an object ({needle})")
        files = [path for path in root.rglob("*") if path.is_file()]
        found += [
            str(path.relative_to(root))
            for path in files
            if needle.encode() in path.read_bytes() or needle in path.name
        ]
    return found


def remember(app: App, text: str, **keys: object) -> str:
    found: str = app.call("remember", {"items": [{"text": text, **keys}]})["results"][0]["id"]
    return found


def said_everywhere(app: App) -> str:
    """The id of a memory that says it; so do a branch, a tag, a stash, a reflog, a report, a
    ledger, a picture's note, and the private files."""
    root, vault = app.house.root, app.house.vault
    ident = remember(app, f"{TEXT}, says Ann.", title=f"Call: {TEXT}")
    other = remember(app, "The boat is called Petrel.")
    app.call("reframe", {"id": ident, "text": f"She moved. {TEXT} all the same, says Bo."})
    app.call("recall", {"query": f"what if {TEXT}"})
    app.call("show", {"id": ident})
    derived = remember(app, f"Derived: {TEXT}, all the same.", derived_from=[ident])
    assert derived
    path = app.call("show", {"id": other})["path"]
    git(root, "tag", "-a", "-m", f"when {TEXT}", "v1")
    git(root, "branch", "side")
    (root / path).write_text((root / path).read_text() + "\n> Zoë's number\n> is 555-0100 (home)\n")
    git(root, "stash", "push", "-m", TEXT, "--", path)
    (root / path).write_text(
        (root / path).read_text() + "\nOnly in a reflog: 555-0100, " + TEXT + "\n"
    )
    git(root, "commit", "-qam", f"amended away: {TEXT}")
    git(root, "reset", "-q", "--hard", "HEAD~1")
    data = ("%PDF \0" + TEXT).encode()
    attachment = f"attachments/{digest(data)[:2]}/{digest(data)}.pdf"
    report = f"# Night\n\nmerged: {TEXT}, says Bo\n".encode()
    picture = (
        f"---\nid: 00000000abcd\ntype: semantic\ntitle: Shown\n---\n![[{attachment}]]\n".encode()
    )
    writes = [
        Write(attachment, data),
        Write("dreams/2026/11/night.md", report),
        Write("semantic/shown.md", picture),
    ]
    vault.apply(
        writes, Operation("merge", f"of {TEXT}", "dream", (other,), reason=f"because {TEXT}")
    )
    entry = {"schema": 1, "text": f"user: {TEXT}"}
    spool.put(spool.folder_of(str(vault.folder)), entry, "abc")
    (vault.folder / "questions").mkdir(exist_ok=True)
    (vault.folder / "questions/q1.json").write_text(json.dumps({"prompt": TEXT}))
    (vault.folder / "verdicts.db").write_text(TEXT)
    vault.journal.aside.mkdir(exist_ok=True)
    (vault.journal.aside / "x.aside").write_text(TEXT)
    (app.house.index.folder / "logs").mkdir(exist_ok=True)
    (app.house.index.folder / "logs/owner.log").write_text(TEXT)
    vault.ledger.use(ident, "use", q=f"pending: {TEXT}")
    return ident
