"""Programs that a client could have been told to start: one that answers, and several that do
not."""

from __future__ import annotations

import sys
from pathlib import Path

GOOD = """
import json, sys
NAMES = ["remember", "recall_check"]
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {}, "serverInfo": {"name": "stand-in", "version": "7"}}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
REFUSES = (
    "import json, sys; m = json.loads(input()); print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'error': "
    "{'code': 1, 'message': 'not today'}}), flush=True)"
)
NO_TOOLS = GOOD.replace('NAMES = ["remember", "recall_check"]', "NAMES = []")
CHATTERS = "print('Welcome!', flush=True); input()"
DIES = "import sys; sys.exit('the vault is on fire')"
SLEEPS = "import time; time.sleep(60)"
STAYS = GOOD + "\nimport time; time.sleep(60)"


def python(code: str) -> list[str]:
    """The command line that runs a piece of code."""
    return [sys.executable, "-c", code]


def oneiro(folder: Path, code: str = GOOD) -> Path:
    """An executable called `oneiro` that runs `code` whatever its arguments; it writes them to
    `folder/called`."""
    path = folder / "oneiro"
    path.write_text(
        f"#!{sys.executable}\nimport sys\nopen({str(folder / 'called')!r}, "
        f"'a').write(repr(sys.argv[1:]) + '\\n')\n{code}"
    )
    path.chmod(0o755)
    return path
