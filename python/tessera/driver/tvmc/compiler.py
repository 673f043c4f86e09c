"""Compiling models into packages."""

from __future__ import annotations

import os
import pathlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ...ir.transform import PassContext
from ...relay.backend import Executor, Runtime
from ...relay.backend.executor_factory import GraphExecutorFactoryModule
from ...relay.build_module import check_supported
from ...runtime.vm import Executable
from ...target import Target
from .. import _ffi_api
from .exceptions import TVMCException, from_core
from .model import TVMCModel, TVMCPackage, check_output_format
from .pass_config import parse_configs
from .pass_list import parse_pass_list_str
from .target import target_from_cli

__all__ = ["add_compile_parser", "build", "compile_model", "drive_compile", "save_dumps"]


def compile_model(
    tvmc_model: TVMCModel,
    target: Any,
    opt_level: int = 3,
    executor: Executor | None = None,
    runtime: Runtime | None = None,
    tuning_records: str | os.PathLike | None = None,
    package_path: str | os.PathLike | None = None,
    cross: Any = None,
    cross_options: str | None = None,
    output_format: str = "so",
    dump_code: str | Sequence[str] | None = None,
    target_host: Any = None,
    desired_layout: str | None = None,
    disabled_pass: str | Sequence[str] | None = None,
    pass_context_configs: Sequence[str] | None = None,
    additional_target_options: Mapping[str, Mapping[str, Any]] | None = None,
    use_vm: bool = False,
    mod_name: str | None = "default",
    workspace_pools: Any = None,
    precision: str = "fp32",
) -> TVMCPackage:
    """Compiles a model and writes its package, to the model's own folder unless `package_path` says where.

    Without an `executor` a static model is compiled for the graph executor, and one with control flow or dynamic shapes
    (or with `use_vm`) for the virtual machine. `dump_code` names texts that are written beside the package: "relay", and
    what the target has ("ll", "asm", ...). `cross` is the compiler that links the library, with `cross_options`.
    `precision` is that of `tessera compile`: "fp32", "fp16" or "bf16".
    """
    _check(tvmc_model, opt_level, output_format, workspace_pools)
    target, _ = target_from_cli(target, additional_target_options)
    if target_host is not None:
        target = Target(target, target_from_cli(target_host)[0])
    passes = disabled_pass if isinstance(disabled_pass, str) else ",".join(disabled_pass or [])
    with from_core():
        check_supported(executor or Executor("graph"), runtime)
    configs = parse_configs(pass_context_configs)
    records = _records(tvmc_model, tuning_records)
    if records is not None:
        with PassContext(opt_level=opt_level):
            configs["kernel.records"] = _plans_of_records(tvmc_model, target, records)

    options = {
        "target": target,
        "opt_level": opt_level,
        "executor": "vm" if use_vm else executor.name if executor is not None else "",
        "link_params": executor is not None and bool(executor["link-params"]),
        "disabled_pass": [name for name in parse_pass_list_str(passes) if name],
        "pass_config": configs,
        "desired_layout": desired_layout or "",
        "precision": precision,
        "module_name": mod_name or "default",
    }
    with from_core():
        built = _ffi_api.compile_model(tvmc_model.mod, tvmc_model.params, options)
    package_path = package_path if package_path is not None else tvmc_model.default_package_path()
    if dump_code:
        kinds = dump_code.split(",") if isinstance(dump_code, str) else dump_code
        save_dumps(os.fspath(package_path), {kind: _text(kind, tvmc_model, built["library"]) for kind in kinds})
    with from_core():
        tvmc_model.export_package(_factory(built, target), package_path, cross, cross_options, output_format)
    package = TVMCPackage(package_path)
    package._folder_of_model = tvmc_model._tmp_dir
    return package


def build(
    mod: Any,
    tvm_target: Any,
    executor: Executor,
    runtime: Runtime,
    params: Mapping[str, Any],
    use_vm: bool,
    mod_name: str,
    workspace_pools: Any,
) -> Any:
    """A module compiled by `relay.build`, or for the virtual machine."""
    from ... import relay

    if use_vm:
        return relay.vm.compile(mod, target=tvm_target, params=params)
    return relay.build(
        mod,
        target=tvm_target,
        executor=executor,
        runtime=runtime,
        params=dict(params) if params else None,
        mod_name=mod_name,
        workspace_memory_pools=workspace_pools,
    )


