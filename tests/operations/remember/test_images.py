"""Pictures: taken in by what they are, stored once beside their note, served in three sizes, and
bombs left unexploded."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from oneiro_vault.app import App
from oneiro_vault.core.picture import sniff
from oneiro_vault.errors import InvalidInput, NotFound, StaleMemory
from oneiro_vault.settings.definitions import Settings
from tests.operations.conftest import QUICK, Call, stored
from tests.operations.remember.test_write import clean, commits, git
from tests.pictures import FORMATS, SECRET, chunk, drawn, encoded, exif, opened, png_of, segment


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def remembered(
    call: Call, data: bytes, words: str = "The boat from the north.", **keys: Any
) -> dict[str, Any]:
    """Remember one picture; returns the result."""
    found: dict[str, Any] = call(
        "remember",
        items=[{"text": words, "images": [{"data": text(data), "alt": "The boat"}], **keys}],
    )["results"][0]
    return found


def served(
    call: Call, ident: str, size: str = "recall", **keys: Any
) -> tuple[dict[str, Any], bytes]:
    found = call("image", id=ident, size=size, **keys)
    return found, base64.b64decode(found["data"])


@pytest.mark.parametrize("form", FORMATS)
def test_a_picture_is_stored_with_its_note_in_one_commit(root: Path, call: Call, form: str) -> None:
    data, before = encoded(form, 300, 200), commits(root)
    row = remembered(call, data)
    sha = sha256(data).hexdigest()
    place = f"attachments/{sha[:2]}/{sha}.{ {'JPEG': 'jpg'}.get(form, form.lower()) }"
    assert row["images"] == [
        {"sha256": sha, "path": place, "mime": FORMATS[form], "width": 300, "height": 200}
    ]
    assert (root / place).read_bytes() == data
    assert commits(root) == before + 1
    assert set(git(root, "show", "--format=", "--name-only").split()) == {row["path"], place}
    assert f"\n\n![The boat](../../../{place})\n" in (root / row["path"]).read_text()
    assert ((root / row["path"]).parent / f"../../../{place}").resolve() == root / place
    assert clean(root)


def test_get_and_show_list_them(call: Call) -> None:
    row = remembered(call, encoded("PNG", 300, 200))
    image = call("get", ids=[row["id"]])["memories"][0]["images"]
    assert image == [row["images"][0] | {"alt": "The boat", "present": True}]
    assert call("show", id=row["id"])["images"] == image


def test_the_link_is_no_noise(call: Call) -> None:
    row = remembered(call, encoded())
    found = call("recall", query="boat from the north")["results"][0]
    assert (found["id"], found["description"]) == (row["id"], "The boat from the north.")
    assert row["images"][0]["sha256"] not in found["snippet"]


def test_a_shared_picture_is_stored_once(root: Path, call: Call) -> None:
    one = remembered(call, encoded(), "The boat from the north.")
    two = remembered(call, encoded(), "Winter in the harbour.")
    assert one["images"] == two["images"]
    assert [path.name for path in (root / "attachments").rglob("*.png")] == [
        f"{one['images'][0]['sha256']}.png"
    ]
    call("undo", commit=git(root, "log", "--format=%H", "--", one["path"]).split()[0])
    assert call("image", id=two["id"])["notice"] is None


def test_many_at_once(root: Path, call: Call) -> None:
    pictures = [encoded("PNG", 10 + number, 10) for number in range(3)]
    items = [
        {
            "text": f"number {number} of them",
            "images": [{"data": text(one)} for one in pictures[: number + 1]],
        }
        for number in range(3)
    ]
    items[0]["images"].append(items[0]["images"][0])  # type: ignore[attr-defined]  # the type is wider than what is in it
    done = call("remember", items=items)["results"]
    assert [len(row["images"]) for row in done] == [1, 2, 3]
    assert len(list((root / "attachments").rglob("*.png"))) == 3
    shas = [image["sha256"] for image in call("get", ids=[done[2]["id"]])["memories"][0]["images"]]
    assert [served(call, done[2]["id"], sha256=sha[:8])[0]["width"] for sha in shas] == [10, 11, 12]


def test_threads_at_once(root: Path, call: Call) -> None:
    with ThreadPoolExecutor(6) as pool:
        jobs = [
            pool.submit(remembered, call, encoded(), f"thread number {number} was here")
            for number in range(12)
        ]
        assert len({job.result(timeout=60)["images"][0]["path"] for job in jobs}) == 1
    assert clean(root)


def test_the_same_again_is_the_same_memory_and_another_picture_is_another(call: Call) -> None:
    words = "Ana prefers the release on Fridays because support is quiet"
    one = remembered(call, encoded("PNG", 30, 30), words)
    assert remembered(call, encoded("PNG", 30, 30), words)["duplicate_of"] == one["id"]
    assert remembered(call, encoded("PNG", 40, 40), words)["duplicate_of"] is None


def test_a_note_filed_elsewhere_links_right(root: Path, call: Call) -> None:
    row = remembered(call, encoded(), path="boats/petrel.md")
    assert f"![The boat](../{row['images'][0]['path']})" in (root / "boats/petrel.md").read_text()


def test_results_without_pictures_say_so(call: Call) -> None:
    assert call("remember", items=[{"text": "plain"}])["results"][0]["images"] == []


# -- what is refused
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (
            [{"data": text(b"<svg xmlns='http://www.w3.org/2000/svg'/>")}],
            "not a PNG, JPEG, WebP or GIF",
        ),
        (
            [{"data": text(b"<!doctype html><script>alert(1)</script>")}],
            "not a PNG, JPEG, WebP or GIF",
        ),
        ([{"data": text(b"PK\x03\x04" + bytes(99))}], "not a PNG, JPEG, WebP or GIF"),
        ([{"data": text(b"")}], "not a PNG"),
        ([{"data": "not base64!"}], "not base64"),
        ([{"data": "\ud800"}], "not base64"),
        ([{"data": b"raw"}], "in base64"),
        ([{"data": None}], "in base64"),
        ([{"alt": "x"}], "cannot be"),
        ([{"data": text(encoded()), "alt": 7}], "cannot be"),
        ([{"data": text(encoded()), "path": "x"}], "cannot be"),
        (["x"], "cannot be"),
        ({"data": text(encoded())}, "must be a list"),
        ("x", "must be a list"),
        (7, "must be a list"),
        ([{"data": text(encoded())}] * 17, "at most 16"),
        ([{"data": text(encoded()[:60])}], "cannot be decoded"),
        ([{"data": text(png_of(20, 20))}], "cannot be decoded"),
        ([{"data": text(b"GIF89a\x20\0\x20\0\0\0\0<script>")}], "cannot be decoded"),
        (
            [
                {
                    "data": text(
                        b"\xff\xd8" + segment(0xC0, b"\x08\0\x20\0\x20\x01\x01\x11\0") + b"\xff\xd9"
                    )
                }
            ],
            "cannot be decoded",
        ),
        ([{"data": text(png_of(30_000, 30_000))}], "30,000 × 30,000 pixels"),
        ([{"data": text(b"x" * 10_000_001)}], "bytes; up to"),
        ([{"data": "A" * 40_000_000}], "bytes; up to"),
        ([{"data": text(encoded())}, {"data": "?"}], "image 2: "),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_pictures_are_refused_and_nothing_is_written(
    root: Path, call: Call, images: Any, words: str
) -> None:
    before = commits(root)
    with pytest.raises(InvalidInput, match=words) as caught:
        call("remember", items=[{"text": "with a picture", "images": images}])
    assert caught.value.kept
    assert commits(root) == before
    assert clean(root)
    assert not (root / "attachments").exists()


def test_a_bad_picture_among_good_memories(root: Path, call: Call) -> None:
    items = [
        {"text": "one", "images": [{"data": text(encoded())}]},
        {"text": "two", "images": [{"data": "?"}]},
        {"text": "three"},
    ]
    done = call("remember", items=items, partial=True)
    assert [row["title"] for row in done["results"]] == ["one", "three"]
    assert [bad["item"] for bad in done["rejected"]] == [1]


BOMB = """
import base64, json, resource, sys
from oneiro_vault.app import App
from oneiro_vault.settings.definitions import Settings
from oneiro_vault.errors import InvalidInput
from pathlib import Path
from tests.pictures import encoded, png_of
settings = Settings({"embed.model": "hash", "disk.reserve": 0})
with App.open(Path(sys.argv[1]), settings) as app:
    app.call("remember", {"items": [{"text": "a small one first", "images": [{"data": base64.b64encode(encoded()).decode()}]}]})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = []
    for data in (png_of(30_000, 30_000), png_of(30_000, 30_000, bytes(20_000_000)), b"GIF89a\\xff\\xff\\xff\\xff\\0\\0\\0;"):
        try:
            app.call("remember", {"items": [{"text": "a bomb", "images": [{"data": base64.b64encode(data).decode()}]}]})
        except InvalidInput as error:
            said.append(str(error))
    print(json.dumps([said, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before]))
