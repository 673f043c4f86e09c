"""The example of a code generator in Python, which writes C."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "examples"))
import external_codegen  # noqa: E402


def test_the_generator_fits_a_page():
    tree = ast.parse((ROOT / "examples" / "external_codegen.py").read_text())
    parts = [
        node for node in tree.body if getattr(node, "name", "LOOPS") in ("LOOPS", "is_taken", "generate", "register")
    ]
    lines = sum(
        node.end_lineno - node.lineno + 1 for node in parts if not isinstance(node, (ast.Import, ast.ImportFrom))
    )
    assert lines <= 60


def test_a_small_resnet50_by_loops_in_c_gives_our_answers(capsys):
    external_codegen.main(image=32)
    assert "resnet50: 53 functions as C loops" in capsys.readouterr().out


@pytest.mark.slow
def test_resnet50_by_loops_in_c_gives_our_answers():
    external_codegen.main()
