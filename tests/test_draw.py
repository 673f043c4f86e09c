"""bench/draw.py: which models are drawn."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
import draw

NAMES = [f"kind/{name}" for name in ("apple", "pear_1", "wild-cherry", "kiwi.2", "plum", "fig")]


def test_the_same_seed_draws_the_same_names_in_the_same_order():
    assert draw.drawn(NAMES, "abc", 3) == draw.drawn(list(reversed(NAMES)), "abc", 3)
    assert len({tuple(draw.drawn(NAMES, str(seed), 3)) for seed in range(20)}) > 5


def test_a_name_is_taken_out_where_a_text_has_it_as_a_word():
    texts = ["An Apple, pear_12", "wild-cherry pie; fig_tree, figs", "(kiwi.2)"]
    assert draw.mentioned(NAMES, texts) == {"kind/apple", "kind/wild-cherry", "kind/kiwi.2"}


def test_a_failure_says_its_last_error():
    assert draw.reason("warning: slow\nTypeError: no such thing\nbye\n") == "TypeError: no such thing"
    assert draw.reason("") == "no reason given"
