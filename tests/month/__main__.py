"""`make demo-dreams`: the month with the real embedding model, shown night by night."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from tests.month.judge import competent, told
from tests.month.life import live, recall
from tests.month.story import DAYS, THREADS, story


def main() -> int:
    """Live it, and show what came out; the vault stays for looking at."""
    root = Path(tempfile.mkdtemp(prefix="oneiro-month-")) / "vault"
    screen = Console()
    talks = sum(len(day) for day in story())
    screen.print(
        f"{talks} conversations in {DAYS} days, every night all loops, judged by one who has read "
        f"the story.\n"
    )
    with Progress(console=screen, transient=True) as bar:
        task = bar.add_task("nights", total=DAYS)
        month = live(
            root,
            competent(),
            progress=lambda *_: bar.advance(task),
            settings={"embed.model": "default"},
        )
    try:
        found, gain = recall(month)
        stats = month.app.call("stats", {})
        said = sum(len(talk.told) for day in story() for talk in day)
        facts = told(month.app.call("orient", {})["text"])
        right = sum((thread.key, thread.at(DAYS - 1)) in facts for thread in THREADS)
        calls, tokens = (
            sum(run["calls"] for run in month.runs),
            sum(run["tokens_in"] + run["tokens_out"] for run in month.runs),
        )
        screen.print(month.app.call("orient", {})["text"], markup=False, highlight=False)
        screen.print(
            f"\nRecall@10 of what is true on the last day: {found:.3f} (nDCG@10 {gain:.3f})"
        )
        screen.print(
            f"Facts told: {said}; kept: {len(month.knowledge())} active notes; orientation: "
            f"{right} of {len(facts)} statements true"
        )
        screen.print(
            f"Judge: {calls} questions, {tokens:,} tokens in {DAYS} nights; notes by status: "
            f"{stats['statuses']}"
        )
        log = subprocess.run(
            ["git", "-C", str(root), "log", "--oneline", "-8"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        screen.print(f"\n{log}", markup=False, highlight=False)
        screen.print(
            f"The vault is in {root}. Try there:\n  oneiro runs\n  oneiro log --limit 20\n  "
            f"oneiro flags",
            highlight=False,
        )
        return int(found < 1.0 or right != len(facts) or not facts)
    finally:
        month.app.close()


if __name__ == "__main__":
    sys.exit(main())
