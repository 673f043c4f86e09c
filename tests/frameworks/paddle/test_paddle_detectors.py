"""Operators of detectors against Paddle. They are written as static programs, which Paddle makes for a whole process or not at all."""

import subprocess
import sys
from pathlib import Path


def test_operators_of_detectors_agree():
    cases = Path(__file__).parent / "detector_cases.py"
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", str(cases)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
