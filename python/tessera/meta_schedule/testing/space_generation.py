"""Comparing design spaces with those that are expected."""

from __future__ import annotations

from typing import Any

from ... import tir
from ...ir import IRModule, structural_equal
from ...tir import Schedule
from ...tir.schedule import Trace
from ...tir.schedule.testing import verify_trace_roundtrip

__all__ = ["check_sketches", "check_trace", "print_sketches"]


def check_trace(spaces: list[Schedule], expected: list[list[str]]) -> None:
    """Each trace of `spaces` is one of those expected, and each of those is there."""
    wanted = {"\n".join(trace) for trace in expected}
    found = {"\n".join(Trace.simplified(space.trace, True).as_python()) for space in spaces}
    for trace in wanted - found:
        raise AssertionError(f"a trace is missing:\n{trace}")
    for trace in found - wanted:
        raise AssertionError(f"a trace was not expected:\n{trace}")


def _with_decisions(sketch: Schedule, decisions: list[tuple[str, Any]]) -> dict[Any, Any] | None:
    """The sampling instructions of a sketch with the decisions; None where they are not of these kinds in this order."""
    sampled = [inst for inst in sketch.trace.insts if str(inst.kind.name).startswith("Sample")]
    if [str(inst.kind.name) for inst in sampled] != [kind for kind, _ in decisions]:
        return None
    return {inst: value for inst, (_, value) in zip(sampled, decisions)}


def _terms(value: Any) -> list[Any]:
    return _terms(value.a) + _terms(value.b) if isinstance(value, tir.Add) else [value]


def _with_ordered_sums(mod: IRModule) -> IRModule:
    """The module with the terms of bindings in the order of the loops: which of `i + j` and `j + i` a program says is the
    business of the simplifier."""
    out = IRModule(mod.functions)
    for var, func in mod.functions.items():
        order: dict[Any, int] = {}

        def number(node: Any, order: dict[Any, int] = order) -> None:
            if isinstance(node, tir.For):
                order[node.loop_var] = len(order)

        def position(term: Any, order: dict[Any, int] = order) -> list[int]:
            found: list[int] = []
            tir.stmt_functor.post_order_visit(
                term, lambda node: found.append(order.get(node, -1)) if isinstance(node, tir.Var) else None
            )
            return sorted(found)

        def reorder(realize: Any) -> Any:
            values = []
            for value in realize.iter_values:
                terms = sorted(_terms(value), key=position)
                total = terms[0]
                for term in terms[1:]:
                    total = tir.Add(total, term)
                values.append(total)
            return tir.BlockRealize(values, realize.predicate, realize.block)

        tir.stmt_functor.post_order_visit(func.body, number)
        body = tir.stmt_functor.ir_transform(func.body, None, reorder, ["tir.BlockRealize"])
        out.update_func(var, func.with_body(body))
    return out


def check_sketches(
    mod: IRModule,
    sketches: list[Schedule],
    expected_mods: list[Any],
    expected_decisions: list[list[tuple[str, Any]]],
    *,
    debug_mask: str | int = "all",
) -> None:
    """Every expected module is what one sketch becomes with its decisions, and each sketch is used once."""
    if not len(expected_mods) == len(expected_decisions) == len(sketches):
        raise AssertionError(
            f"{len(sketches)} sketches, {len(expected_mods)} expected modules, {len(expected_decisions)} decisions"
        )
    left = list(sketches)
    for number, (expected, decisions) in enumerate(zip(expected_mods, expected_decisions)):
        expected = expected if isinstance(expected, IRModule) else IRModule({"main": expected})
        for sketch in left:
            chosen = _with_decisions(sketch, decisions)
            if chosen is None:
                continue
            sch = Schedule(mod, debug_mask=debug_mask)
            Trace(sketch.trace.insts, chosen).apply_to_schedule(sch, remove_postproc=True)
            if structural_equal(_with_ordered_sums(sch.mod), _with_ordered_sums(expected)):
                verify_trace_roundtrip(sch=sch, mod=mod, debug_mask=debug_mask, text_format="json")
                left.remove(sketch)
                break
        else:
            raise AssertionError(f"Expected sketch #{number} doesn't exist in the generated sketches.")


def print_sketches(sketches: list[Schedule]) -> None:
    """Prints every sketch: its module, its trace and its decisions."""
    for i, sketch in enumerate(sketches):
        print(f"###### {i}")
        sketch.mod.show()
        for inst in sketch.trace.insts:
            if inst in sketch.trace.decisions:
                print(f'("{inst.kind.name}", {sketch.trace.decisions[inst]}),')