def drive_compile(args: Any) -> int:
    """Compiles the model that parsed arguments name, and gives the exit code."""
    from .frontends import load_model
    from .shape_parser import parse_shape_string

    if not os.path.isfile(args.FILE):
        raise TVMCException(f"Input file '{args.FILE}' doesn't exist, is a broken symbolic link, or a directory.")
    shapes = getattr(args, "input_shapes", None)
    shapes = parse_shape_string(shapes) if isinstance(shapes, str) else shapes
    model = load_model(args.FILE, getattr(args, "model_format", None), shapes)
    dumps = getattr(args, "dump_code", None)
    compile_model(
        model,
        args.target,
        opt_level=getattr(args, "opt_level", 3),
        package_path=args.output,
        cross=getattr(args, "cross_compiler", None) or None,
        cross_options=getattr(args, "cross_compiler_options", None) or None,
        output_format=getattr(args, "output_format", "so"),
        dump_code=[kind.strip() for kind in dumps.split(",")] if dumps else None,
        desired_layout=getattr(args, "desired_layout", None),
        disabled_pass=getattr(args, "disabled_pass", None),
        pass_context_configs=getattr(args, "pass_config", None),
        precision=getattr(args, "precision", None) or "fp32",
        mod_name=getattr(args, "module_name", "default"),
    )
    return 0


def save_dumps(module_name: str, dumps: Mapping[str, str], dump_root: str | os.PathLike = ".") -> None:
    """Writes each text as `<dump_root>/<module_name>.<its kind>`."""
    for kind, text in dumps.items():
        pathlib.Path(dump_root, f"{module_name}.{kind}").write_text(text, encoding="utf-8")


def _text(kind: str, model: TVMCModel, library: Any) -> str:
    return str(model.mod) if kind == "relay" else library.get_source(kind)


def _factory(built: Any, target: Target) -> Any:
    """What `relay.build` or `relay.vm.compile` would have given."""
    if str(built["executor"]) == "vm":
        return Executable(built["runnable"])
    params = {str(name): value for name, value in built["params"].items()}
    graph, library = str(built["graph_json"]), built["library"]
    return GraphExecutorFactoryModule(built["optimized"], target, Executor("graph"), graph, library, "default", params)


def _check(model: Any, opt_level: Any, output_format: str, workspace_pools: Any) -> None:
    """What cannot be is said before anything is compiled."""
    if not isinstance(model, TVMCModel):
        raise TVMCException(f"compile takes a TVMCModel, which `load` gives, not {type(model).__name__}")
    if not isinstance(opt_level, int) or not 0 <= opt_level <= 4:
        raise TVMCException(f"opt_level is a number from 0 to 4, not {opt_level!r}")
    check_output_format(output_format)
    if workspace_pools is not None:
        raise TVMCException("memory pools (workspace_pools) serve ahead-of-time compilation, which is not there yet")


def _records(model: TVMCModel, tuning_records: str | os.PathLike | None) -> str | None:
    """The file of records: the one that is given, else that of the model where `tune` wrote one."""
    if tuning_records:
        if not os.path.isfile(tuning_records):
            raise TVMCException(f"there are no tuning records at {os.fspath(tuning_records)}")
        return os.fspath(tuning_records)
    own = model.default_tuning_records_path()
    return own if os.path.isfile(own) else None


def _plans_of_records(model: TVMCModel, target: Target, path: str) -> dict[str, Any]:
    """Plans by workload, of `tune`'s own lines and of AutoTVM's; what cannot be used is told."""
    with from_core():
        records, plans, skipped = _ffi_api.look_at_records(path)
    out = dict(plans.items())
    lines = [str(line) for line in skipped]
    if any("a record of AutoTVM" in line for line in lines):
        lines = [line for line in lines if "a record of AutoTVM" not in line]
        out.update(_plans_of_autotvm(model, target, path))
    if lines:
        more = f", and {len(lines) - 3} more" if len(lines) > 3 else ""
        warnings.warn(f"{path}: {int(records)} records; skipped {'; '.join(lines[:3])}{more}", stacklevel=4)
    return out


def _plans_of_autotvm(model: TVMCModel, target: Target, path: str) -> dict[str, Any]:
    """What a log of AutoTVM says about the kernels of the model."""
    from ... import autotvm
    from ...autotvm.task.history import plans_of_context

    context = autotvm.apply_history_best(path)
    found = plans_of_context(model.mod, model.params, target, context)
    count = len({workload for table in (context.best_by_targetkey,) for _, workload in table})
    warnings.warn(
        f"{path}: of the {count} workloads that AutoTVM measured, {len(found)} decide about kernels of this model",
        stacklevel=5,
    )
    return found


def add_compile_parser(subparsers: Any, _: Any, json_params: list[dict[str, Any]]) -> None:
    """Adds the command `compile` to a program of one's own; what JSON says are the defaults of its flags."""
    from .commands import add_compile_parser as add

    add(subparsers, _, json_params)
