"""Pictures decoded and made smaller. The one room that knows Pillow, which is loaded when a picture
comes."""

from __future__ import annotations

import secrets
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from oneiro_vault.core import picture
from oneiro_vault.core.picture import Kind
from oneiro_vault.errors import InvalidInput
from oneiro_vault.operations.runtime import House

if TYPE_CHECKING:
    from PIL.Image import Image

FOLDER: Final = "thumbs"
"""With the indexes, so that it may be deleted at any time."""
_KEPT: Final = "Nothing was written."
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


def sized(house: House, sha256: str, data: bytes, kind: Kind, edge: int) -> tuple[bytes, Kind]:
    """The picture with its longer edge at most `edge`; made once and kept with the indexes."""
    if not edge or max(kind.width, kind.height) <= edge:
        return data, kind
    bearable(kind, house.settings["images.pixels"])
    mime = "image/png" if kind.mime == "image/gif" else kind.mime
    place = house.index.folder / FOLDER / f"{sha256}-{edge}.{picture.EXTENSIONS[mime]}"
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
    """The decoded first frame; a JPEG is decoded no finer than twice `edge` needs. Raises
    InvalidInput for what does not decode."""
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
