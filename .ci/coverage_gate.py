"""The coverage floor: 95% of lines and branches overall, all of them where a miss could cost
somebody's words.

Reads the data that `coverage combine` left; exits 1 with the places that are not covered.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

OVERALL = 95.0
WHOLE = (
    "oneiro_vault/core/frontmatter/yaml_block.py",
    "oneiro_vault/vault/write/writer.py",
    "oneiro_vault/vault/write/recovery.py",
    "oneiro_vault/vault/write/journal.py",
)


def main() -> int:
    """Report and judge."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "coverage.json"
        subprocess.run(
            [sys.executable, "-m", "coverage", "json", "-q", "-o", str(file)], check=True
        )
        report = json.loads(file.read_text(encoding="utf-8"))
    subprocess.run([sys.executable, "-m", "coverage", "report", "--sort=cover"], check=False)
    total = report["totals"]["percent_covered"]
    missing = [place for name in WHOLE for place in missed(name, report["files"].get(name))]
    if total < OVERALL:
        print(f"coverage is {total:.2f}%, below {OVERALL}%")
    for place in missing:
        print(f"not covered: {place}")
    return int(total < OVERALL or bool(missing))


def missed(name: str, file: dict[str, Any] | None) -> list[str]:
    """Lines and branches of one file that no test reached; the file itself when it is not in the
    report at all."""
    if file is None:
        return [f"{name}: no longer measured"]
    lines = [f"{name}:{line}" for line in file["missing_lines"]]
    return lines + [f"{name}:{start} -> {end}" for start, end in file["missing_branches"]]


if __name__ == "__main__":
    sys.exit(main())
