"""What models want before a text and do with its tokens, where their own files do not say it: one
row a family."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final, NamedTuple

from oneiro_vault.index.base import Kind

_RETRIEVE: Final = "Represent this sentence for searching relevant passages: "


class Family(NamedTuple):
    """`pooling`: `mean`, `cls` or `lasttoken`; what stands before a question and before a
    passage."""

    pooling: str = "mean"
    query: str = ""
    passage: str = ""


_FAMILIES: Final[tuple[tuple[str, Family], ...]] = (
    (r"\be5-(?!.*instruct)", Family("mean", "query: ", "passage: ")),
    (r"\bbge-m3\b", Family("cls")),
    (r"\bbge-.*-zh\b", Family("cls", "为这个句子生成表示以用于检索相关文章：")),
    (r"\bbge-", Family("cls", _RETRIEVE)),
    (r"arctic-embed-.*v2", Family("cls", "query: ")),
    (r"arctic-embed|mxbai-embed", Family("cls", _RETRIEVE)),
    (r"nomic-embed-text", Family("mean", "search_query: ", "search_document: ")),
    (r"\bgte-(?:multilingual|.*v1\.5)", Family("cls")),
)


def family_of(name: str) -> Family:
    """The family of a model by its name: mean pooling and nothing before a text if it has none."""
    name = name.rstrip("/").rpartition("/")[2].lower()
    return next((family for pattern, family in _FAMILIES if re.search(pattern, name)), Family())


def prefixes_of(folder: Path, name: str) -> dict[Kind, str]:
    """What stands before a question and before a passage: what the model's files say, else its
    family."""
    said = settings_in(folder, "config_sentence_transformers.json")
    prompts = said.get("prompts") or {}
    usual = prompts.get(said.get("default_prompt_name")) or ""
    query, passage = (
        prompts.get("query") or usual,
        prompts.get("passage") or prompts.get("document") or usual,
    )
    family = Family(query=query, passage=passage) if query or passage else family_of(name)
    return {"query": family.query, "passage": family.passage}


def settings_in(folder: Path, file: str) -> Any:
    """One of a model's JSON files; an empty object if it has none."""
    path = folder / file
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
