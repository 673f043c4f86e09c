"""docs/tutorials/pytorch.md prints what it says."""

import os
import subprocess
import sys
from pathlib import Path

import tessera

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_does_what_it_says(tmp_path):
    page = ROOT / "docs" / "tutorials" / "pytorch.md"
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "run_page.py"), str(page), "--keep", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(tessera.__file__).parents[1])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
