"""Pictures of memories: taken in by what their bytes say, stored once under their hash, served in
the size that is asked for. The one room that knows Pillow, which is loaded when a picture comes."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256 as digest
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from oneiro_vault import answers
from oneiro_vault.api import Progress
from oneiro_vault.core import picture
from oneiro_vault.core.picture import Kind, Reference
from oneiro_vault.errors import InvalidInput, NotFound, OneiroError, StaleMemory, shown
from oneiro_vault.index.store import Index
from oneiro_vault.operations.indexing import Indexing
from oneiro_vault.operations.read.readable import served
from oneiro_vault.settings.definitions import Settings
from oneiro_vault.vault.change import Write
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.attachments import Attachments

if TYPE_CHECKING:
    from PIL.Image import Image

SIZES: Final = {"thumbnail": 240, "recall": 720, "full": 0}
"""Pixels of the longer edge; 0: as it is. Nothing is ever enlarged."""
MOST: Final = 16
"""Pictures of one memory."""
_KEPT: Final = "Nothing was written."


@dataclass(frozen=True)
class Stored:
    """A picture on its way in; `alt`: words for those who cannot see it."""

    data: bytes
    kind: Kind
    sha256: str
    alt: str = ""

    @property
    def path(self) -> str:
        """Where it goes."""
        return picture.path_of(self.sha256, picture.EXTENSIONS[self.kind.mime])

    def row(self) -> answers.Stored:
        """As the answer shows it."""
        return {
            "sha256": self.sha256,
            "path": self.path,
            "mime": self.kind.mime,
            "width": self.kind.width,
            "height": self.kind.height,
        }


# -- taking in


def received(settings: Settings, given: Any) -> list[Stored]:
    """`[{"data": base64, "alt"?: text}]` as pictures, each once. Raises InvalidInput, saying what
    is wrong with which."""
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence) or len(given) > MOST:
        raise InvalidInput(
            f"images must be a list of at most {MOST}",
            kept=_KEPT,
            hint='Each one looks like {"data": "<base64>"}.',
        )
    found: dict[str, Stored] = {}
    for number, one in enumerate(given, 1):
        try:
            stored = _received(settings, one)
        except InvalidInput as error:
            raise InvalidInput(f"image {number}: {error}", kept=_KEPT, hint=error.hint) from error
        found.setdefault(stored.sha256, stored)
    return list(found.values())


def _received(settings: Settings, one: Any) -> Stored:
    if (
        not isinstance(one, Mapping)
        or not {"data"} <= one.keys() <= {"data", "alt"}
        or not isinstance(one.get("alt", ""), str)
    ):
        raise InvalidInput(
            f"it cannot be {shown(one)}", hint='It looks like {"data": "<base64>", "alt": "words"}.'
        )
    data = _decoded(one["data"], settings["images.bytes"])
    return stored(settings, data, one.get("alt", ""))


def stored(settings: Settings, data: bytes, alt: str = "") -> Stored:
    """The bytes of a picture as it is to be stored. Raises InvalidInput for what is none."""
    kind = picture.sniff(data)
    if kind is None:
        raise InvalidInput(
            "this is not a PNG, JPEG, WebP or GIF picture",
            hint="Only these are stored; SVG and HTML can carry programs. Convert it first.",
        )
    bearable(kind, settings["images.pixels"])
    opened(data, kind, 1).close()
    if not settings["images.location"]:
        try:
            data = picture.without(data, kind.mime)
        except ValueError as error:
            raise InvalidInput(
                f"the picture is damaged: {error}", hint="Save it anew in any image program."
            ) from error
    return Stored(data, kind, digest(data).hexdigest(), alt)


def _decoded(data: Any, limit: int) -> bytes:
    if not isinstance(data, str):
        raise InvalidInput("`data` must be the picture in base64")
    text = data.partition(",")[2] if data.startswith("data:") else data
    if len(text) > limit * 4 // 3 + limit // 16 + 64:
        raise _too_large(len(text) * 3 // 4, limit)
    try:
        found = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInput("`data` is not base64", hint="Encode the bytes of the file.") from error
    if len(found) > limit:
        raise _too_large(len(found), limit)
    return found


def _too_large(size: int, limit: int) -> InvalidInput:
    return InvalidInput(
        f"the picture has {size:,} bytes; up to {limit:,} are stored",
        hint="Make it smaller.",
    )


def shown_in(body: str, note: str, pictures: Sequence[Stored]) -> str:
    """The body with an image link for every picture it does not show yet."""
    there = {one.sha256 for one in picture.references(body)}
    return _with(
        body, [picture.link(one.path, note, one.alt) for one in pictures if one.sha256 not in there]
    )


def carried(old: str, new: str, note: str) -> str:
    """The new body of a memory with the pictures that the old one showed."""
    there = {one.sha256 for one in picture.references(new)}
    return _with(
        new,
        [
            picture.link(one.path, note, one.alt)
            for one in picture.references(old)
            if one.sha256 not in there
        ],
    )


def _with(body: str, links: Sequence[str]) -> str:
    return body.rstrip("\n") + "\n\n" + "\n".join(links) + "\n" if links else body


def writes(vault: Vault, pictures: Sequence[Stored]) -> list[Write]:
    """What goes into the commit of the note besides it. Raises StaleMemory when a file of that name
    holds something else."""
    found = {one.path: Write(one.path, one.data) for one in pictures}
    for path, write in found.items():
        data = vault.files.content(path)
        if data is not None and data != write.data:
            raise StaleMemory(
                f"{path} is not what its name promises: it was changed or damaged",
                kept="Nothing was written, and the file stays as it is.",
                hint=f"If you edited it, give it another name; else `git restore {path}`.",
            )
    return list(found.values())


# -- serving


def of_note(vault: Vault, body: str) -> list[answers.Picture]:
    """The pictures a body shows; one that has not arrived yet has `present` false and no size."""
    return [_described(vault, one) for one in picture.references(body)]


def _described(vault: Vault, one: Reference) -> answers.Picture:
    kind = None
    with suppress(OneiroError):
        kind = picture.sniff(_attachments(vault).head_of(one.path))
    known = kind or Kind(one.mime, 0, 0)
    return {
        "sha256": one.sha256,
        "path": one.path,
        "mime": known.mime,
        "width": known.width or None,
        "height": known.height or None,
        "alt": one.alt,
        "present": kind is not None,
    }


def image(
    indexing: Indexing,
    settings: Settings,
    /,
    id: str,
    size: str = "recall",
    sha256: str | None = None,
) -> answers.Image:
    """One picture of a memory (the first, or the one whose hash begins so) as base64, in one of
    SIZES."""
    if size not in SIZES:
        raise InvalidInput(f"there is no size {shown(size)}", hint=f"One of {', '.join(SIZES)}.")
    row = indexing.resolve(id)
    wanted = sha256 or ""
    found = [
        one
        for one in picture.references(served(indexing, row)[1].body)
        if one.sha256.startswith(wanted.lower())
    ]
    if not found:
        which = f" with the hash {shown(wanted)}" if wanted else ""
        raise NotFound(
            f"{row.handle} shows no picture{which}", hint="`get` lists the pictures of a memory."
        )
    data, notice = _attachments(indexing.vault).read(found[0].path)
    kind = picture.sniff(data)
    if kind is None:
        raise InvalidInput(
            f"{found[0].path} is not a PNG, JPEG, WebP or GIF picture",
            kept="The file stays as it is.",
        )
    most, folder = settings["images.pixels"], indexing.index.folder
    data, kind = sized(folder, most, found[0].sha256, data, kind, SIZES[size])
    text = base64.b64encode(data).decode()
    return {
        "schema": 1,
        "id": row.handle,
        "sha256": found[0].sha256,
        "mime": kind.mime,
        "width": kind.width,
        "height": kind.height,
        "size": size,
        "data": text,
        "notice": notice or None,
    }


def _attachments(vault: Vault) -> Attachments:
    return Attachments(vault.files, vault.past)


# -- looking after


def problems(vault: Vault, index: Index, progress: Progress) -> Iterator[tuple[str, str, str]]:
    """(path, code, message): files that are not what their names promise, and what is shown and not
    here."""
    for path, message in _attachments(vault).damaged(progress):
        yield path, "attachment-damaged", message
    for path, body in index.with_pictures():
        for one in picture.references(body):
            if not _described(vault, one)["present"] and not vault.files.blob(one.path):
                yield path, "attachment-missing", f"it shows {one.path}, which is not here yet"


def unused(vault: Vault, mentioned: set[str]) -> list[str]:
    """Attachments that no note on disk mentions (`mentioned`: hashes)."""
    return [
        path
        for path in _attachments(vault).paths()
        if path.split("/")[2].partition(".")[0] not in mentioned
    ]


FOLDER: Final = "thumbs"
"""With the indexes, so that it may be deleted at any time."""
_FORMATS: Final = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/webp": "WEBP",
    "image/gif": "GIF",
}
_QUALITY: Final = 85


def bearable(kind: Kind, limit: int) -> None:
    """Raise InvalidInput for more pixels than may be decoded."""
    if kind.pixels > limit:
        raise InvalidInput(
            f"the picture has {kind.width:,} × {kind.height:,} pixels; up to {limit:,} are decoded",
            kept=_KEPT,
            hint="Make it smaller.",
        )


def sized(
    folder: Path, pixels: int, sha256: str, data: bytes, kind: Kind, edge: int
) -> tuple[bytes, Kind]:
    """The picture with its longer edge at most `edge`; made once and kept with the indexes."""
    if not edge or max(kind.width, kind.height) <= edge:
        return data, kind
    bearable(kind, pixels)
    mime = "image/png" if kind.mime == "image/gif" else kind.mime
    place = folder / FOLDER / f"{sha256}-{edge}.{picture.EXTENSIONS[mime]}"
    with suppress(OSError):
        small = place.read_bytes()
        known = picture.sniff(small)
        if known is not None and max(known.width, known.height) <= edge:
            return small, known
    small = _scaled(data, kind, edge, _FORMATS[mime])
    known = picture.sniff(small)
    assert known is not None, "we wrote it"
    with suppress(OSError):
        _put(place, small)
    return small, known


def _put(place: Path, data: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    temp = place.with_name(f".{secrets.token_hex(6)}")
    try:
        temp.write_bytes(data)
        temp.replace(place)
    finally:
        temp.unlink(missing_ok=True)


def opened(data: bytes, kind: Kind, edge: int) -> Image:
    """The decoded first frame, a JPEG no finer than twice `edge` needs. Raises InvalidInput."""
    from PIL import Image

    try:
        found = Image.open(BytesIO(data), formats=[_FORMATS[kind.mime]])
        if found.width * found.height > kind.pixels:
            raise ValueError("its header lies about its size")
        found.draft(None, (2 * edge, 2 * edge))
        found.load()
    except Exception as error:  # whatever a decoder makes of bytes from anywhere
        raise InvalidInput(
            f"the picture cannot be decoded: {error}",
            kept=_KEPT,
            hint="Save it anew in any image program.",
        ) from error
    return found


def _scaled(data: bytes, kind: Kind, edge: int, form: str) -> bytes:
    from PIL import Image, ImageOps

    found = opened(data, kind, edge)
    profile = found.info.get("icc_profile")
    upright = ImageOps.exif_transpose(found)
    if upright.mode not in ("RGB", "RGBA", "L", "LA"):
        upright = upright.convert(
            "RGBA" if "transparency" in found.info or upright.mode in ("P", "PA") else "RGB"
        )
    upright.thumbnail((edge, edge), Image.Resampling.LANCZOS)
    if form == "JPEG" and upright.mode not in ("RGB", "L"):
        upright = upright.convert("RGB")
    out = BytesIO()
    upright.save(
        out,
        form,
        quality=_QUALITY,
        icc_profile=profile if upright.mode in ("RGB", "RGBA") else None,
    )
    return out.getvalue()
