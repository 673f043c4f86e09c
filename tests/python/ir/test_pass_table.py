"""The tables that name passes: Python's constructors come from them, and what they promise holds."""

import inspect

import pytest
import tessera
from tessera import relay, te, tir
from tessera.driver.build_module import schedule_to_module
from tessera.ir.pass_table import holds, pass_rows
from tessera.script import tir as T

TABLES = {"tir.transform.": tir.transform, "relay._transform.": relay.transform}
ROWS = [(prefix, row) for prefix in TABLES for row in pass_rows(prefix)]


def shown(case):
    return case[0] + case[1].name


@pytest.mark.parametrize("case", ROWS, ids=shown)
def test_a_row_is_a_global_and_a_function_of_python(case):
    prefix, row = case
    assert tessera.get_global_func(prefix + row.name)
    assert row.info.opt_level in range(5)
    function = getattr(TABLES[prefix], row.name, None)
    if row.doc:
        assert function.__doc__ == row.doc and function.__module__.startswith(TABLES[prefix].__name__)
        scope = {}
        exec(f"from __future__ import annotations\ndef like({row.parameters}) -> Pass: ...", scope)
        assert inspect.signature(function) == inspect.signature(scope["like"])
        assert row.name in dir(TABLES[prefix])


@pytest.mark.parametrize("case", [c for c in ROWS if c[1].doc and not c[1].parameters], ids=shown)
def test_a_pass_without_options_has_the_name_and_level_of_its_row(case):
    prefix, row = case
    made = getattr(TABLES[prefix], row.name)()
    if made.info.name != "sequential":
        assert (made.info.name, made.info.opt_level) == (row.info.name, row.info.opt_level)
        assert list(made.info.required) == list(row.info.required)


def test_constructors_take_their_options_by_position_and_by_name():
    assert tir.transform.StorageFlatten(64).info.name == "tir.StorageFlatten"
    assert relay.transform.FoldConstant(fold_qnn=True).info.name == "FoldConstant"
    assert str(inspect.signature(tir.transform.ThreadSync)) == "(storage_scope: 'str') -> 'Pass'"
    with pytest.raises(
        TypeError, match=r"StorageFlatten\(\) missing 1 required positional argument: 'cache_line_size'"
    ):
        tir.transform.StorageFlatten()


def test_what_only_the_compiler_makes_is_no_name_of_python():
    hidden = {row.name for row in pass_rows("tir.transform.") if not row.doc}
    assert "MaskVectorTails" in hidden and not hasattr(tir.transform, "MaskVectorTails")


# ---- promises ----


@T.prim_func
def reduction(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (8, 16))
    B = T.match_buffer(b, (8,))
    for i, k in T.grid(8, 16):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def views(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (8, 8))
    B = T.match_buffer(b, (8, 8))
    for i in range(8):
        with T.block("row"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi, 0:8])
            T.writes(B[vi, 0:8])
            row = T.match_buffer(A[vi, 0:8], (8,), offset_factor=1)
            for j in T.vectorized(8):
                B[vi, j] = row[j]


@T.prim_func
def parallel(a: T.handle):
    A = T.match_buffer(a, (8,), "int32")
    for i in T.parallel(8):
        assert i < 8, "i"
        A[i] = i


@T.prim_func
def bfloat(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (8,), "bfloat16")
    B = T.match_buffer(b, (8,), "bfloat16")
    for i in range(8):
        with T.block("double"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + A[vi]


def from_te():
    x = te.placeholder((16, 16), name="x")
    y = te.compute((16, 16), lambda i, j: x[i, j] * 2.0, name="y")
    z = te.compute((16, 16), lambda i, j: y[i, j] + 1.0, name="z")
    s = te.create_schedule(z.op)
    outer, _ = s[z].split(z.op.axis[0], nparts=2)
    s[z].bind(outer, te.thread_axis("vthread"))
    s[z].vectorize(z.op.axis[1])
    return schedule_to_module(s, [x, z], "main", {})


def prefetch():
    buffer = tir.decl_buffer((8, 16), name="A")
    body = tir.Prefetch(buffer, [tessera.ir.Range(0, 2), tessera.ir.Range(0, 16)])
    return tessera.IRModule({"main": tir.PrimFunc([buffer.data], body)})


def branches():
    x = relay.var("x", shape=(4,))
    shared = relay.exp(relay.tanh(x))
    return tessera.IRModule.from_expr(
        relay.Function([x], relay.If(relay.min(x) < relay.const(0.0), shared + shared, shared))
    )


# A program of which each promise is not true, and the passes after which it is.
BEFORE = {
    "no_block_init": (reduction, [tir.transform.LowerInitBlock()]),
    "no_block_vars": (reduction, [tir.transform.LowerInitBlock(), tir.transform.ConvertBlocksToOpaque()]),
    "no_buffer_views": (views, [tir.transform.ConvertBlocksToOpaque(), tir.transform.LowerMatchBuffer()]),
    "no_blocks": (views, None),
    "flat_memory": (reduction, None),
    "no_vectorized_loops": (views, None),
    "no_parallel_loops": (parallel, [tir.transform.ConvertForLoopsToSerial()]),
    "no_asserts": (parallel, [tir.transform.SkipAssert()]),
    "no_bfloat16": (bfloat, None),
    "no_prefetch": (prefetch, [tir.transform.InjectPrefetch()]),
    "no_buffer_realize": (from_te, None),
    "no_virtual_threads": (from_te, None),
    "all_types_known": (branches, [relay.transform.InferType()]),
    "basic_block_normal_form": (branches, [relay.transform.ToBasicBlockNormalForm()]),
    "a_normal_form": (branches, [relay.transform.ToANormalForm()]),
}


def module_of(program):
    if isinstance(program, tir.PrimFunc):
        return tessera.IRModule.from_expr(program.with_attr("global_symbol", "main"))
    return program()


@pytest.mark.parametrize("promise", BEFORE)
def test_a_promise_is_seen_to_hold_and_not_to_hold(promise):
    program, passes = BEFORE[promise]
    mod = module_of(program)
    assert not holds(promise, mod)
    lowered = tessera.lower(mod) if passes is None else tessera.transform.Sequential(passes)(mod)
    assert holds(promise, lowered)


def test_every_promise_of_the_tables_has_a_program_here():
    promised = {promise for _, row in ROWS for promise in row.holds}
    assert promised == set(BEFORE)


def test_a_name_that_no_pass_promises_is_an_error():
    with pytest.raises(ValueError, match='no pass promises "no_errors"'):
        holds("no_errors", tessera.IRModule())
