"""The programs of docs/tutorials/paddle.md."""

import os
import subprocess
import sys
from pathlib import Path

import tessera

ROOT = Path(__file__).resolve().parents[3]


def test_the_tutorial_does_what_it_says(tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / "tools/run_page.py"),
            str(ROOT / "docs/tutorials/paddle.md"),
            "--keep",
            str(tmp_path),
        ],
        env={**os.environ, "PYTHONPATH": str(Path(tessera.__file__).parents[1])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
