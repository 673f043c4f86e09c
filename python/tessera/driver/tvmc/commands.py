"""The commands of tvmc as parsers of argparse, for programs that look at them or put their own beside them.

The work is the native program's: a command is run with the words as they were given.
"""

from __future__ import annotations

import argparse
from typing import Any, Callable

from ...relay.backend import Executor, Runtime
from .autotuner import TUNERS
from .frontends import get_frontend_names
from .main import native, register_parser
from .pass_list import parse_pass_list_str
from .registry import generate_registry_args
from .runner import DEVICES, FILL_MODES
from .shape_parser import parse_shape_string
from .target import generate_target_args
from .workspace_pools import generate_workspace_pools_args

__all__ = ["add_compile_parser", "add_micro_parser", "add_run_parser", "add_tune_parser"]

_LAYOUTS = ("NCHW", "NHWC")


def _command(name: str, what: str) -> Callable[[Callable], Callable]:
    """Registers a command whose flags the decorated function adds; what JSON says are their defaults."""

    def decorate(add_flags: Callable[[argparse.ArgumentParser], None]) -> Callable:
        def add(commands: Any, _: argparse.ArgumentParser, json_params: list[dict[str, Any]]) -> None:
            parser = commands.add_parser(name, help=what)
            add_flags(parser)
            parser.set_defaults(func=native)
            for defaults in json_params:
                parser.set_defaults(**defaults)

        add.__doc__ = add_flags.__doc__
        add.is_native = True  # type: ignore[attr-defined]
        return register_parser(add)

    return decorate


def _model_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("FILE", help="the model")
    parser.add_argument("--model-format", choices=get_frontend_names(), help="its format, where the name does not tell")
    parser.add_argument("--input-shapes", type=parse_shape_string, help='"name:[1,3,224,224] other:[1,2]"')
    parser.add_argument("--desired-layout", choices=_LAYOUTS, help="the layout of convolutions")


@_command("compile", "compile a model")
def add_compile_parser(parser: argparse.ArgumentParser) -> None:
    """The command `compile`."""
    _model_flags(parser)
    generate_registry_args(parser, Executor, "graph")
    generate_registry_args(parser, Runtime, "cpp")
    generate_target_args(parser)
    generate_workspace_pools_args(parser)
    parser.add_argument("--cross-compiler", default="", help="a C++ compiler that links for the target's machine")
    parser.add_argument("--cross-compiler-options", default="", help="words for it")
    parser.add_argument("--dump-code", metavar="FORMAT", default="", help="also write relay, ll, asm, ...")
    parser.add_argument("-o", "--output", default="module.tar", help="the package that is written")
    parser.add_argument("-f", "--output-format", choices=["so", "mlf"], default="so", help="what it holds")
    parser.add_argument("--pass-config", action="append", metavar="name=value", help="a configuration of passes")
    parser.add_argument("--tuning-records", metavar="PATH", default="", help="a file of records of the tuners")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="say more")
    parser.add_argument(
        "-O", "--opt-level", type=int, choices=range(0, 4), default=3, metavar="[0-3]", help="of passes"
    )
    parser.add_argument("--disabled-pass", type=parse_pass_list_str, default="", help="passes, with commas between")
    parser.add_argument("--module-name", default="default", help="what the program calls itself")


@_command("run", "run a compiled model")
def add_run_parser(parser: argparse.ArgumentParser) -> None:
    """The command `run`."""
    parser.add_argument("PATH", help="a package")
    parser.add_argument("--device", choices=[*DEVICES, "micro"], default="cpu", help="where it runs")
    parser.add_argument("--fill-mode", choices=FILL_MODES, default="random", help="of inputs that are not given")
    parser.add_argument("-i", "--inputs", help="a .npz file")
    parser.add_argument("-o", "--outputs", help="a .npz file")
    parser.add_argument("--print-time", action="store_true", help="print what runs take")
    parser.add_argument("--print-top", metavar="N", type=int, help="print the N largest numbers of the first output")
    parser.add_argument("--profile", action="store_true", help="print what each kernel takes")
    parser.add_argument("--end-to-end", action="store_true", help="times include copies between host and device")
    parser.add_argument("--repeat", metavar="N", type=int, default=1, help="how many times are measured")
    parser.add_argument("--number", metavar="N", type=int, default=1, help="how many runs each is the mean of")
    parser.add_argument("--rpc-key", help="of a device that a tracker knows")
    parser.add_argument("--rpc-tracker", help="host:port")
    parser.add_argument("--list-options", action="store_true", help="list the options of a platform")


@_command("tune", "look for faster schedules")
def add_tune_parser(parser: argparse.ArgumentParser) -> None:
    """The command `tune`."""
    _model_flags(parser)
    generate_target_args(parser)
    parser.add_argument("-o", "--output", required=True, help="where records are written")
    parser.add_argument("--early-stopping", type=int, help="stop after so many trials without a better one")
    parser.add_argument("--min-repeat-ms", type=int, help="the least time of a measurement")
    parser.add_argument("--number", type=int, default=10, help="how many runs a measurement is the mean of")
    parser.add_argument("--parallel", type=int, default=4, help="how many builds at a time")
    parser.add_argument("--repeat", type=int, default=1, help="how many measurements")
    parser.add_argument("--rpc-key", help="of a device that a tracker knows")
    parser.add_argument("--rpc-tracker", help="host:port")
    parser.add_argument("--target-host", default="llvm", help="the target of the host; written behind --target instead")
    parser.add_argument("--timeout", type=int, default=10, help="seconds of a measurement")
    parser.add_argument("--trials", type=int, default=1000, help="how many candidates")
    parser.add_argument("--tuning-records", metavar="PATH", help="records to begin with")
    parser.add_argument("--tuner", choices=TUNERS, default="xgb", help="how AutoTVM searches")
    parser.add_argument("--enable-autoscheduler", action="store_true", help="by the auto-scheduler")
    for flag in ("log-estimated-latency", "include-simple-tasks"):
        parser.add_argument(f"--{flag}", action="store_true", help="of the auto-scheduler")
    for flag in ("cache-line-bytes", "num-cores", "vector-unit-bytes", "max-shared-memory-per-block"):
        parser.add_argument(f"--{flag}", type=int, help="of the machine")
    for flag in ("max-local-memory-per-block", "max-threads-per-block", "max-vthread-extent", "warp-size"):
        parser.add_argument(f"--{flag}", type=int, help="of the machine")


@_command("micro", "projects for microcontrollers")
def add_micro_parser(parser: argparse.ArgumentParser) -> None:
    """The command `micro`."""
    projects = parser.add_subparsers(title="subcommands", dest="subcommand", required=True)
    for name in ("create", "create-project", "build", "flash"):
        projects.add_parser(name)
