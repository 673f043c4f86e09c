"""Several models as one pipeline: which output feeds which input, where each model runs, and their compilation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..ir.module import IRModule

if TYPE_CHECKING:
    from .pipeline_executor import PipelineExecutorFactoryModule

__all__ = ["PipelineConfig", "build", "export_library", "pipeline_executor_build_enabled"]


def pipeline_executor_build_enabled() -> bool:
    """True: pipelines are part of every build."""
    return True


#: (kind, whether a module's) of what can feed what.
_FEEDS = {
    ("input", False): {("input", True)},
    ("param", False): {("param", True)},
    ("output", True): {("input", True), ("output", False)},
}


class Binding:
    """One end of a connection: an input, an output or the parameters of a module, or of the whole pipeline.

    `owner` is the module it belongs to, None for the pipeline. `targets` are the ends that it feeds.
    """

    def __init__(self, config: PipelineConfig, owner: ModuleConfig | None, kind: str, name: str | int):
        self.config, self.owner, self.kind, self.name = config, owner, kind, name
        self.targets: list[Binding] = []
        self.source: Binding | None = None

    def __repr__(self) -> str:
        if self.kind == "param":
            return f"mod{self.owner.index}.param" if self.owner else str(self.name)
        where = f"mod{self.owner.index}" if self.owner else "pipeline"
        return f"{where}.output({self.name})" if self.kind == "output" else f"{where}:{self.name}"

    def _side(self) -> tuple[str, bool]:
        return self.kind, self.owner is not None

    def connect(self, binding: Binding) -> None:
        """Feeds this into `binding`: an input of the pipeline into inputs of modules, an output of a module into inputs of
        other modules or into an output of the pipeline, a group of parameters into those of a module."""
        if not isinstance(binding, Binding) or binding.config is not self.config:
            raise RuntimeError(f"{self!r} can be connected only to what belongs to the same pipeline")
        if binding._side() not in _FEEDS.get(self._side(), set()):
            raise RuntimeError(
                f"{self!r} cannot feed {binding!r}: connect an input of the pipeline or an output of a module"
            )
        if self.owner is not None and self.owner is binding.owner:
            raise RuntimeError(f"{self!r} cannot feed {binding!r}: a module does not feed itself")
        if binding.source is not None:
            raise RuntimeError(f"{binding!r} is fed by {binding.source!r} already")
        if self.kind == "param" and self.targets:
            raise RuntimeError(f"the group of parameters {self.name} belongs to {self.targets[0]!r} already")
        self.targets.append(binding)
        binding.source = self
        try:
            self.config.sorted_modules()
        except RuntimeError:
            self.targets.pop()
            binding.source = None
            raise


class BindingList:
    """The ends of one kind, by name: of the pipeline they begin to exist when they are asked for."""

    def __init__(self, config: PipelineConfig, owner: ModuleConfig | None, kind: str, names: list[Any] | None):
        self._config, self._owner, self._kind, self._names = config, owner, kind, names
        self.bindings: dict[Any, Binding] = {}

    def __getitem__(self, key: Any) -> Binding:
        if self._names is not None and key not in self._names:
            known = ", ".join(map(str, self._names)) or "none"
            raise RuntimeError(f"the module has no {self._kind} {key!r}; there are {known}")
        if key not in self.bindings:
            self.bindings[key] = Binding(self._config, self._owner, self._kind, key)
        return self.bindings[key]

    def __iter__(self) -> Iterator[Binding]:
        return iter(self.bindings.values())


class ModuleConfig:
    """How one model of a pipeline is compiled and where it runs, and its inputs, outputs and parameters."""

    def __init__(self, config: PipelineConfig, mod: IRModule, index: int):
        self.mod, self.index = mod, index
        self.target: Any = None
        self.target_host: Any = None
        self.dev: Any = None
        self.build_func: Any = None  # (mod, target, params=, target_host=, mod_name=) as relay.build
        self.params: dict[str, Any] | None = None
        self.mod_name = "default"
        self.fcompile: Any = None  # of export_library
        self.cpu_affinity = ""  # "0,2": the cores that the module's thread may run on
        names = [param.name_hint for param in mod["main"].params]
        self._ends = {
            "input": BindingList(config, self, "input", names),
            "output": BindingList(config, self, "output", list(range(_count_outputs(mod)))),
        }
        self.param = Binding(config, self, "param", "param")

    def __getitem__(self, key: str) -> Any:
        """The "input"s and "output"s by name and number; "param", the parameters."""
        if key == "param":
            return self.param
        if key not in self._ends:
            raise RuntimeError(f"a module of a pipeline has an input, an output and a param, not {key!r}")
        return self._ends[key]

    def feeds(self) -> list[ModuleConfig]:
        """The modules that read one of the outputs."""
        return [target.owner for output in self["output"] for target in output.targets if target.owner is not None]

    def outputs(self) -> list[dict[str, Any]]:
        """For each output that is connected, what it feeds."""
        out = []
        for output in sorted(self["output"], key=lambda end: end.name):
            fed: list[dict[str, Any]] = [
                {"global_output_index": int(end.name)}
                if end.owner is None
                else {"mod_idx": end.owner.index, "input_name": end.name}
                for end in output.targets
            ]
            if fed:
                out.append({"output_idx": output.name, "dependencies": fed})
        return out


def _count_outputs(mod: IRModule) -> int:
    from .. import relay

    checked = relay.transform.InferType()(mod)
    result = checked["main"].ret_type
    return len(result.fields) if hasattr(result, "fields") else 1


class PipelineConfig:
    """What a pipeline is made of. `config[mod]` is a model of it, config["input"], config["output"] and
    config["param_group"] are its own ends; `connect` says what feeds what."""

    def __init__(self) -> None:
        self.modules: dict[IRModule, ModuleConfig] = {}
        self.input_bindings = BindingList(self, None, "input", None)
        self.output_bindings = BindingList(self, None, "output", None)
        self.param_group_bindings = BindingList(self, None, "param", None)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, IRModule):
            if key not in self.modules:
                self.modules[key] = ModuleConfig(self, key, len(self.modules))
            return self.modules[key]
        ends = {"input": self.input_bindings, "output": self.output_bindings, "param_group": self.param_group_bindings}
        if key not in ends:
            raise RuntimeError(f"a pipeline has modules, an input, an output and a param_group, not {key!r}")
        return ends[key]

    def __str__(self) -> str:
        self.dag_topology_sort()
        lines = ["Inputs"]
        lines += [f"  |{end.name}: {', '.join(map(repr, end.targets))}" for end in self.input_bindings]
        lines += ["", "output"]
        lines += [f"  |output({end.name}) : {end.source!r}" for end in self.output_bindings if end.source]
        lines += ["", "connections"]
        for module in sorted(self.modules.values(), key=lambda each: each.index):
            for output in module["output"]:
                lines += [f"  |{output!r} -> {end!r}" for end in output.targets if end.owner]
        lines += ["", "params"]
        lines += [f"  |{end.name}: {', '.join(map(repr, end.targets))}" for end in self.param_group_bindings]
        return "\n".join(lines)

    def get_mod_idx(self, mod: IRModule) -> int:
        """The number of a model in the pipeline."""
        return self[mod].index

    def pipe_input(self, name: str) -> Binding:
        """The pipeline's input of that name."""
        return self.input_bindings[name]

    def pipe_output(self, idx: str | int) -> Binding:
        """The pipeline's output of that number."""
        return self.output_bindings[str(idx)]

    def sorted_modules(self) -> list[ModuleConfig]:
        """The models, each after those that feed it, else in the order in which they came. A RuntimeError for a cycle."""
        left = list(self.modules.values())
        out: list[ModuleConfig] = []
        while left:
            waiting = {id(fed) for module in left for fed in module.feeds()}
            ready = [module for module in left if id(module) not in waiting]
            if not ready:
                raise RuntimeError("the modules of a pipeline feed each other in a circle")
            out += ready
            left = [module for module in left if id(module) in waiting]
        return out

    def dag_topology_sort(self) -> None:
        """Numbers the models so that each comes after those that feed it."""
        for index, module in enumerate(self.sorted_modules()):
            module.index = index

    def get_config(self) -> dict[str, Any]:
        """The connections as dictionaries: "module_connection" by model, "input_connection", "param_connection"."""
        self.dag_topology_sort()
        modules = {
            module.mod: {
                "pipeline": {
                    "mod_idx": module.index,
                    "cpu_affinity": module.cpu_affinity,
                    "output": module.outputs(),
                },
                "target_host": module.target_host,
                "mod_name": module.mod_name,
                "build": module.build_func,
                "params": module.params,
                "target": module.target,
                "fcompile": module.fcompile,
                "dev": module.dev,
            }
            for module in sorted(self.modules.values(), key=lambda each: each.index)
        }
        inputs = [
            {"global_interface_name": end.name, "mod_idx": fed.owner.index, "module_interface_name": fed.name}
            for end in self.input_bindings
            for fed in end.targets
            if fed.owner is not None
        ]
        groups = [
            {"global_interface_name": end.name, "mod_idx": fed.owner.index, "module_interface_name": "param"}
            for end in self.param_group_bindings
            for fed in end.targets
            if fed.owner is not None
        ]
        return {"module_connection": modules, "input_connection": inputs, "param_connection": groups}


def build(pipe_configs: PipelineConfig) -> PipelineExecutorFactoryModule:
    """Compiles every model of a pipeline for its target."""
    from .. import cpu, relay
    from .pipeline_executor import PipelineExecutorFactoryModule

    config = pipe_configs.get_config()
    if not pipe_configs.modules:
        raise RuntimeError("the pipeline has no modules; ask for one with config[mod]")
    if not list(pipe_configs.output_bindings):
        raise RuntimeError("the pipeline has no output: connect one of a module to config['output']['0']")
    libraries = {}
    for module, each in config["module_connection"].items():
        compile_one = each["build"] or relay.build
        if each["target"] is None:
            raise RuntimeError(f"module {each['pipeline']['mod_idx']} of the pipeline has no target")
        each["dev"] = each["dev"] if each["dev"] is not None else cpu(0)
        libraries[module] = compile_one(
            module,
            each["target"],
            params=each["params"],
            target_host=each["target_host"],
            mod_name=each["mod_name"],
        )
    return PipelineExecutorFactoryModule(libraries, config)


def export_library(factory: PipelineExecutorFactoryModule, directory_path: str) -> str:
    """Writes the libraries of a pipeline and what connects them into a folder; the name of the file that lists them."""
    return factory.export_library(directory_path)
