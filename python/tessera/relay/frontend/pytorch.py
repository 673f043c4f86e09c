"""PyTorch as Relay. The importer itself is part of the core; see src/frontend/torch."""

from __future__ import annotations

import json
import os
from typing import Any

from ..._ffi.registry import get_global_func
from ...error import OpNotImplemented
from ...ir.module import IRModule
from .. import transform
from ._torch.graph import GraphWriter

__all__ = ["from_pytorch", "get_graph_input_names", "import_exported"]


def from_pytorch(
    script_module: Any,
    input_infos: list[Any] | None = None,
    custom_convert_map: dict[str, Any] | None = None,
    default_dtype: str = "float32",
    use_parser_friendly_name: bool = False,
    keep_quantized_weight: bool = False,
    export_renamed_c_graph_path: str | None = None,
) -> tuple[IRModule, dict[str, Any]]:
    """A module and its parameters from a program of PyTorch.

    `script_module` is a traced or scripted module or function, a `torch.export.ExportedProgram`, or an `nn.Module`, which is exported.
    Operators that have no converter are those that PyTorch takes them apart into, where it has a rule.
    `input_infos` are (name, shape) or (name, (shape, type)); an extent that a run decides is None, -1, `relay.Any()` or a name. An
    exported program knows its inputs and needs none.
    Parameters are called as in the module's `state_dict`, with `_` for `.` where `use_parser_friendly_name`.
    `custom_convert_map` converts operators by name, such as "aten::relu": a function of the arguments and their types gives a
    Relay expression. `default_dtype` is the type of Python's floats. `keep_quantized_weight` leaves weights of quantised modules
    int8. `export_renamed_c_graph_path` is a folder for a text of the graph.
    """
    import torch

    from ._torch.decompose import decomposed, exported_script

    writer = GraphWriter(keep_quantized_weight)
    custom = set(custom_convert_map or {})
    names = _ParamNames(script_module, use_parser_friendly_name)
    is_script = isinstance(script_module, (torch.jit.ScriptModule, torch.jit.ScriptFunction))
    if is_script and (other := exported_script(script_module, input_infos or [], custom)) is not None:
        script_module = other
    if isinstance(script_module, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        from ._torch.script import lowered_graph, written_script

        if export_renamed_c_graph_path:
            _export_graph(lowered_graph(script_module), export_renamed_c_graph_path)
        program = written_script(script_module, input_infos or [], writer, names)
    else:
        from ._torch.fx import written_export

        if isinstance(script_module, torch.nn.Module):
            script_module = _exported(script_module, input_infos or [], default_dtype)
        script_module = decomposed(script_module, custom)
        names = _ParamNames(script_module, use_parser_friendly_name)
        if export_renamed_c_graph_path:
            _export_graph(script_module.graph, export_renamed_c_graph_path)
        program = written_export(script_module, input_infos, writer, names)
    return import_written(program, writer, custom_convert_map, default_dtype)


def import_exported(program: Any) -> tuple[IRModule, dict[str, Any]]:
    """A `torch.export.ExportedProgram` with its own names, shapes and types of inputs."""
    from ._torch.decompose import decomposed
    from ._torch.fx import written_export

    writer, program = GraphWriter(), decomposed(program)
    return import_written(written_export(program, None, writer, _ParamNames(program, False)), writer, None, "float32")


def import_written(
    program: dict[str, Any], writer: GraphWriter, custom: dict[str, Any] | None, default_dtype: str
) -> tuple[IRModule, dict[str, Any]]:
    """The program of a `GraphWriter` through the core."""
    converters = {name: _called_back(convert) for name, convert in (custom or {}).items()}
    text = json.dumps(program)
    mod, params = get_global_func("frontend.torch.import_graph")(text, writer.weights, converters, str(default_dtype))
    mod = transform.InferType()(mod)
    return mod, dict(params.items())


def get_graph_input_names(script_module: Any) -> list[str]:
    """The names that a graph of TorchScript gives its inputs, as `from_pytorch` of old wanted them."""
    return [value.debugName() for value in list(script_module.graph.inputs())[1:]]


class _ParamNames:
    """Names of parameters by the path of a tensor."""

    def __init__(self, module: Any, parser_friendly: bool) -> None:
        state = getattr(module, "state_dict", {})  # a function has none
        self.known = set(state if isinstance(state, dict) else state())
        self.parser_friendly = parser_friendly

    def __call__(self, path: str, tensor: Any) -> tuple[str, bool]:
        is_param = path in self.known or tensor.dim() > 0
        return (path.replace(".", "_") if self.parser_friendly else path), is_param


def _called_back(convert: Any) -> Any:
    """A converter of the caller's, given what it expects: expressions, Python's numbers, lists and None."""
    from ..expr import Tuple, TupleWrapper

    def python_of(value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        kind = type(value).__name__
        if kind == "IntImm":
            return bool(value.value) if str(value.dtype) == "bool" else int(value.value)
        if kind == "FloatImm":
            return float(value.value)
        if kind == "Array" or isinstance(value, (list, tuple)):
            return [python_of(item) for item in value]
        return str(value) if kind == "String" else value

    def called(inputs: Any, types: Any) -> Any:
        out = convert([python_of(item) for item in inputs], [str(item) for item in types])
        if isinstance(out, TupleWrapper):
            return out.astuple()
        return list(out) if isinstance(out, (list, tuple)) and not isinstance(out, Tuple) else out

    return called


def _exported(module: Any, input_infos: list[Any], default_dtype: str) -> Any:
    """The module exported for inputs of these shapes; extents that a run decides are dynamic."""
    import torch

    from ._torch.script import is_nested, shape_and_dtype

    if not input_infos:
        raise ValueError("input_infos must name the inputs with their shapes")
    dims: dict[str, Any] = {}

    def example(spec: Any) -> tuple[Any, Any]:
        if is_nested(spec):
            parts = [example(part[1] if isinstance(part[0], str) else part) for part in spec]
            return tuple(part[0] for part in parts), tuple(part[1] for part in parts)
        shape, dtype = shape_and_dtype(spec)
        dynamic: dict[int, Any] = {}
        sizes = []
        for i, extent in enumerate(shape):
            if isinstance(extent, int) and extent >= 0:
                sizes.append(extent)
                continue
            if isinstance(extent, str):
                dynamic[i] = dims.setdefault(extent, torch.export.Dim(extent))
            else:
                dynamic[i] = torch.export.Dim.AUTO
            sizes.append(7 + (sorted(dims).index(extent) if extent in dims else i))
        kind = getattr(torch, dtype)
        tensor = torch.zeros(sizes, dtype=kind) if not kind.is_floating_point else torch.rand(sizes, dtype=kind)
        return tensor, dynamic or None

    examples = [example(spec) for _, spec in input_infos]
    shapes = tuple(part[1] for part in examples)
    has_dynamic = any(part is not None for part in shapes)
    was_training = module.training
    try:
        return torch.export.export(
            module.eval(),
            tuple(part[0] for part in examples),
            dynamic_shapes=shapes if has_dynamic else None,
            strict=False,
        )
    finally:
        module.train(was_training)


def _export_graph(graph: Any, folder: str) -> None:
    os.makedirs(folder, exist_ok=True)
    count = len([name for name in os.listdir(folder) if name.startswith("graph_")])
    with open(os.path.join(folder, f"graph_{count}.txt"), "w", encoding="utf-8") as file:
        file.write(str(graph))


def PyTorchOpConverter(
    prelude: Any = None, default_dtype: str = "float32", use_parser_friendly_name: bool = False
) -> Any:
    """Converters of single operators are part of the core: give `from_pytorch` a `custom_convert_map` instead."""
    raise OpNotImplemented(
        "converters of PyTorch's operators are part of the core; give relay.frontend.from_pytorch a custom_convert_map instead"
    )
