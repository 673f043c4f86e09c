"""Every flag of tvmc's commands with its default, and how the program ends."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tessera.driver.tvmc import main as tvmc_main
from tessera.driver.tvmc.main import REGISTERED_PARSER

PROGRAM = Path(tvmc_main.__file__).parents[2] / "bin" / "tessera"
POOLS = """size-hint-bytes clock-frequency-hz read-bandwidth-bytes-per-cycle write-bandwidth-bytes-per-cycle
    read-latency-cycles write-latency-cycles target-burst-bytes targets"""
HARDWARE = """cache-line-bytes num-cores vector-unit-bytes max-shared-memory-per-block max-local-memory-per-block
    max-threads-per-block max-vthread-extent warp-size"""
DEFAULTS = {
    "compile": {
        "--cross-compiler": "",
        "--cross-compiler-options": "",
        "--desired-layout": None,
        "--dump-code": "",
        "--model-format": None,
        "--output": "module.tar",
        "--output-format": "so",
        "--pass-config": None,
        "--target": None,
        "--tuning-records": "",
        "--executor": "graph",
        "--executor-graph-link-params": None,
        "--executor-aot-link-params": None,
        "--executor-aot-unpacked-api": None,
        "--executor-aot-interface-api": None,
        "--executor-aot-workspace-byte-alignment": None,
        "--executor-aot-constant-byte-alignment": None,
        "--runtime": "cpp",
        "--runtime-cpp-system-lib": None,
        "--runtime-crt-system-lib": None,
        "--verbose": 0,
        "--opt-level": 3,
        "--input-shapes": None,
        "--disabled-pass": "",
        "--module-name": "default",
        "--workspace-pools": None,
        **{f"--workspace-pools-{name}": None for name in POOLS.split()},
        "--target-llvm-mcpu": None,
        "--target-cuda-arch": None,
    },
    "run": {
        "--device": "cpu",
        "--fill-mode": "random",
        "--inputs": None,
        "--outputs": None,
        "--print-time": False,
        "--print-top": None,
        "--profile": False,
        "--end-to-end": False,
        "--repeat": 1,
        "--number": 1,
        "--rpc-key": None,
        "--rpc-tracker": None,
    },
    "tune": {
        "--early-stopping": None,
        "--min-repeat-ms": None,
        "--model-format": None,
        "--number": 10,
        "--output": None,
        "--parallel": 4,
        "--repeat": 1,
        "--rpc-key": None,
        "--rpc-tracker": None,
        "--target": None,
        "--target-host": "llvm",
        "--timeout": 10,
        "--trials": 1000,
        "--tuning-records": None,
        "--desired-layout": None,
        "--enable-autoscheduler": False,
        "--input-shapes": None,
        "--tuner": "xgb",
        "--include-simple-tasks": False,
        "--log-estimated-latency": False,
        **{f"--{name}": None for name in HARDWARE.split()},
    },
}
SHORT = {"compile": {"-o": "--output", "-f": "--output-format", "-v": "--verbose", "-O": "--opt-level"},
         "run": {"-i": "--inputs", "-o": "--outputs"}, "tune": {"-o": "--output"}}  # fmt: skip


def parsers():
    commands = argparse.ArgumentParser(prog="tvmc", add_help=False).add_subparsers()
    for add in REGISTERED_PARSER:
        add(commands, None, [])
    return commands.choices


@pytest.mark.parametrize("command", DEFAULTS)
def test_flags_and_defaults(command):
    parser = parsers()[command]
    actions = {flag: action for action in parser._actions for flag in action.option_strings}
    assert set(DEFAULTS[command]) <= set(actions)
    found = {flag: parser.get_default(actions[flag].dest) for flag in DEFAULTS[command]}
    assert found == DEFAULTS[command]
    for short, long in SHORT[command].items():
        assert actions[short] is actions[long]


def run(*words, cwd=None):
    env = {**os.environ, "TESSERA_PYTHON": sys.executable}
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False, env=env, cwd=cwd)


RELU = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }\n'


@pytest.fixture
def model(tmp_path):
    (tmp_path / "model.relay").write_text(RELU)
    return tmp_path


def test_a_package_is_called_module_tar_where_nobody_says(model):
    done = run("compile", "model.relay", "--target", "llvm", cwd=model)
    assert done.returncode == 0, done.stderr
    assert (model / "module.tar").exists()
    assert run("run", "module.tar", cwd=model).returncode == 0


@pytest.mark.parametrize("flags", [["-v"], ["--verbose", "--verbose"], ["--runtime-cpp-system-lib", "0"]])
def test_flags_that_change_no_answer(model, flags):
    done = run("compile", "model.relay", "--target", "llvm", *flags, cwd=model)
    assert done.returncode == 0, done.stderr
    assert run("run", "module.tar", "--fill-mode", "ones", "--print-top", "1", cwd=model).returncode == 0


@pytest.mark.parametrize(
    "words, code",
    [
        ([], 1),
        (["--version"], 0),
        (["compile", "--no-such-flag"], 2),
        (["nonsense"], 2),
        (["compile", "none.onnx", "--target", "llvm"], 4),
        (["run", "none.tar"], 4),
        (["run", "none.tar", "--device", "tricorder"], 2),
        (["compile", "model.relay", "--target", "llvm", "--runtime-crt-system-lib", "1"], 4),
        (["compile", "model.relay", "--target", "llvm", "--target-cuda-arch", "sm_80"], 4),
        (["compile", "model.relay", "--target", "llvm", "-O", "9"], 2),
        (["compile", "model.relay", "--target", "llvm", "--disabled-pass", "NoSuchPass"], 4),
        (["tune", "model.relay", "--target", "llvm"], 2),
    ],
)
def test_codes_that_the_program_ends_with(model, words, code):
    done = run(*words, cwd=model)
    assert done.returncode == code, (done.stdout, done.stderr)
    if code == 4:
        assert done.stderr.startswith("Error: ")
