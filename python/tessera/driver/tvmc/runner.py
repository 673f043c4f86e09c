"""Running compiled models."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...runtime import _ffi_api as _runtime_api
from ...runtime import ndarray as nd
from ...runtime.module import BenchmarkResult
from ...runtime.params import load_param_dict
from .. import _ffi_api
from .exceptions import TVMCException, from_core
from .model import TVMCPackage, TVMCResult
from .tracker import DEFAULT_PORT, tracker_host_port_from_cli

__all__ = ["add_run_parser", "drive_run", "generate_tensor_data", "get_input_info", "make_inputs_dict", "run_module"]

DEVICES = ("cpu", "cuda", "cl", "metal", "vulkan", "rocm")
FILL_MODES = ("zeros", "ones", "random")


def generate_tensor_data(shape: Any, dtype: str, fill_mode: str) -> np.ndarray:
    """An array of zeros, ones or random numbers."""
    if fill_mode == "zeros":
        return np.zeros(shape, dtype)
    if fill_mode == "ones":
        return np.ones(shape, dtype)
    if fill_mode == "random":
        if "int8" in dtype:
            return np.random.randint(128, size=shape).astype(dtype)
        return np.random.uniform(-1, 1, size=shape).astype(dtype)
    raise TVMCException(f"unknown fill-mode: {fill_mode}")


def get_input_info(graph_str: str, params: Any) -> tuple[dict[str, list[int]], dict[str, str]]:
    """Shapes and types of the inputs of a graph, by name, without those that the parameters give."""
    graph = json.loads(graph_str)
    known = set(load_param_dict(params))
    shapes, types = {}, {}
    for index in graph["arg_nodes"]:
        name = graph["nodes"][index]["name"]
        if name not in known:
            shapes[name] = graph["attrs"]["shape"][1][index]
            types[name] = graph["attrs"]["dltype"][1][index]
    return shapes, types


def make_inputs_dict(
    shape_dict: Mapping[str, Any],
    dtype_dict: Mapping[str, str],
    inputs: Mapping[str, Any] | None = None,
    fill_mode: str = "random",
) -> dict[str, Any]:
    """The inputs that are given, and the others as `fill_mode` says."""
    if inputs and (unknown := [name for name in inputs if name not in shape_dict]):
        raise TVMCException(
            f"the input tensor(s) {', '.join(unknown)} not in the graph; its inputs are {', '.join(shape_dict)}"
        )
    return {
        name: inputs[name]
        if inputs and name in inputs
        else generate_tensor_data(shape_dict[name], dtype_dict[name], fill_mode)
        for name in shape_dict
    }


def run_module(
    tvmc_package: TVMCPackage,
    device: str,
    hostname: str | None = None,
    port: int | str = 9090,
    rpc_key: str | None = None,
    inputs: Mapping[str, Any] | str | os.PathLike | None = None,
    fill_mode: str = "random",
    benchmark: bool = False,
    repeat: int = 10,
    number: int = 10,
    profile: bool = False,
    end_to_end: bool = False,
    options: Mapping[str, Any] | None = None,
) -> TVMCResult:
    """Runs a package once, or `repeat` times `number` times to `benchmark` it.

    `inputs` are arrays by name, or the path of an .npz file of them; those that are missing are filled as `fill_mode` says.
    `profile` prints the time of each kernel. Without `benchmark` the times are those of the one run. With `hostname` it runs on
    the machine of an RPC server: the one that listens there, or with `rpc_key` one that the tracker there lists.
    """
    _check(tvmc_package, device, hostname, rpc_key, fill_mode, repeat, number, profile, end_to_end, options)
    given = {
        name: value if isinstance(value, nd.NDArray) else nd.array(value) for name, value in _arrays(inputs).items()
    }
    choices: dict[str, Any] = {"fill_mode": fill_mode, "profile": profile, "end_to_end": end_to_end}
    if benchmark:
        choices.update(number=number, repeat=repeat)
    with from_core():
        if hostname:
            where = (device, hostname, int(port), rpc_key or "")
            ran = _ffi_api.run_remote_package(tvmc_package.package_path, *where, given, choices)
        else:
            module = _runtime_api.LoadPackage(tvmc_package.package_path)
            ran = _ffi_api.run_model(module, device, given, choices)
    if profile:
        print(ran["profile"])
    outputs = {f"output_{i}": value.numpy() for i, value in enumerate(ran["outputs"])}
    return TVMCResult(outputs, BenchmarkResult([float(seconds) for seconds in ran["seconds"]]))


def drive_run(args: Any) -> int:
    """Runs the package that parsed arguments name, prints what they ask for, and gives the exit code."""
    from .result_utils import get_top_results

    path = str(args.PATH)
    if not os.path.isfile(path):
        raise TVMCException(f"Input path '{path}' doesn't exist, is a broken symbolic link, or a directory.")
    hostname, port = tracker_host_port_from_cli(getattr(args, "rpc_tracker", None))
    result = run_module(
        TVMCPackage(path),
        args.device,
        hostname,
        port or DEFAULT_PORT,
        getattr(args, "rpc_key", None),
        inputs=getattr(args, "inputs", None),
        fill_mode=getattr(args, "fill_mode", "random"),
        benchmark=bool(getattr(args, "print_time", False)),
        repeat=getattr(args, "repeat", 1),
        number=getattr(args, "number", 1),
        profile=bool(getattr(args, "profile", False)),
        end_to_end=bool(getattr(args, "end_to_end", False)),
    )
    if getattr(args, "print_time", False):
        print(result.format_times())
    if getattr(args, "print_top", None):
        print(get_top_results(result, args.print_top))
    if getattr(args, "outputs", None):
        result.save(args.outputs)
    return 0


def _arrays(inputs: Mapping[str, Any] | str | os.PathLike | None) -> Mapping[str, Any]:
    if not isinstance(inputs, (str, os.PathLike)):
        return inputs or {}
    try:
        with np.load(inputs, allow_pickle=False) as file:
            return dict(file)
    except (OSError, ValueError, TypeError) as error:
        raise TVMCException(f"{os.fspath(inputs)} is no .npz file of inputs: {error}") from error


def _check(
    package: TVMCPackage,
    device: str,
    hostname: Any,
    rpc_key: Any,
    fill_mode: str,
    repeat: int,
    number: int,
    profile: bool,
    end_to_end: bool,
    options: Any,
) -> None:
    """What cannot be is said before anything runs."""
    if not isinstance(package, TVMCPackage):
        raise TVMCException(f"run takes a TVMCPackage, which `compile` gives, not {type(package).__name__}")
    if package.type == "mlf" or device == "micro" or options:
        raise TVMCException("microTVM (Model Library Format, the device micro, project options) is not there yet")
    if device not in DEVICES:
        raise TVMCException(f'there is no device "{device}"; devices are {", ".join(DEVICES)}')
    if rpc_key and not hostname:
        raise TVMCException("rpc_key asks a tracker for a device: name the tracker too (hostname, port)")
    if hostname and profile:
        raise TVMCException("kernels are profiled on the machine that runs them, not from another (hostname)")
    if fill_mode not in FILL_MODES:
        raise TVMCException(f'fill_mode is one of {", ".join(FILL_MODES)}, not "{fill_mode}"')
    for name, value in (("repeat", repeat), ("number", number)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise TVMCException(f"{name} is a number from 1 on, not {value!r}")
    if profile and end_to_end:
        raise TVMCException("end_to_end measures a whole run and profile its kernels: choose one of them")


def add_run_parser(subparsers: Any, main_parser: Any, json_params: list[dict[str, Any]]) -> None:
    """Adds the command `run` to a program of one's own; what JSON says are the defaults of its flags."""
    from .commands import add_run_parser as add

    add(subparsers, main_parser, json_params)
