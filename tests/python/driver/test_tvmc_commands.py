"""The commands of tvmc as parsers, and commands that users add."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tessera.driver.tvmc import main as tvmc_main
from tessera.driver.tvmc.exceptions import TVMCException
from tessera.driver.tvmc.main import REGISTERED_PARSER, _main, register_parser

PROGRAM = Path(tvmc_main.__file__).parents[2] / "bin" / "tessera"


def parsers(json_params=()):
    commands = argparse.ArgumentParser(prog="tvmc", add_help=False).add_subparsers()
    for add in REGISTERED_PARSER:
        add(commands, None, list(json_params))
    return commands.choices


def test_commands_and_defaults():
    found = parsers()
    assert sorted(found) == ["compile", "micro", "run", "tune"]
    args = found["compile"].parse_args(["net.onnx", "--input-shapes", "x:[1,2]", "--pass-config", "a=1", "-O2"])
    assert (args.FILE, args.opt_level, args.executor, args.output) == ("net.onnx", 2, "graph", "module.tar")
    assert args.input_shapes == {"x": [1, 2]} and args.pass_config == ["a=1"] and args.target is None
    assert found["run"].parse_args(["m.tar"]).fill_mode == "random"
    with pytest.raises(SystemExit):
        found["tune"].parse_args(["net.onnx"])  # --output is required


def test_defaults_of_a_configuration():
    assert parsers([{"output": "other.tar", "opt_level": 1}])["compile"].parse_args(["net.onnx"]).output == "other.tar"


@pytest.mark.parametrize("command", ["compile", "run", "tune"])
def test_the_program_has_every_flag(command):
    """A flag that only the parser knew would be one that nobody serves."""
    env = {**os.environ, "TESSERA_PYTHON": sys.executable}
    for action in parsers()[command]._actions:
        for flag in action.option_strings:
            if flag.startswith("--target-") or flag in ("-h", "--help"):
                continue
            words = [flag] if action.nargs == 0 else [flag, "1"]
            told = subprocess.run([PROGRAM, command, *words], capture_output=True, text=True, check=False, env=env)
            assert "not expected" not in told.stderr and "unrecognized" not in told.stderr, (flag, told.stderr)


@pytest.fixture
def greeting():
    @register_parser
    def add(commands, main_parser, json_params):
        parser = commands.add_parser("greet")
        parser.add_argument("name")
        parser.set_defaults(func=greet)

    def greet(args):
        if args.name == "nobody":
            raise TVMCException("there is nobody")
        print(f"hello {args.name}")
        return 0

    yield
    REGISTERED_PARSER.remove(add)


def test_a_command_of_a_user(greeting, capfd):
    assert _main(["greet", "you"]) == 0 and capfd.readouterr().out == "hello you\n"
    assert _main(["greet", "nobody"]) == 4 and capfd.readouterr().err == "Error: there is nobody\n"
    assert _main(["run", "none.tar"]) == 4  # the program's own stay the program's


def test_without_the_registration_it_is_no_command(capfd):
    assert _main(["greet", "you"]) == 2
