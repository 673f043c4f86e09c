"""How far the printed and computed texts of TVM v0.10 are met; see tests/golden/README.md."""

import pathlib
import re
import subprocess
import sys

import golden_kinds
import pytest

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"

# The number of cases that agree, errors by type, must not fall. Raise a figure when more of them do.
AGREE = {
    "ansor_records": 110,
    "arith_simplify": 72,
    "autotvm_space": 83,
    "expr_str": 133,
    "graph_build": 99,  # load_module of a missing file is a FileNotFoundError, and v0.10's ValueError only as its base
    "lower_text": 195,
    "prim_func_script": 198,
    "relay_passes": 258,
    "relay_text": 179,
    "targets": 110,
    "tir_passes": 61,
    "topi_facts": 181,  # indices from data stay inside their tensors, and the sign of NaN is NaN
}


# The cases that differ, and why, where errors have to say what v0.10's say.
WITH_WORDS = {
    "expr_str": {
        "calls": "the number of an intrinsic is that of our LLVM",
        "stmt.attr_str": "v0.10 tells what its calling convention found, ours what to write",
    },
}


def run(program, errors="--error-types"):
    return subprocess.run(
        [sys.executable, str(GOLDEN / "run.py"), program, "--package", "tessera", errors, "--show"],
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.parametrize("program", sorted(AGREE))
def test_texts_agree_with_v0_10(program):
    done = run(program)
    summary = re.search(rf"^{program}: (\d+) same, (\d+) differ", done.stdout, re.M)
    assert summary, done.stdout + done.stderr
    assert int(summary.group(1)) >= AGREE[program], done.stdout
    if program in golden_kinds.PROGRAMS:
        assert golden_kinds.unexpected(program, done.stdout) == []


@pytest.mark.parametrize("program", sorted(WITH_WORDS))
def test_errors_have_the_words_of_v0_10(program):
    shown = run(program, "--error-words").stdout
    assert set(re.findall(rf"^{program}: DIFFERS (.*)", shown, re.M)) == set(WITH_WORDS[program]), shown


@pytest.mark.parametrize("kind", golden_kinds.KINDS)
def test_a_kind_of_difference_is_described(kind):
    page = (GOLDEN.parents[1] / "docs" / "compatibility.md").read_text()
    assert kind in " ".join(page.split())


def test_a_new_difference_is_noticed():
    shown = "lower_text: DIFFERS other.text\n    -a\n    +b\n"
    problems = golden_kinds.unexpected("lower_text", shown)
    assert "other.text differs, and no kind lists it" in problems
    shown = "lower_text: DIFFERS prefetch_rows.text\n    --- expected\n    +++ got\n    -@tir.prefetch(1)\n    +x = 1\n"
    assert "prefetch_rows.text: no kind of its allows +x = 1" in golden_kinds.unexpected("lower_text", shown)
