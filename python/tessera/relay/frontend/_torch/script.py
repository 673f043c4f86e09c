"""TorchScript as a graph."""

from __future__ import annotations

import contextlib
import logging
from typing import Any

from .graph import GraphWriter, literal

_log = logging.getLogger("torch.frontend")


def lowered_graph(module: Any) -> Any:
    """The graph of `forward`, methods inlined and tuples taken apart where they can be."""
    import torch

    graph = module.graph.copy()
    torch._C._jit_pass_inline(graph)
    torch._C._jit_pass_canonicalize_graph_fuser_ops(graph)
    with contextlib.suppress(RuntimeError):  # those in lists stay
        torch._C._jit_pass_lower_all_tuples(graph)
    torch._C._jit_pass_dce(graph)
    return graph


class ScriptReader:
    """Walks a graph; attributes of modules are weights named by their path."""

    def __init__(self, module: Any, writer: GraphWriter, param_name: Any) -> None:
        self.module = module
        self.writer = writer
        self.param_name = param_name  # path of a tensor in the state_dict -> name of a parameter
        self.values: dict[str, Any] = {}  # constants and attributes, by value name
        self.schemas: dict[str, list[str]] = {}

    def graph(self, block: Any, skip_first: int = 0) -> dict[str, Any]:
        """A graph or block of it."""
        nodes: list[dict[str, Any]] = []
        for node in block.nodes():
            written = self.node(node)
            if written is not None:
                nodes.append(written)
        inputs = [value.debugName() for value in block.inputs()][skip_first:]
        return {"inputs": inputs, "nodes": nodes, "outputs": [self.argument(v) for v in block.outputs()]}

    def argument(self, value: Any) -> Any:
        name = value.debugName()
        if name in self.values:
            known = self.values[name]
            return known.written(self.writer) if isinstance(known, _Attribute) else known
        return {"name": name}

    def names_of(self, node: Any) -> list[str]:
        """The names that the operator's schema gives its arguments; positions where it has none."""
        import torch

        text = node.schema()
        if text not in self.schemas:
            try:
                self.schemas[text] = [argument.name for argument in torch._C.parse_schema(text).arguments]
            except RuntimeError:
                self.schemas[text] = []
        return self.schemas[text]

    def node(self, node: Any) -> dict[str, Any] | None:
        kind = node.kind()
        if kind == "prim::Constant":
            self.values[node.output().debugName()] = self.constant(node)
            return None
        if kind == "prim::GetAttr":
            self.values[node.output().debugName()] = self.attribute(node)
            return None
        if kind == "prim::CallFunction":
            raise NotImplementedError(f"the function {node} was not inlined")
        names = self.names_of(node)
        args = [[names[i] if i < len(names) else str(i), self.argument(value)] for i, value in enumerate(node.inputs())]
        overload = ""
        if "::" in node.schema():
            overload = (
                node.schema().split("(", 1)[0].rpartition(".")[2] if "." in node.schema().split("(", 1)[0] else ""
            )
        if kind == "prim::ConstantChunk":  # known numbers of a chunk are attributes of the node
            kind, args = "aten::chunk", [["self", args[0][1]], ["chunks", node.i("chunks")], ["dim", node.i("dim")]]
        results = [value.debugName() for value in node.outputs()]
        written: dict[str, Any] = {"op": kind, "overload": overload, "args": args, "results": results}
        written["label"] = node.scopeName().rpartition("/")[2].rpartition("::")[2] or (results[0] if results else "")
        if blocks := list(node.blocks()):
            written["blocks"] = [self.graph(block) for block in blocks]
        return written

    def constant(self, node: Any) -> Any:
        value = node.output().toIValue() if node.output().type().kind() != "NoneType" else None
        return self.value(value, "constant_" + node.output().debugName().replace(".", "_"))

    def value(self, value: Any, name: str) -> Any:
        import torch

        if isinstance(value, torch.Tensor):
            return self.writer.weight(value, name)
        if isinstance(value, (list, tuple)) and any(isinstance(item, torch.Tensor) for item in value):
            return [self.value(item, f"{name}_{i}") for i, item in enumerate(value)]
        if isinstance(value, torch._C.ScriptObject) or type(value).__name__ == "ScriptFunction":
            return None
        if hasattr(value, "name") and hasattr(value, "value"):  # an enum
            return literal(value.value)
        return literal(value)

    def attribute(self, node: Any) -> Any:
        owner = self.values.get(next(node.inputs()).debugName())
        if owner is None:
            owner = _Attribute(self, self.module, "")
        return _Attribute(
            self, getattr(owner.value, node.s("name")), (owner.path + "." if owner.path else "") + node.s("name")
        )


