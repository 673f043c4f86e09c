"""A module of PyTorch compiled ahead of time, tuned if wanted, as another module of PyTorch."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ... import autotvm, relay
from ...ir.transform import PassContext
from ...runtime.module import load_module
from ...runtime.ndarray import cuda
from ...runtime.params import load_param_dict, save_param_dict
from .. import graph_executor
from ..debugger import debug_executor
from .module import GraphModule

__all__ = ["TVM_ASSETS", "PyTorchTVMModule", "compile", "get_tuning_opt", "tune_tasks"]

#: The files of an exported model.
TVM_ASSETS = ["mod.so", "graph.json", "params"]

_TUNERS = {
    "ga": lambda task: autotvm.tuner.GATuner(task, pop_size=100),
    "random": lambda task: autotvm.tuner.RandomTuner(task),
    "gridsearch": lambda task: autotvm.tuner.GridSearchTuner(task),
}


def tune_tasks(
    tasks: Sequence[Any],
    measure_option: Any,
    tuner: str = "xgb",
    n_trial: int = 1000,
    early_stopping: int | None = None,
    log_filename: str = "tuning.log",
    use_transfer_learning: bool = True,
) -> None:
    """Measures candidates for each task and appends the best ones to the log."""
    if tuner not in ("xgb", "xgb-rank", *_TUNERS):
        raise ValueError(f"Invalid tuner: {tuner}; there are xgb, xgb-rank, {', '.join(_TUNERS)}")
    candidates = f"{log_filename}.tmp"
    if os.path.exists(candidates):
        os.remove(candidates)
    for i, task in enumerate(reversed(tasks)):
        prefix = f"[Task {i + 1:2d}/{len(tasks):2d}] "
        search = _TUNERS[tuner](task) if tuner in _TUNERS else autotvm.tuner.XGBTuner(task, loss_type="rank")
        if use_transfer_learning and tuner not in _TUNERS and os.path.isfile(candidates):
            search.load_history(autotvm.record.load_from_file(candidates))
        count = min(n_trial, len(task.config_space))
        search.tune(
            n_trial=count,
            early_stopping=early_stopping,
            measure_option=measure_option,
            callbacks=[
                autotvm.callback.progress_bar(count, prefix=prefix),
                autotvm.callback.log_to_file(candidates),
            ],
        )
    if os.path.exists(candidates):
        autotvm.record.pick_best(candidates, log_filename)
        os.remove(candidates)


def get_tuning_opt(log_file: str = "tuning.log", n_trial: int = 200) -> dict[str, Any]:
    """Arguments for `tune_tasks`."""
    return {
        "tuner": "random",
        "n_trial": n_trial,
        "early_stopping": 60,
        "log_filename": log_file,
        "measure_option": autotvm.measure_option(
            builder=autotvm.LocalBuilder(timeout=10),
            runner=autotvm.LocalRunner(number=20, repeat=3, timeout=4, min_repeat_ms=150),
        ),
    }


class PyTorchTVMModule:
    """The steps from a scripted module to a compiled one: from_pytorch, tune_tvm, build_tvm, build_pytorch_module."""

    def __init__(self, target: Any = "cuda", device: Any = None) -> None:
        self.script_module: Any = None
        self.input_infos: Any = None
        self.default_dtype = "float32"
        self.mod: Any = None
        self.params: Any = None
        self.tasks: Any = None
        self.target = target
        self.dev = cuda(0) if device is None else device
        self.log_file: str | None = None
        self.tvm_module: Any = None
        self.tvm_graph: Any = None
        self.tvm_lib: Any = None
        self.tvm_params: Any = None
        self.export_dir: str | None = None

    def from_pytorch(self, script_module: Any, input_infos: Any, default_dtype: str = "float32") -> None:
        """Imports a module; see relay.frontend.from_pytorch."""
        self.script_module, self.input_infos, self.default_dtype = script_module, input_infos, default_dtype
        self.mod, self.params = relay.frontend.from_pytorch(script_module, input_infos, default_dtype=default_dtype)

    def tune_tvm(self, log_file: str = "tuning.log", n_trial: int = 200) -> None:
        """Tunes the kernels; the build takes what the log has."""
        self.tasks = autotvm.task.extract_from_program(self.mod["main"], params=self.params, target=self.target)
        self.log_file = log_file
        tune_tasks(self.tasks, **get_tuning_opt(log_file, n_trial))

    def build_tvm(self, export_dir: str, debug_runtime: bool = False) -> Any:
        """Compiles, writes the files of TVM_ASSETS into a folder, and gives an executor."""
        log = self.log_file if self.log_file and os.path.exists(self.log_file) else None
        with autotvm.apply_history_best(log), PassContext(opt_level=3):
            built = relay.build(self.mod, target=self.target, params=self.params)
        self.tvm_graph, self.tvm_lib, self.tvm_params = built.get_executor_config(), built.get_lib(), built.get_params()
        create = debug_executor.create if debug_runtime else graph_executor.create
        self.tvm_module = create(self.tvm_graph, self.tvm_lib, self.dev)
        self.tvm_module.set_input(**self.tvm_params)
        self._export(export_dir)
        return self.tvm_module

    def _export(self, export_dir: str) -> None:
        os.makedirs(export_dir, exist_ok=True)
        self.export_dir = export_dir
        library, graph, params = self._assets()
        self.tvm_lib.export_library(library)
        with open(graph, "w", encoding="utf-8") as file:
            file.write(self.tvm_graph)
        with open(params, "wb") as file:
            file.write(save_param_dict(self.tvm_params))

    def _assets(self) -> list[str]:
        if not self.export_dir:
            raise RuntimeError("there is no compiled model yet: call build_tvm or load_tvm")
        return [os.path.join(self.export_dir, name) for name in TVM_ASSETS]

    def load_tvm(self, export_dir: str) -> None:
        """Reads what build_tvm wrote into a folder."""
        self.export_dir = export_dir
        library, graph, params = self._assets()
        self.tvm_lib = load_module(library)
        with open(graph, encoding="utf-8") as file:
            self.tvm_graph = file.read()
        with open(params, "rb") as file:
            self.tvm_params = dict(load_param_dict(file.read()).items())
        self.tvm_module = graph_executor.create(self.tvm_graph, self.tvm_lib, self.dev)
        self.tvm_module.set_input(**self.tvm_params)

    def build_pytorch_module(self, num_inputs: int, num_outputs: int, input_infos: Any = None) -> GraphModule:
        """The compiled model as a module of PyTorch that takes and gives a list."""
        assets = self._assets()
        infos = input_infos or self.input_infos
        if not infos or len(infos) != num_inputs:
            raise ValueError(f"input_infos have to name {num_inputs} inputs, not {len(infos or [])}")
        out = GraphModule(num_inputs, num_outputs)
        out.init([info[1] for info in infos], *assets)
        return out


def compile(script_module: Any, option: Mapping[str, Any]) -> GraphModule:
    """A scripted or traced module compiled, as a module that takes and gives a list of tensors.

    option = {
        "input_infos": [("x", (1, 3, 224, 224))],
        "default_dtype": "float32",
        "export_dir": "pytorch_compiled",
        "num_outputs": 1,
        "tuning_n_trials": 20,  # 0: the built-in rules alone
        "tuning_log_file": "tuning.log",
        "target": "llvm",
        "device": tvm.cpu(),
    }
    """
    infos = option["input_infos"]
    log_file, trials = option.get("tuning_log_file", "tuning.log"), option.get("tuning_n_trials", 20)
    module = PyTorchTVMModule(option.get("target", "cuda"), option.get("device"))
    module.log_file = log_file
    module.from_pytorch(script_module, infos, option.get("default_dtype", "float32"))
    if trials > 0:
        module.tune_tvm(log_file, trials)
    module.build_tvm(option.get("export_dir", "pytorch_compiled"))
    return module.build_pytorch_module(len(infos), option.get("num_outputs", 1))
