"""What the prompt hook did, by the day."""

from __future__ import annotations

import os
import time
from pathlib import Path

from oneiro_vault.capture import prompt_counts


def test_each_outcome_is_counted_by_itself(tmp_path: Path) -> None:
    state = str(tmp_path / "oneiro")
    assert set(prompt_counts.today(state).values()) == {0}
    for outcome in (
        prompt_counts.INJECTED,
        prompt_counts.NOTHING,
        prompt_counts.NOTHING,
        prompt_counts.MISSED,
        prompt_counts.UNREACHED,
        prompt_counts.OFF,
    ):
        prompt_counts.note(state, outcome)
    assert prompt_counts.today(state) == {
        "injected": 1,
        "nothing": 2,
        "missed": 1,
        "unreached": 1,
        "off": 1,
    }
    (file,) = (tmp_path / "oneiro" / "prompts").iterdir()
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("innmuo", 0o600)


def test_other_days_do_not_count_and_old_ones_go(tmp_path: Path) -> None:
    folder = tmp_path / "prompts"
    folder.mkdir()
    for day in range(1, 20):
        (folder / f"2026-01-{day:02}").write_text("iii")
    prompt_counts.note(str(tmp_path), prompt_counts.INJECTED)
    assert prompt_counts.today(str(tmp_path))["injected"] == 1
    assert len(list(folder.iterdir())) == 7


def test_what_cannot_be_written_is_nobodys_trouble(tmp_path: Path) -> None:
    (tmp_path / "prompts").write_text("a file")
    prompt_counts.note(str(tmp_path), prompt_counts.INJECTED)
    assert set(prompt_counts.today(str(tmp_path)).values()) == {0}
    prompt_counts.note(os.devnull, prompt_counts.INJECTED)


def test_those_without_time_are_counted_for_a_week(tmp_path: Path) -> None:
    state = str(tmp_path)
    assert prompt_counts.told(prompt_counts.late(state)) == ""
    for outcome in (prompt_counts.START, prompt_counts.MISSED, prompt_counts.MISSED):
        prompt_counts.note(state, outcome)
    for days in (6, 8):
        at = time.localtime(time.time() - days * 86_400)
        (tmp_path / "prompts" / time.strftime("%Y-%m-%d", at)).write_text("cin")
    late = prompt_counts.late(state)
    assert late == {"starts": 1, "prompts": 2, "captures": 1}
    assert prompt_counts.told(late) == (
        "1 conversation began without its orientation, 2 prompts got no memories, 1 capture was "
        "left for the next"
    )