class _Attribute:
    """A module, or what one has, by its path."""

    def __init__(self, reader: ScriptReader, value: Any, path: str) -> None:
        self.reader, self.value, self.path = reader, value, path

    def written(self, writer: GraphWriter) -> Any:
        import torch

        from .quantized import packed_params

        if isinstance(self.value, torch.Tensor):
            if self.value.is_quantized:
                return packed_params(self.reader, self.value, self.path)
            name, is_param = self.reader.param_name(self.path, self.value)
            return writer.weight(self.value, name, is_param)
        if isinstance(self.value, torch._C.ScriptObject) or (
            hasattr(self.value, "__getstate__") and hasattr(self.value, "_type")
        ):
            return packed_params(self.reader, self.value, self.path)
        return self.reader.value(self.value, self.path)


def written_script(module: Any, input_infos: list[Any], writer: GraphWriter, param_name: Any) -> dict[str, Any]:
    """A scripted or traced module; `input_infos` are names, shapes and types of what `forward` takes."""
    graph = lowered_graph(module)
    inputs = list(graph.inputs())
    reader = ScriptReader(module, writer, param_name)
    has_self = bool(inputs) and inputs[0].type().kind() == "ClassType"
    if has_self:
        reader.values[inputs[0].debugName()] = _Attribute(reader, module, "")
        inputs = inputs[1:]
    bound, nodes = bind_inputs(inputs, input_infos, writer)
    bind_defaults(module, inputs[len(input_infos) :], reader)
    body = reader.graph(graph, 1 if has_self else 0)
    body["inputs"] = bound
    body["nodes"] = nodes + body["nodes"]
    return writer.finished(body)


def bind_defaults(module: Any, inputs: list[Any], reader: ScriptReader) -> None:
    """Inputs that are not given are what the signature says, where it does."""
    schema = getattr(getattr(module, "forward", module), "schema", None)
    arguments = {argument.name: argument for argument in schema.arguments} if schema is not None else {}
    for value in inputs:
        argument = arguments.get(value.debugName().split(".")[0])
        if argument is not None and argument.has_default_value():
            reader.values[value.debugName()] = reader.value(argument.default_value, argument.name)


def bind_inputs(
    inputs: list[Any], input_infos: list[Any], writer: GraphWriter
) -> tuple[list[str], list[dict[str, Any]]]:
    """The program's inputs by the names of the infos; one that is a tuple or list is made of several."""
    bound: list[str] = []
    nodes: list[dict[str, Any]] = []

    def bind(name: str, info: Any) -> None:
        title, spec = info
        if is_nested(spec):
            parts = []
            for i, part in enumerate(spec):
                inner = (
                    part if isinstance(part, tuple) and part and isinstance(part[0], str) else (f"{title}_{i}", part)
                )
                bind(f"{name}.{i}", inner)
                parts.append([str(i), {"name": f"{name}.{i}"}])
            nodes.append({"op": "prim::TupleConstruct", "args": parts, "results": [name], "label": title})
            return
        shape, dtype = shape_and_dtype(spec)
        writer.input(name, title, shape, dtype)
        bound.append(name)

    if len(inputs) < len(input_infos):
        raise RuntimeError(f"input_infos name {len(input_infos)} inputs where the module takes {len(inputs)}")
    for value, info in zip(inputs, input_infos, strict=False):
        bind(value.debugName(), info)
    return bound, nodes


def is_nested(spec: Any) -> bool:
    """True for a tuple or list of inputs, false for a shape or (shape, type)."""
    if not isinstance(spec, (tuple, list)) or not spec:
        return False
    if len(spec) == 2 and isinstance(spec[0], (tuple, list)) and is_dtype(spec[1]):
        return False
    return all(isinstance(part, (tuple, list)) for part in spec)


def is_dtype(value: Any) -> bool:
    """True for the name of an element type, or a type of NumPy or PyTorch."""
    return isinstance(value, str) or type(value).__module__.startswith(("torch", "numpy"))


def shape_and_dtype(spec: Any) -> tuple[list[Any], str]:
    """(shape, type) or a shape of float32; extents that a run decides are None, -1, `relay.Any()` or names."""
    dtype = "float32"
    if isinstance(spec, (tuple, list)) and len(spec) == 2 and is_dtype(spec[1]) and not isinstance(spec[0], str):
        spec, dtype = spec[0], str(spec[1]).removeprefix("torch.")
        dtype = {"float": "float32", "double": "float64", "int": "int32", "long": "int64", "half": "float16"}.get(
            dtype, dtype
        )
    return [_extent(extent) for extent in spec], dtype


def _extent(extent: Any) -> Any:
    if isinstance(extent, str):
        return extent
    try:
        number = int(extent)
    except TypeError:
        return -1
    return number if number >= 0 else -1
