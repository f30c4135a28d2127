"""The program that rewrites a history: git-filter-repo, told by a plan that holds ids and lengths,
not one word of what goes.

Run as `python -P -c "… main()" PLAN` in the repository, by `rewrite`. Old object ids say what
changes, so that running it again on what it has written changes nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from oneiro_vault.vault.purge.text_search import MARK

PLAN = "plan.json"
_WORDS = (
    "--partial --force --quiet --prune-empty never --prune-degenerate never --replace-refs "
    "delete-no-add"
).split()


def mark_of(path: bytes) -> str:
    """How the plan names a path."""
    return sha256(path).hexdigest()


def cut(text: bytes, spans: list[list[int]]) -> bytes:
    """A message without these characters of it."""
    kept = text.decode("utf-8", "surrogateescape")
    for start, stop in reversed(spans):
        kept = kept[:start] + MARK + kept[stop:]
    return kept.encode("utf-8", "surrogateescape")


def main() -> None:
    """Rewrite every ref of the repository in the working directory."""
    import git_filter_repo as tool

    folder = Path(sys.argv[1])
    plan: Mapping[str, Any] = json.loads((folder / PLAN).read_bytes())
    blobs, messages, paths, people = (
        plan["blobs"],
        plan["messages"],
        plan["paths"],
        plan.get("people", {}),
    )

    def blob(found: Any, _: Any) -> None:
        stays = blobs.get(found.original_id.decode())
        if stays is False:
            found.skip()
        elif stays:
            found.data = (folder / found.original_id.decode()).read_bytes()

    def filename(path: bytes) -> bytes | None:
        new = paths.get(mark_of(path))
        return path if new is None else new.encode("utf-8", "surrogateescape") or None

    def message(found: Any, _: Any) -> None:
        oid = found.original_id.decode()
        found.message = cut(found.message, messages.get(oid, []))
        for key, spans in people.get(oid, {}).items():
            setattr(found, key, cut(getattr(found, key), spans))

    def commit(found: Any, metadata: Any) -> None:
        message(found, metadata)
        for place, change in enumerate(found.file_changes):
            if (
                change.type == b"M" and change.blob_id is None
            ):  # a file that goes away, where another one was before
                found.file_changes[place] = tool.FileChange(b"D", change.filename)

    options = tool.FilteringOptions.parse_args(_WORDS)
    made = tool.RepoFilter(
        options,
        filename_callback=filename,
        blob_callback=blob,
        commit_callback=commit,
        tag_callback=message,
    )
    made.cleanup = lambda *_words, **_more: (
        None
    )  # its `reset --hard` would write over what a person saves meanwhile
    made.run()