"""


@pytest.mark.slow
def test_a_bomb_is_refused_without_allocating(root: Path) -> None:
    """Decoded it would take 2.7 GB; the process may not grow by a tenth of that."""
    done = subprocess.run(
        [sys.executable, "-c", BOMB, str(root)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    said, grown = json.loads(done.stdout)
    assert len(said) == 3
    assert all("pixels" in one for one in said)
    assert grown < 200_000, f"{grown} kB"


def test_a_bomb_that_arrived_by_pull_is_not_decoded(root: Path, call: Call) -> None:
    data = png_of(30_000, 30_000)
    sha = sha256(data).hexdigest()
    place = root / "attachments" / sha[:2] / f"{sha}.png"
    place.parent.mkdir(parents=True)
    place.write_bytes(data)
    ident = stored(call, f"Look.\n\n![x](attachments/{sha[:2]}/{sha}.png)\n")
    with pytest.raises(InvalidInput, match="pixels"):
        call("image", id=ident)
    assert served(call, ident, "full")[1] == data


def test_a_picture_that_lies_about_its_size_is_not_decoded(root: Path, call: Call) -> None:
    """Two headers: ours reads the first, a decoder might take another."""
    big = encoded("JPEG", 3000, 3000)
    small = (
        b"\xff\xd8" + segment(0xC0, b"\x08\0\x20\0\x20\x03\x01\x22\0\x02\x11\1\x03\x11\1") + big[2:]
    )
    assert sniff(small) is not None
    with pytest.raises(InvalidInput, match="cannot be decoded"):
        remembered(call, small)


def test_what_is_too_large_is_refused(root: Path) -> None:
    with App.open(
        root,
        Settings(
            {"embed.model": "hash", "disk.reserve": 0, "images.bytes": 500, "images.pixels": 1000}
        ),
    ) as app:

        def call(op: str, **params: Any) -> dict[str, Any]:
            return app.call(op, params)

        with pytest.raises(InvalidInput, match="1,000 are decoded"):
            remembered(call, encoded("PNG", 40, 40))
        with pytest.raises(InvalidInput, match="up to 500 are stored"):
            remembered(call, encoded("PNG", 30, 30) + bytes(500))
        assert remembered(call, encoded("PNG", 30, 30))["images"]


# -- where it was taken
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
def test_the_place_is_taken_out_of_it(root: Path, call: Call, form: str) -> None:
    data = encoded(form, 900, 600, exif=exif())
    row = remembered(call, data)
    kept = (root / row["images"][0]["path"]).read_bytes()
    assert SECRET in data
    assert SECRET not in kept
    assert opened(kept).tobytes() == opened(data).tobytes()
    assert dict(opened(kept).getexif()) == {0x0112: 6}
    for blob in git(root, "rev-list", "--objects", "--all").split("\n"):
        raw = subprocess.run(
            ["git", "-C", str(root), "cat-file", "-p", blob.split(" ")[0] or "HEAD"],
            capture_output=True,
            check=True,
        ).stdout
        assert SECRET not in raw


def test_the_place_can_be_kept(root: Path) -> None:
    with App.open(
        root, Settings({"embed.model": "hash", "disk.reserve": 0, "images.location": True})
    ) as app:
        data = encoded("JPEG", 900, 600, exif=exif())
        done = app.call(
            "remember", {"items": [{"text": "x y z", "images": [{"data": text(data)}]}]}
        )["results"][0]
        assert (root / done["images"][0]["path"]).read_bytes() == data


# -- serving
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "edge"), [("thumbnail", 240), ("recall", 720), ("full", 1000)])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("upright", [False, True])
def test_sizes(call: Call, form: str, size: str, edge: int, upright: bool) -> None:
    width, height = (500, 1000) if upright else (1000, 500)
    row = remembered(call, encoded(form, width, height))
    found, data = served(call, row["id"], size)
    assert found.keys() == {
        "schema",
        "id",
        "sha256",
        "mime",
        "width",
        "height",
        "size",
        "data",
        "notice",
        "degraded",
    }
    assert (max(found["width"], found["height"]), min(found["width"], found["height"])) == (
        edge,
        edge // 2,
    )
    assert (found["width"] > found["height"]) != upright
    kind = sniff(data)
    assert kind is not None
    assert (kind.mime, kind.width, kind.height) == (found["mime"], found["width"], found["height"])
    assert found["mime"] == ("image/png" if form == "GIF" and size != "full" else FORMATS[form])
    assert opened(data).size == (found["width"], found["height"])


@pytest.mark.parametrize("size", ["thumbnail", "recall", "full"])
def test_nothing_is_enlarged(call: Call, size: str) -> None:
    data = encoded("PNG", 100, 60)
    found, got = served(call, remembered(call, data)["id"], size)
    assert (got, found["width"], found["height"]) == (data, 100, 60)


@pytest.mark.parametrize(
    ("form", "mode", "options"),
    [
        ("PNG", "RGBA", {}),
        ("PNG", "LA", {}),
        ("PNG", "P", {}),
        ("PNG", "1", {}),
        ("PNG", "I;16", {}),
        ("JPEG", "CMYK", {}),
        ("JPEG", "L", {}),
        ("WEBP", "RGBA", {"lossless": True}),
        ("GIF", "P", {"transparency": 3}),
    ],
)
def test_every_kind_of_pixel_can_be_made_smaller(
    call: Call, form: str, mode: str, options: dict[str, Any]
) -> None:
    source = (
        drawn(900, 600, "I;16" if mode == "I;16" else mode)
        if mode != "I;16"
        else Image.new("I;16", (900, 600), 30_000)
    )
    out = BytesIO()
    source.save(out, form, **options)
    found, _ = served(call, remembered(call, out.getvalue())["id"], "thumbnail")
    assert (found["width"], found["height"]) == (240, 160)


def test_a_photo_taken_sideways_stands_upright(call: Call) -> None:
    found, data = served(
        call, remembered(call, encoded("JPEG", 900, 600, exif=exif()))["id"], "thumbnail"
    )
    assert (found["width"], found["height"]) == (160, 240)
    assert SECRET not in data


def test_an_animation_shows_its_first_frame_small_and_all_of_it_in_full(call: Call) -> None:
    out = BytesIO()
    frames = [drawn(800, 600, "P"), drawn(800, 600, "P").rotate(90)]
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], comment=b"x")
    row = remembered(call, out.getvalue())
    assert served(call, row["id"], "thumbnail")[0]["mime"] == "image/png"
    assert Image.open(BytesIO(served(call, row["id"], "full")[1])).n_frames == 2  # type: ignore[attr-defined]  # the type is wider than what is in it


def test_small_ones_are_made_once_outside_git(root: Path, call: Call) -> None:
    row = remembered(call, encoded("JPEG", 900, 600))
    served(call, row["id"], "thumbnail")
    place = root / ".oneiro" / "thumbs" / f"{row['images'][0]['sha256']}-240.jpg"
    first = place.stat().st_mtime_ns
    _, data = served(call, row["id"], "thumbnail")
    assert (place.read_bytes(), place.stat().st_mtime_ns) == (data, first)
    place.write_bytes(b"<html>")
    assert served(call, row["id"], "thumbnail")[1] == data
    place.write_bytes(encoded("JPEG", 900, 600))
    assert served(call, row["id"], "thumbnail")[1] == data
    assert clean(root)


def test_a_folder_for_thumbs_that_cannot_be_written_stops_nobody(root: Path, call: Call) -> None:
    row = remembered(call, encoded("JPEG", 900, 600))
    (root / ".oneiro" / "thumbs").write_text("in the way")
    assert served(call, row["id"], "thumbnail")[0]["width"] == 240


@pytest.mark.parametrize("params", [{"size": "huge"}, {"size": 240}, {"size": None}, {"sha256": 7}])
def test_image_checks_what_it_is_given(call: Call, params: dict[str, Any]) -> None:
    row = remembered(call, encoded())
    with pytest.raises(InvalidInput):
        call("image", id=row["id"], **params)


def test_only_pictures_of_that_memory(root: Path, call: Call) -> None:
    one, two = (
        remembered(call, encoded("PNG", 30, 30)),
        remembered(call, encoded("PNG", 40, 40), "Winter in the harbour."),
    )
    with pytest.raises(NotFound, match="shows no picture with the hash"):
        call("image", id=one["id"], sha256=two["images"][0]["sha256"])
    plain = stored(call, "No picture here.")
    with pytest.raises(NotFound, match="shows no picture"):
        call("image", id=plain)
    secret = root / "attachments" / "ab" / f"ab{'0' * 62}.png"
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.symlink_to("/etc/passwd")
    ident = stored(call, f"![x](attachments/ab/{secret.name})")
    with pytest.raises((InvalidInput, NotFound, StaleMemory)) as caught:
        call("image", id=ident)
    assert "root:" not in str(caught.value)


# -- missing, damaged, unused
# --------------------------------------------------------------------------------------------------


def test_a_picture_that_is_not_here_yet(root: Path, call: Call) -> None:
    sha = "ab" + "0" * 62
    ident = stored(call, f"The boat.\n\n![The boat](../../../attachments/ab/{sha}.png)\n")
    found = call("get", ids=[ident])["memories"][0]
    assert found["images"] == [
        {
            "sha256": sha,
            "path": f"attachments/ab/{sha}.png",
            "mime": "image/png",
            "width": None,
            "height": None,
            "alt": "The boat",
            "present": False,
        }
    ]
    with pytest.raises(NotFound, match="not here yet"):
        call("image", id=ident)
    assert [(p["code"], p["level"]) for p in call("check")["problems"]] == [
        ("attachment-missing", "warning")
    ]
    assert "attachment-missing" in {p["code"] for p in call("doctor")["problems"]}


def test_a_clone_that_gets_the_picture_later(root: Path, tmp_path: Path, call: Call) -> None:
    """Sync in two steps: the note first, the picture after it."""
    row = remembered(call, encoded("PNG", 900, 600))
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(root), str(other))
    place = other / row["images"][0]["path"]
    data = place.read_bytes()
    git(other, "rm", "-q", row["images"][0]["path"])
    git(other, "commit", "-qm", "as if it had not come")
    with App.open(other, QUICK) as app:
        assert app.call("get", {"ids": [row["id"]]})["memories"][0]["images"][0]["present"] is False
        place.parent.mkdir(parents=True)
        place.write_bytes(data)
        assert app.call("get", {"ids": [row["id"]]})["memories"][0]["images"][0]["present"] is True
        assert app.call("image", {"id": row["id"]})["width"] == 720


def test_a_flipped_byte_is_found_when_served_and_by_check_and_doctor(
    root: Path, call: Call
) -> None:
    data = encoded("JPEG", 900, 600)
    row = remembered(call, data)
    served(call, row["id"], "thumbnail")
    place = root / row["images"][0]["path"]
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 1
    place.write_bytes(flipped)
    found, got = served(call, row["id"], "full")
    assert got == data
    assert "not what its name promises" in found["notice"]
    for op in ("check", "doctor"):
        wrong = [p for p in call(op)["problems"] if p["code"] == "attachment-damaged"]
        assert [(p["level"], row["images"][0]["sha256"] in p["message"]) for p in wrong] == [
            ("error", True)
        ]
    git(root, "checkout", "-q", "--", row["images"][0]["path"])
    assert [p for p in call("check")["problems"] if p["code"].startswith("attachment")] == []


def test_a_damaged_one_is_not_overwritten_by_storing_it_again(root: Path, call: Call) -> None:
    row = remembered(call, encoded())
    place = root / row["images"][0]["path"]
    place.write_bytes(b"mine")
    with pytest.raises(StaleMemory, match="not what its name promises"):
        remembered(call, encoded(), "Another memory of the harbour.")
    assert place.read_bytes() == b"mine"


def test_unused_ones_are_named_and_never_deleted(root: Path, call: Call) -> None:
    row = remembered(call, encoded())
    place = root / row["images"][0]["path"]
    assert "attachment-unused" not in {p["code"] for p in call("doctor")["problems"]}
    call("forget", id=row["id"])
    unused = [p for p in call("doctor", fix=True)["problems"] if p["code"] == "attachment-unused"]
    assert [(p["level"], row["images"][0]["sha256"] in p["message"]) for p in unused] == [
        ("info", True)
    ]
    assert place.exists()
    call("restore", id=row["id"])
    assert served(call, row["id"], "full")[1] == place.read_bytes()
    assert "attachment-unused" not in {p["code"] for p in call("doctor")["problems"]}


def test_a_proposal_or_a_broken_note_is_reason_enough_to_keep_one(root: Path, call: Call) -> None:
    row = remembered(call, encoded(), status="pending")
    assert "attachment-unused" not in {p["code"] for p in call("doctor")["problems"]}
    (root / row["path"]).write_text(
        (root / row["path"]).read_text().replace("type:", "tags: [broken\ntype:")
    )
    assert "attachment-unused" not in {p["code"] for p in call("doctor")["problems"]}


# -- said anew
# --------------------------------------------------------------------------------------------------


def test_a_model_that_says_it_anew_keeps_the_picture(root: Path, call: Call) -> None:
    row = remembered(call, encoded())
    call("reframe", id=row["id"], text="The boat is called Petrel.", actor="model")
    body = call("show", id=row["id"])["body"]
    assert body.startswith("The boat is called Petrel.\n\n![The boat](../../../attachments/")
    call("reframe", id=row["id"], text=body + "\nIt is blue.\n", actor="model")
    assert call("show", id=row["id"])["body"].count("![") == 1
    call("reframe", id=row["id"], text="A person means what they say.")
    assert call("show", id=row["id"])["images"] == []


def test_a_proposal_shows_it_from_where_it_lies(root: Path, call: Call) -> None:
    row = remembered(call, encoded(), path="petrel.md", type="orientation")
    path = root / "petrel.md"
    path.write_text(path.read_text().replace("type:", "core: true\ntype:"))
    done = call("reframe", id=row["id"], text="The boat is called Petrel.", actor="model")
    assert f"](../{row['images'][0]['path']})" in (root / done["proposal"]["path"]).read_text()


def test_it_is_a_real_chunk() -> None:
    """The bomb's builder makes what decoders accept: else the tests above would prove nothing."""
    assert opened(png_of(1, 1, b"\0\x01\x02\x03")).getpixel((0, 0)) == (1, 2, 3)
    assert chunk(b"IEND", b"")[4:8] == b"IEND"


def test_no_picture_no_pillow(root: Path) -> None:
    code = (
        "import sys; from oneiro_vault import open_vault\n"
        f"with open_vault({str(root)!r}, embed_model='hash', disk_reserve=0) as vault:\n"
        "    vault.call('remember', {'items': [{'text': 'no picture'}]})\n"
        "    vault.call('orient')\n"
        "sys.exit('PIL' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
