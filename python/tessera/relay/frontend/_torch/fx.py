"""Graphs of FX and `torch.export.ExportedProgram`s as a graph."""

from __future__ import annotations

from typing import Any

from .graph import GraphWriter, literal


class FxReader:
    """Walks a graph of FX whose nodes call operators of ATen."""

    def __init__(self, root: Any, writer: GraphWriter) -> None:
        self.root = root
        self.writer = writer

    def graph(self, module: Any, bound: dict[str, Any], extra: list[dict[str, Any]] | None = None) -> dict[str, Any]:
        """A graph of a module; `bound` says what placeholders stand for, beside those that are its inputs."""
        known: dict[str, Any] = dict(bound)
        inputs: list[str] = []
        nodes: list[dict[str, Any]] = list(extra or [])
        outputs: list[Any] = []
        for node in module.graph.nodes:
            if node.op == "placeholder":
                if node.name not in known:
                    inputs.append(node.name)
            elif node.op == "get_attr":
                known[node.name] = self.attribute(module, node.target)
            elif node.op == "output":
                given = node.args[0]
                given = given if isinstance(given, (list, tuple)) else [given]
                outputs = [self.argument(item, known) for item in given]
            elif node.op == "call_function":
                nodes += self.in_memory_order(node, known)
                nodes.append(self.call(module, node, known))
            else:
                raise NotImplementedError(f"the node {node.format_node()} is no call of an operator")
        return {"inputs": inputs, "nodes": nodes, "outputs": outputs}

    def in_memory_order(self, node: Any, known: dict[str, Any]) -> list[dict[str, Any]]:
        """Before a node that counts in strides: its first argument with the dimensions in the order of PyTorch's memory."""
        if getattr(node.target, "_opname", "") not in ("as_strided", "as_strided_copy"):
            return []
        from .strides import dense_order

        value = node.args[0].meta.get("val")
        order = dense_order(value.shape, value.stride()) if value is not None else None
        if order is None:
            raise NotImplementedError(f"the node {node.format_node()} counts in strides of a tensor with gaps")
        if order == list(range(len(order))):
            return []
        name = f"{node.name}.memory"
        given = self.argument(node.args[0], known)
        known[f"{node.name}/self"] = {"name": name}
        permuted = {"op": "aten::permute", "args": [["self", given], ["dims", order]], "results": [f"{name}.view"]}
        copied = {"op": "aten::clone", "args": [["self", {"name": f"{name}.view"}]], "results": [name]}
        return [{**each, "label": node.name} for each in (permuted, copied)]

    def attribute(self, module: Any, target: str) -> Any:
        import torch

        value = module
        for part in target.split("."):
            value = getattr(value, part)
        if isinstance(value, torch.Tensor):
            return self.writer.weight(value, target)
        return value

    def argument(self, value: Any, known: dict[str, Any]) -> Any:
        import torch

        if isinstance(value, torch.fx.Node):
            return known.get(value.name, {"name": value.name})
        if isinstance(value, torch.Tensor):
            return self.writer.weight(value, "constant")
        if isinstance(value, (list, tuple)):
            return [self.argument(item, known) for item in value]
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return literal(value.node.maybe_as_int() if isinstance(value, torch.SymInt) else value.node.hint)
        return literal(value)

    def call(self, module: Any, node: Any, known: dict[str, Any]) -> dict[str, Any]:
        import torch

        target = node.target
        written: dict[str, Any] = {"label": node.name, "results": [node.name]}
        name = getattr(target, "__name__", str(target))
        if isinstance(target, torch._ops.HigherOrderOperator):
            return self.higher_order(target, node, known, written)
        if isinstance(target, torch._ops.OpOverload):
            written["op"] = target._schema.name
            written["overload"] = target._schema.overload_name
            names = [argument.name for argument in target._schema.arguments]
            args = [[names[i], self.argument(value, known)] for i, value in enumerate(node.args)]
            if f"{node.name}/self" in known:
                args[0][1] = known[f"{node.name}/self"]
        elif callable(target):
            written["op"] = f"operator::{name}"
            args = [[str(i), self.argument(value, known)] for i, value in enumerate(node.args)]
        else:
            raise NotImplementedError(f"the node {node.format_node()} calls no function")
        args += [[key, self.argument(value, known)] for key, value in node.kwargs.items()]
        written["args"] = args
        return written

    def higher_order(self, target: Any, node: Any, known: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
        import torch

        name = target.name() if callable(getattr(target, "name", None)) else str(target)
        given = list(node.args)
        if name == "wrap_with_set_grad_enabled":
            name, given = "inlined", given[1:]
        if name == "wrap_with_autocast":
            name, given = "inlined", given[4:]
        graphs: list[Any] = []
        args: list[list[Any]] = []
        for value in given:
            resolved = known.get(value.name) if isinstance(value, torch.fx.Node) else None
            if isinstance(resolved, torch.nn.Module):
                graphs.append(self.graph(resolved, {}))
            else:
                args.append([str(len(args)), self.argument(value, known)])
        return {**written, "op": f"higher_order::{name}", "args": args, "blocks": graphs}


def shape_of_value(value: Any) -> tuple[list[Any], str]:
    """The shape of a fake tensor, symbolic extents by their names, and its element type."""
    shape: list[Any] = []
    for extent in value.shape:
        if isinstance(extent, int):
            shape.append(extent)
        else:
            known = extent.node.maybe_as_int()
            shape.append(int(known) if known is not None else str(extent.node.expr))
    return shape, str(value.dtype).removeprefix("torch.")


def bind_symbols(placeholders: list[Any], tensors: list[Any]) -> list[dict[str, Any]]:
    """Nodes that read placeholders of symbolic numbers from the extents of inputs."""
    nodes: list[dict[str, Any]] = []
    for node in placeholders:
        symbol = str(node.meta["val"])
        for tensor in tensors:
            shape, _ = shape_of_value(tensor.meta["val"])
            if symbol in shape:
                args = [["self", {"name": tensor.name}], ["dim", shape.index(symbol)]]
                nodes.append({"op": "aten::sym_size", "args": args, "results": [node.name], "label": node.name})
                break
        else:
            raise NotImplementedError(f"the number {symbol} is no extent of an input")
    return nodes


def without_vmap(program: Any) -> Any:
    """The program with operators on whole tensors where `torch.vmap` was traced as such; others as they are."""
    inside = (
        getattr(node.target, "__module__", None) == "torch._functorch.predispatch"
        for module in program.graph_module.modules()
        for node in getattr(getattr(module, "graph", None), "nodes", ())
    )
    return program.run_decompositions({}) if any(inside) else program


def written_export(program: Any, input_infos: list[Any] | None, writer: GraphWriter, param_name: Any) -> dict[str, Any]:
    """An exported program; `input_infos` may give names, shapes and types of its inputs."""
    from torch.export.graph_signature import InputKind, OutputKind

    from .script import shape_and_dtype

    program = without_vmap(program)
    signature = program.graph_signature
    placeholders = {node.name: node for node in program.graph_module.graph.nodes if node.op == "placeholder"}
    bound: dict[str, Any] = {}
    infos = list(flat_infos(input_infos or []))
    tensors: list[Any] = []
    numbers: list[Any] = []
    for spec in signature.input_specs:
        name = spec.arg.name
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
            source = program.state_dict.get(spec.target)
            if source is None:
                source = program.constants[spec.target]
            own, is_param = param_name(spec.target, source)
            bound[name] = writer.weight(source, own, is_param and spec.kind is not InputKind.CONSTANT_TENSOR)
            continue
        if spec.kind is not InputKind.USER_INPUT:
            raise NotImplementedError(f"inputs of the kind {spec.kind.name} are not supported")
        value = placeholders[name].meta.get("val") if name in placeholders else None
        if not hasattr(value, "shape"):
            constant = getattr(spec.arg, "value", None)
            if value is not None and not isinstance(value, (int, float, bool, str)):
                numbers.append(placeholders[name])
            else:
                bound[name] = literal(constant if constant is not None else value)
            continue
        shape, dtype = shape_of_value(value)
        title = name
        if infos:
            title, given = infos.pop(0)
            shape, dtype = shape_and_dtype(given) if given is not None else (shape, dtype)
        writer.input(name, title, shape, dtype)
        tensors.append(placeholders[name])
    extra = bind_symbols(numbers, tensors)
    graph = FxReader(program.graph_module, writer).graph(
        program.graph_module, {**bound, **{n.name: {"name": n.name} for n in numbers}}, extra
    )
    specs = signature.output_specs
    graph["outputs"] = [
        out for out, spec in zip(graph["outputs"], specs, strict=True) if spec.kind is OutputKind.USER_OUTPUT
    ]
    return writer.finished(graph)


def flat_infos(infos: list[Any]) -> Any:
    """(name, spec) of every tensor."""
    from .script import is_nested

    for title, spec in infos:
        if spec is not None and is_nested(spec):
            yield from flat_infos([(f"{title}_{i}", part) for i, part in enumerate(spec)])
        else:
            yield title, spec
