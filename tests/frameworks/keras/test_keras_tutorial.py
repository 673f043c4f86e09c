"""docs/tutorials/keras.md does what it says."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
from run_page import run_in_process  # noqa: E402


def test_the_page_does_what_it_says(tmp_path):
    done = run_in_process(ROOT / "docs" / "tutorials" / "keras.md", tmp_path)
    assert done.returncode == 0, done.stderr
