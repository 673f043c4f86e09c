"""Running several models as one pipeline: each has a thread of its own, so that several inputs are on their way at once."""

from __future__ import annotations

import json
import os
import queue
import threading
import time
import warnings
import weakref
from typing import Any

from ..runtime import ndarray as nd
from ..runtime.module import load_module
from .graph_executor import GraphModule

__all__ = ["PipelineExecutorFactoryModule", "PipelineModule", "pipeline_executor_enabled"]


def pipeline_executor_enabled() -> bool:
    """True: pipelines are part of every build."""
    return True


class PipelineExecutorFactoryModule:
    """A compiled pipeline: a library for each model, and what feeds what."""

    def __init__(self, pipeline_mods: dict[Any, Any], mods_config: dict[str, Any]):
        self.pipeline_mods = pipeline_mods
        self.mods_config = mods_config
        self.module: PipelineModule | None = None

    def graph_executor_create(self, pipeline_mods: dict[Any, Any], mod_config: dict[str, Any]) -> tuple[list, str]:
        """An executor of each model, in the order of their numbers, and what connects them as JSON."""
        executors = []
        for mod, each in mod_config["module_connection"].items():
            executors.append(pipeline_mods[mod][each["mod_name"]](each["dev"]))
        return executors, json.dumps(_connections(mod_config))

    def get_pipeline_executor_module(self) -> PipelineModule:
        """A pipeline ready to run."""
        return PipelineModule(self)

    def export_library(self, directory_path: str) -> str:
        """Writes a library for each model, and the file that lists them, into a folder that exists; that file's name."""
        if not os.path.isdir(directory_path):
            raise RuntimeError(f"the folder {directory_path} does not exist")
        modules = []
        for mod, each in self.mods_config["module_connection"].items():
            file_name = f"lib{each['pipeline']['mod_idx']}.so"
            self.pipeline_mods[mod].export_library(os.path.join(directory_path, file_name), each["fcompile"])
            device = [each["dev"].device_type, each["dev"].device_id]
            modules.append({"library": file_name, "name": each["mod_name"], "device": device})
        description = {"modules": modules, "connections": _connections(self.mods_config)}
        config_file_name = os.path.join(directory_path, "config.json")
        with open(config_file_name, "w", encoding="utf-8") as config_file:
            json.dump(description, config_file, indent=1)
        return config_file_name


def _connections(config: dict[str, Any]) -> dict[str, Any]:
    return {
        "modules": [each["pipeline"] for each in config["module_connection"].values()],
        "inputs": config["input_connection"],
        "params": config["param_connection"],
    }


class _Stage:
    """One model on a thread: it takes one value from each of its queues, runs, and puts its results into those of others."""

    def __init__(self, executor: GraphModule, cores: str):
        self.executor, self._cores = executor, cores
        self.inputs: dict[str, queue.SimpleQueue] = {}  # of values, by name
        self.ticks: queue.SimpleQueue = queue.SimpleQueue()  # one a run
        self.outputs: list[tuple[int, queue.SimpleQueue]] = []
        self.params_lock = threading.Lock()

    def start(self) -> None:
        threading.Thread(target=self._work, daemon=True).start()

    def stop(self) -> None:
        self.ticks.put(None)

    def _work(self) -> None:
        self._pin()
        while self.ticks.get() is not None:
            values = {name: each.get() for name, each in self.inputs.items()}
            results = self._run(values)
            for index, consumer in self.outputs:
                consumer.put(results if isinstance(results, Exception) else results[index])

    def _run(self, values: dict[str, Any]) -> Any:
        """Copies of the results by number, or the error: that of a stage before, or of this one."""
        for value in values.values():
            if isinstance(value, Exception):
                return value
        try:
            with self.params_lock:
                for name, value in values.items():
                    self.executor.set_input(name, value)
                self.executor.run()
                return {i: _copy(self.executor.get_output(i)) for i in {index for index, _ in self.outputs}}
        except Exception as error:
            return error

    def _pin(self) -> None:
        """Runs this thread on its cores alone."""
        if not self._cores or not hasattr(os, "sched_setaffinity"):
            return
        wanted = {int(core) for core in self._cores.split(",")}
        there = wanted & os.sched_getaffinity(0)
        if wanted - there:
            warnings.warn(f"cores {sorted(wanted - there)} of cpu_affinity are not there", RuntimeWarning, 1)
        if there:
            os.sched_setaffinity(0, there)


