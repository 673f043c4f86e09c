"""The command `tessera`."""

import subprocess
from pathlib import Path

import pytest
import tessera

PROGRAM = Path(tessera.__file__).parent / "bin" / "tessera"


def run(*words, **env):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, env=env or None, check=False)


def test_the_cache_is_shown_and_emptied(tmp_path):
    env = {"TESSERA_CACHE_DIR": str(tmp_path / "cache")}
    shown = run("cache", **env)
    assert shown.returncode == 0 and str(tmp_path / "cache") in shown.stdout and "kernels  0" in shown.stdout
    assert run("cache", "clear", **env).stdout == "removed 0 kernels\n"
    assert "off: TESSERA_CACHE=0" in run("cache", TESSERA_CACHE="0").stdout


def test_the_doctor_tells_what_there_is():
    told = run("doctor")
    assert told.returncode == 0
    assert [line.split()[0] for line in told.stdout.splitlines()] == [
        *("tessera", "llvm", "cpu", "threads", "cuda", "opencl", "cache")
    ]


def test_targets_are_listed():
    rows = {line.split()[0]: line for line in run("targets").stdout.splitlines()}
    assert "yes" in rows["llvm"] and "-mcpu" in rows["llvm"] and "cuda" in rows


def test_without_a_command_the_usage_is_shown_and_the_exit_code_is_1():
    told = run()
    assert told.returncode == 1 and "Usage: tessera" in told.stdout


@pytest.mark.parametrize("words", [["frobnicate"], ["cache", "--no-such-flag"]])
def test_a_wrong_command_line_is_told_and_exits_with_2(words):
    told = run(*words)
    assert told.returncode == 2 and "--help" in told.stderr + told.stdout


def test_unknown_words_are_told_in_order_with_what_may_have_been_meant():
    told = run("run", "m.tar", "--fill-mod", "ones", "--devise=cpu", "stray", "--zzz")
    assert told.returncode == 2
    assert "run does not know --devise=cpu (did you mean --device?), stray, --zzz\n" in told.stderr
    assert "unknown: cmopile (did you mean compile?), m.onnx" in run("cmopile", "m.onnx").stderr


def test_a_flag_may_be_abbreviated_as_argparse_has_it():
    told = run("run", "no-such.tar", "--output", "x.npz", "--print-ti", "--fill=zeros")
    assert told.returncode == 4 and "no-such.tar" in told.stderr
    told = run("run", "no-such.tar", "--print")
    assert told.returncode == 2 and "--print could mean --print-time, --print-top" in told.stderr
    assert run("run", "no-such.tar", "--", "--print").returncode == 2


def test_help_names_the_commands():
    told = run("--help")
    assert told.returncode == 0
    for command in ("cache", "compile", "doctor", "run", "targets"):
        assert command in told.stdout
