"""The command `tessera`."""

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
from pathlib import Path

import pytest
import tessera

PROGRAM = Path(tessera.__file__).parent / "bin" / "tessera"


def run(*words, **env):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, env=env or None, check=False)


def on_terminal(columns, *words):
    """What a program writes to a terminal of that many columns."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.Popen([*map(str, words)], stdout=inner, env=env)
    os.close(inner)
    said = b""
    while True:
        try:
            said += os.read(outer, 4096)
        except OSError:  # the other end is closed
            break
    os.close(outer)
    assert done.wait() == 0
    return said.decode().replace("\r\n", "\n")


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


def test_targets_fit_the_terminal():
    lines = on_terminal(72, PROGRAM, "targets").splitlines()
    assert max(map(len, lines)) <= 72
    assert any(line.startswith(" " * 22 + "-") for line in lines), "options go on under those of the line before"
    words = [word for line in lines[1:] for word in line.split()]
    assert words == [word for line in run("targets").stdout.splitlines()[1:] for word in line.split()]


def test_what_the_machine_has_is_told_to_programs(tmp_path):
    env = {"TESSERA_CACHE_DIR": str(tmp_path / "cache")}
    told = json.loads(run("doctor", "--json", **env).stdout)
    assert told["api"] == "0.10.0" and told["threads"] >= 1 and isinstance(told["llvm"], int)
    assert told["cpu"]["name"] and set(told["cpu"]) == {"name", "triple", "features"}
    assert told["cache"] == json.loads(run("cache", "--json", **env).stdout)
    assert told["cache"] == {"folder": env["TESSERA_CACHE_DIR"], "kernels": 0, "bytes": 0, "max_bytes": 2**30}
    assert json.loads(run("cache", "clear", "--json", **env).stdout) == {"removed": 0}
    assert json.loads(run("cache", "--json", TESSERA_CACHE="0").stdout)["off"].startswith("TESSERA_CACHE=0")
    targets = {row["kind"]: row for row in json.loads(run("targets", "--json").stdout)["targets"]}
    assert targets["llvm"]["code"] == 1 and "mcpu" in targets["llvm"]["options"]


def test_the_version_names_the_release_and_that_of_the_api():
    assert re.fullmatch(r"tessera \d+\.\d+\.\d+ \(API of TVM 0\.10\.0\)\n", run("--version").stdout)


def completed(*words):
    """What bash offers for the last of these words."""
    script = run("completion", "bash").stdout
    typed = " ".join(f"'{word}'" for word in words)
    asked = f'{script}\nCOMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _tessera; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True).stdout.split()


def test_bash_completes_commands_flags_and_the_words_that_flags_take(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.onnx").touch()
    assert completed("tessera", "com") == ["compile", "completion"]
    assert completed("tessera", "--conf") == ["--config"]
    assert completed("tessera", "run", "--prof") == ["--profile"]
    assert completed("tessera", "run", "--device", "cu") == ["cuda"]
    assert completed("tessera", "-v", "run", "mod") == ["model.onnx"]
    assert completed("tessera", "--config", "mine", "cache", "cl") == ["clear"]
    assert completed("tessera", "completion", "") == ["bash", "zsh", "fish"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script_that_they_can_read(shell):
    script = run("completion", shell).stdout
    for part in ("compile", "--device" if shell == "zsh" else "-l device", "cuda", "tvmc"):
        assert part in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


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
