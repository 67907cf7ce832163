"""The list of what people are promised to see names tests that exist, and every test in a browser is on it or is known."""

from __future__ import annotations

import ast
from pathlib import Path

FOLDER = Path(__file__).parent / "browser"
OTHERS = {
    "test_what_is_no_table_is_said_on_the_page",
    "test_no_choice_is_lost_when_answers_come_late",
    "test_the_table_that_was_asked_for_last_is_shown",
    "test_a_stopped_studio_is_said_and_a_new_one_has_what_was_finished",
    "test_codes_of_an_earlier_studio_are_remembered_and_drawn_again_from_its_release",
    "test_the_page_can_be_used_by_keyboard_and_is_read_aloud",
}
"""Tests of what goes wrong, which the list of sights has not."""


def test_every_behaviour_has_its_test():
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in FOLDER.glob("test_*.py")]
    there = {node.name for tree in trees for node in tree.body if getattr(node, "name", "").startswith("test_")}
    lines = (FOLDER / "sights.md").read_text(encoding="utf-8").splitlines()
    listed = [line.strip(" |").split(" | ")[1] for line in lines if line.startswith("| ")][1:]
    assert len(listed) > 25
    assert set(listed) | OTHERS == there
    assert not set(listed) & OTHERS