def _copy(tensor: Any) -> Any:
    return tensor.copyto(tensor.device)


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise RuntimeError(f"the description of the pipeline is broken: {what}")


class PipelineModule:
    """A pipeline ready to run: `set_input`, `run` as often as there are inputs, `get_output` as often as it was run.

    `run` returns at once. Outputs come in the order of the runs.
    """

    def __init__(self, module: PipelineExecutorFactoryModule | list[Any], connections: dict[str, Any] | None = None):
        if isinstance(module, PipelineExecutorFactoryModule):
            executors, text = module.graph_executor_create(module.pipeline_mods, module.mods_config)
            connections = json.loads(text)
        else:
            executors = module
        assert connections is not None
        described = connections["modules"]
        _check(len(described) == len(executors), "it connects another number of modules than there are")
        self._stages = [
            _Stage(GraphModule(executor), each["cpu_affinity"])
            for executor, each in zip(executors, described, strict=True)
        ]
        self._inputs: dict[str, list[tuple[int, str]]] = {}
        for each in connections["inputs"]:
            target = (each["mod_idx"], each["module_interface_name"])
            self._inputs.setdefault(each["global_interface_name"], []).append(target)
        self._groups = {each["global_interface_name"]: each["mod_idx"] for each in connections["params"]}
        self._results: dict[int, queue.SimpleQueue] = {}
        self._ready: list[Any] = []  # results of the oldest run that are there already
        self._values: dict[str, Any] = {}
        self._runs = self._taken = 0  # how often it was run, and how many outputs were given
        self._connect(described)
        for stage in self._stages:
            stage.start()
        self._end = weakref.finalize(self, _stop, self._stages)

    def _connect(self, described: list[dict[str, Any]]) -> None:
        """A queue for each input that is fed and for each output of the pipeline."""

        def queue_of(module: int, name: str) -> queue.SimpleQueue:
            _check(isinstance(module, int) and 0 <= module < len(self._stages), f"there is no module {module}")
            stage = self._stages[module]
            _check(stage.executor.get_input_index(name) >= 0, f"module {module} has no input {name}")
            _check(name not in stage.inputs, f"the input {name} of module {module} is fed twice")
            stage.inputs[name] = queue.SimpleQueue()
            return stage.inputs[name]

        for targets in self._inputs.values():
            for module, name in targets:
                queue_of(module, name)
        for number, (stage, each) in enumerate(zip(self._stages, described, strict=True)):
            for output in each["output"]:
                index = output["output_idx"]
                _check(0 <= index < stage.executor.get_num_outputs(), f"module {number} has no output {index}")
                for fed in output["dependencies"]:
                    if "global_output_index" in fed:
                        self._results[fed["global_output_index"]] = queue.SimpleQueue()
                        stage.outputs.append((index, self._results[fed["global_output_index"]]))
                    else:
                        _check(fed["mod_idx"] > number, f"module {number} feeds one that comes before it")
                        stage.outputs.append((index, queue_of(fed["mod_idx"], fed["input_name"])))
        _check(sorted(self._results) == list(range(len(self._results))), "the numbers of its outputs have gaps")

    def run(self) -> None:
        """Sends what the inputs were set to through the pipeline, and returns at once."""
        unset = [name for name in self._inputs if name not in self._values]
        if unset:
            raise RuntimeError(f"inputs of the pipeline are not set: {', '.join(unset)}")
        for name, targets in self._inputs.items():
            for module, interface in targets:
                self._stages[module].inputs[interface].put(self._values[name])
        for stage in self._stages:
            stage.ticks.put(True)
        self._runs += 1

    def set_input(self, key: str, value: Any) -> None:
        """Sets an input of the pipeline, for the runs to come; `value` is copied."""
        self.get_input_pipeline_map(key)
        self._values[key] = nd.array(value.numpy() if hasattr(value, "numpy") else value)

    def get_input(self, key: str) -> Any:
        """What an input of the pipeline is set to; before it was set, what its module has."""
        if key in self._values:
            return self._values[key]
        module, name = self.get_input_pipeline_map(key)
        return self._stages[int(module)].executor.get_input(name)

    def set_params(self, params_group_name: str, params_data: dict[str, Any]) -> None:
        """Sets the parameters of the module that a group belongs to, for the runs after those that it has begun."""
        if not params_data:
            raise RuntimeError(f"the group of parameters {params_group_name} is given no parameters")
        stage = self._stages[self.get_params_group_pipeline_map(params_group_name)]
        with stage.params_lock:
            for name, value in params_data.items():
                stage.executor.set_input(name, value)

    def get_output(self, synchronize: bool = True, sleep_interval: float = 0.001) -> list[Any]:
        """The outputs of the oldest run that were not yet taken.

        Waits for them, looking every `sleep_interval` seconds; without `synchronize` the list is empty where they are not
        there yet. An error of a module is raised here.
        """
        if self._taken == self._runs:
            if synchronize:
                raise RuntimeError("there is no output to wait for: call run() first")
            return []
        while True:
            for number in range(len(self._ready), len(self._results)):
                try:
                    self._ready.append(self._results[number].get_nowait())
                except queue.Empty:
                    break
            if len(self._ready) == len(self._results):
                break
            if not synchronize:
                return []
            time.sleep(sleep_interval)
        outputs, self._ready = self._ready, []
        self._taken += 1
        for each in outputs:
            if isinstance(each, Exception):
                raise RuntimeError(f"a module of the pipeline failed: {each}") from each
        return outputs

    def get_input_pipeline_map(self, name: str) -> list[str]:
        """The number of the module that an input of the pipeline feeds, and the name of the input there (the first of several)."""
        if name not in self._inputs:
            raise RuntimeError(f"the pipeline has no input {name!r}; there are {', '.join(self._inputs) or 'none'}")
        module, interface = self._inputs[name][0]
        return [str(module), interface]

    def get_params_group_pipeline_map(self, name: str) -> int:
        """The number of the module whose parameters a group holds."""
        if name not in self._groups:
            raise RuntimeError(
                f"the pipeline has no group of parameters {name!r}; there are {', '.join(self._groups) or 'none'}"
            )
        return self._groups[name]

    @property
    def num_executing_pipeline(self) -> int:
        """How often the pipeline was run."""
        return self._runs

    @property
    def num_outputs(self) -> int:
        """How many outputs the pipeline has."""
        return len(self._results)

    @property
    def num_inputs(self) -> int:
        """How many inputs the pipeline has."""
        return len(self._inputs)

    @staticmethod
    def load_library(config_file_name: str) -> PipelineModule:
        """A pipeline from the file that `export_library` wrote; its libraries lie in the same folder."""
        folder = os.path.dirname(os.path.abspath(config_file_name))
        with open(config_file_name, encoding="utf-8") as config_file:
            try:
                description = json.load(config_file)
            except ValueError as error:
                raise RuntimeError(f"{config_file_name} is not the description of a pipeline: {error}") from error
        try:
            executors = []
            for each in description["modules"]:
                _check(os.path.basename(each["library"]) == each["library"], f"{each['library']} is not in its folder")
                device = nd.device(*each["device"])
                executors.append(load_module(os.path.join(folder, each["library"]))[each["name"]](device))
            return PipelineModule(executors, description["connections"])
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise RuntimeError(f"{config_file_name} is not the description of a pipeline: {error!r}") from error


def _stop(stages: list[_Stage]) -> None:
    for stage in stages:
        stage.stop()
