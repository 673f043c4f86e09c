"""Operators that no converter knows, as those that PyTorch itself takes them apart into."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from ...._ffi.registry import get_global_func

_MAX_ROUNDS = 4  # what an operator is taken apart into may itself be taken apart


def missing_from(names: Collection[str], custom: Collection[str]) -> set[str]:
    """Those of the operators' names ("aten::hstack") that neither the core nor the caller converts."""
    has_converter = get_global_func("frontend.torch.has_converter")
    return {name for name in names if name not in custom and not has_converter(name)}


def _operators_of(program: Any) -> set[Any]:
    import torch

    graphs = (getattr(module, "graph", None) for module in program.graph_module.modules())
    nodes = (node for graph in graphs for node in getattr(graph, "nodes", ()))
    return {node.target for node in nodes if isinstance(node.target, torch._ops.OpOverload)}


def _rules() -> Callable[[Any], Any]:
    from torch._decomp import decomposition_table
    from torch.export import default_decompositions

    usual = default_decompositions()
    return lambda op: usual[op] if op in usual else decomposition_table.get(op)


def decomposed(program: Any, custom: Collection[str] = ()) -> Any:
    """The exported program without operators that are missing, as far as PyTorch knows rules for them; all others stay."""
    for _ in range(_MAX_ROUNDS):
        operators = _operators_of(program)
        missing = missing_from({op._schema.name for op in operators}, custom)
        if not missing:
            break
        rule_of = _rules()
        table = {op: rule_of(op) for op in operators if op._schema.name in missing and rule_of(op) is not None}
        if not table:
            break
        program = program.run_decompositions(table)
    return program


def names_in(block: Any) -> set[str]:
    """The operators of a graph of TorchScript and of the blocks in it."""
    names: set[str] = set()
    for node in block.nodes():
        names.add(node.kind())
        for inner in node.blocks():
            names |= names_in(inner)
    return names


def exported_script(module: Any, input_infos: list[Any], custom: Collection[str]) -> Any | None:
    """A module of TorchScript as an exported program, where that is a way around operators that are missing; else None."""
    import torch

    from .script import is_nested, lowered_graph, shape_and_dtype

    missing = {name for name in missing_from(names_in(lowered_graph(module)), custom) if name.startswith("aten::")}
    if not missing or not isinstance(module, torch.jit.ScriptModule) or any(is_nested(spec) for _, spec in input_infos):
        return None
    specs = [shape_and_dtype(spec) for _, spec in input_infos]
    if any(isinstance(extent, str) or extent < 0 for shape, _ in specs for extent in shape):
        return None
    examples = tuple(torch.zeros(shape, dtype=getattr(torch, dtype)) for shape, dtype in specs)
    try:
        from torch._export.converter import TS2EPConverter

        program = decomposed(TS2EPConverter(module, examples).convert(), custom)
    except Exception:  # whatever PyTorch does not take: the list of missing operators says more than its error
        return None
    left = missing_from({op._schema.name for op in _operators_of(program)}, custom)
    return None if left else program
