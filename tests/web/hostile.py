"""A vault whose every word is written by somebody who wants to run a script in the reader's
page, and what a page must not have in it."""

from __future__ import annotations

import io
import json
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

from PIL import Image, PngImagePlugin

from oneiro_vault.web import pages
from tests.box import Box
from tests.web.nights import lived

MARK = "pwned"
SCRIPT = f'"><script>window.{MARK}=1</script><img src=x onerror="window.{MARK}=2">\'{{{{7*7}}}}'
"""In every field that takes text."""
BODY = f"""{SCRIPT}

<script>window.{MARK}=3</script><svg onload="window.{MARK}=4"><style>*{{display:none}}</style>
<iframe src="javascript:window.{MARK}=5"></iframe><form action="https://evil.example"><input></form>

[click](javascript:window.{MARK}=6) [data](data:text/html,<script>window.{MARK}=7</script>)
![remote](https://evil.example/pixel.png) ![alt"onerror="window.{MARK}=8](x)
<javascript:window.{MARK}=9> <https://evil.example/"onmouseover="window.{MARK}=10>

[[x|<img src=y onerror=window.{MARK}=11>]] [[javascript:window.{MARK}=12]] [[../../../etc/passwd]]

| a | <b onclick="window.{MARK}=13">b</b> |
|:-:|--:|
| <a href="javascript:1" hx-get="/ui/health/mend" hx-trigger="load">x</a> | `<script>` |

> [!contradiction]- {SCRIPT}
> <meta http-equiv="refresh" content="0;url=https://evil.example">

```"><script>window.{MARK}=14</script>
<script>window.{MARK}=15</script>
```
# <base href="https://evil.example/">
"""
HERE = "--no-daemon"
NAME = f"x\"onmouseover='window.{MARK}=16'<b>&amp;.md"


def picture(folder: Path) -> Path:
    """A PNG with a script in each text it carries."""
    told = PngImagePlugin.PngInfo()
    for name in ("Title", "Comment", "Software"):
        told.add_text(name, SCRIPT)
    data = io.BytesIO()
    Image.new("RGB", (8, 8), "white").save(data, "PNG", pnginfo=told)
    path = folder / f"{MARK}<b>.png"
    path.write_bytes(data.getvalue())
    return path


def filled(box: Box) -> dict[str, str]:
    """Fill a vault by every door; a parameter of pages -> a value that leads somewhere."""
    first = lived(box, review=True)
    found = box.json(
        HERE, "remember", BODY, "--title", SCRIPT, "--description", SCRIPT, "--tag", "a-tag",
        "--about", SCRIPT, "--project", SCRIPT, "--session", SCRIPT, "--source", "import:evil",
        "--kind", "note", "--image", str(picture(box.folder)),
    )["results"][0]  # fmt: skip
    rows: list[dict[str, object]] = [
        {"text": f"{BODY} {kind}", "title": f"{SCRIPT} {kind}", "type": kind}
        for kind in ("orientation", "entity", "procedure", "episodic")
    ]
    rows.append({"text": f"{SCRIPT} is flagged.", "title": SCRIPT, "flags": ["contradiction"]})
    box.ok(HERE, "remember", "--from-jsonl", "-", stdin="\n".join(map(json.dumps, rows)).encode())
    box.ok(HERE, "forget", box.remember(f"Forget {SCRIPT}", HERE)["id"], "--reason", SCRIPT)
    by_hand = box.vault / "semantic" / NAME
    by_hand.write_text(
        f"---\ntitle: '{SCRIPT.replace(chr(39), '')}'\n{MARK}: '<script>'\n---\n{BODY}\n"
    )
    broken = box.vault / "semantic" / f"broken{NAME}"
    broken.write_text(f"---\ntitle: [{SCRIPT}\n---\n{BODY}\n")
    disguised = box.vault / "attachments" / "2026" / f"{'a' * 64}.png"
    disguised.parent.mkdir(parents=True, exist_ok=True)
    disguised.write_text(f"<svg xmlns='http://www.w3.org/2000/svg' onload='window.{MARK}=17'/>")
    box.ok(HERE, "undo", box.json(HERE, "log")["entries"][0]["commit"])
    return {
        "id": found["id"],
        "sha": found["images"][0]["sha256"],
        "run": box.json(HERE, "runs")["runs"][0]["run"] or first[0]["run"],
        "name": "style.css",
        "mark": "0",
    }


def addresses(values: dict[str, str]) -> dict[str, str]:
    """Every address of the table of pages -> one that can be asked for."""
    found = {}
    for pattern in pages.READS:
        path = pattern
        for name, value in values.items():
            path = path.replace(f"{{{name}}}", value)
        assert "{" not in path, f"say in `filled` what stands for a part of {pattern}"
        found[pattern] = path
    return found


class Reading(HTMLParser):
    """What a browser would do because of a page, that it must not: `faults`; `said`: its text."""

    OURS = ("/", "?", "#")
    LOADING = frozenset({"iframe", "frame", "object", "embed", "base", "applet", "style"})

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.said = ""
        self._script = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element and its attributes."""
        given = {name: value or "" for name, value in attrs}
        self._script = tag == "script"
        whole = f"<{tag} {given}>"
        bad = tag in self.LOADING or (tag == "script" and "/ui/static/" not in given.get("src", ""))
        bad = bad or (tag == "meta" and "http-equiv" in given)
        for name, value in given.items():
            bad = bad or name.startswith("on") or name == "style" or "hx-on" in name
            if name in ("href", "src", "action", "formaction") or name in ("hx-get", "hx-post"):
                bad = bad or not self._ours(tag, name, value)
        if bad:
            self.faults.append(whole)

    def _ours(self, tag: str, name: str, value: str) -> bool:
        scheme = urlsplit(value.strip()).scheme
        if tag == "a" and name == "href" and scheme in ("http", "https", "mailto"):
            return True
        return not scheme and not value.startswith("//") and value.startswith((*self.OURS,))

    def handle_data(self, data: str) -> None:
        """Text; of a script, none may be there."""
        if self._script and data.strip():
            self.faults.append(f"inline script: {data[:80]}")
        self.said += data

    def handle_endtag(self, tag: str) -> None:
        """The end of an element."""
        self._script = False
