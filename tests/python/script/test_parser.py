"""What scripts may say, and what is said about those that are wrong."""

import pytest
import tessera as tvm
from tessera import ir, tir
from tessera.error import DiagnosticError
from tessera.script import tir as T

WIDTH = 16


def body_of(text: str, head: str = "A: T.Buffer[(8, 8), 'float32'], n: T.int32"):
    lines = "\n".join("    " + line for line in text.strip("\n").split("\n"))
    return tvm.script.from_source(f"@T.prim_func\ndef f({head}):\n{lines}\n").body


def error_of(text: str, **kwargs) -> str:
    with pytest.raises(DiagnosticError) as caught:
        body_of(text, **kwargs)
    return str(caught.value)


# ---- captured values


def test_captured_values_are_worked_out():
    scale, shape, config = 2, (4, WIDTH), {"dtype": "int32"}

    def twice(value):
        return value * 2

    @T.prim_func
    def f(A: T.Buffer[shape, "int32"]):
        for i, j in T.grid(shape[0], WIDTH // scale):
            A[i, j] = T.cast(twice(scale) + j, config["dtype"])

    assert f.body.extent.value == 4 and f.body.body.extent.value == 8
    assert f.body.body.body.value.value.a.value == 4


def test_a_module_sees_the_values_around_it():
    size = 32

    @tvm.script.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer[(size,), "float32"]):
            for i in T.serial(size):
                A[i] = T.float32(0)

        @T.prim_func
        def other(n: T.int32):
            T.evaluate(main(n, dtype="int32"))

    assert Module["main"].body.extent.value == size
    call = Module["other"].body.value
    assert call.op.same_as(Module.get_global_var("main"))


def test_text_may_be_formatted():
    number = 3

    @T.prim_func
    def f():
        T.evaluate(T.call_extern(f"step_{number:02d}", dtype="int32"))

    assert f.body.value.args[0].value == "step_03"


# ---- statements


def test_every_argument_of_match_buffer():
    text = """
@T.prim_func
def f(a: T.handle):
    n = T.var("int64")
    s = T.var("int64")
    A = T.match_buffer(a, (n, 4), "float16", strides=[s, 1], elem_offset=8, scope="shared", align=128, offset_factor=4,
                       buffer_type="default", axis_separators=[1])
    T.evaluate(A.strides[0])
"""
    buffer = tvm.script.from_source(text).buffer_map.items()[0][1]
    assert (buffer.dtype, buffer.scope(), buffer.data_alignment, buffer.offset_factor) == ("float16", "shared", 128, 4)
    assert [int(s) for s in buffer.axis_separators] == [1] and buffer.elem_offset.value == 8


def test_auto_broadcast_gives_every_dimension_a_stride():
    text = '@T.prim_func\ndef f(a: T.handle):\n    A = T.match_buffer(a, (4, 4), buffer_type="auto_broadcast")\n    T.evaluate(0)'
    assert len(tvm.script.from_source(text).buffer_map.items()[0][1].strides) == 2


def test_both_forms_of_let_and_of_scopes():
    concise = body_of("x: T.int32 = n + 1\nA[x, 0] = T.float32(1)")
    wide = body_of("with T.let(x, n + 1):\n    A[x, 0] = T.float32(1)")
    announced = body_of('x = T.var("int32")\nwith T.let(x, n + 1):\n    A[x, 0] = T.float32(1)')
    ir.assert_structural_equal(concise, wide, True)
    ir.assert_structural_equal(concise, announced, True)
    allocated = body_of('with T.allocate([4], "float32", "shared") as X:\n    T.evaluate(X)')
    ir.assert_structural_equal(body_of('X = T.allocate([4], "float32", "shared")\nT.evaluate(X)'), allocated, True)


def test_a_declared_buffer_without_data_is_allocated():
    stmt = body_of('X = T.decl_buffer([4], "float32", scope="local")\nX[0] = T.float32(1)')
    assert isinstance(stmt, tir.Allocate) and stmt.body.buffer.data.same_as(stmt.buffer_var)


def test_loops_of_every_kind():
    kinds = {"serial": 0, "range": 0, "parallel": 1, "vectorized": 2, "unroll": 3}
    for name, kind in kinds.items():
        loop = body_of(f"for i in {'' if name == 'range' else 'T.'}{name}(2, n):\n    T.evaluate(i)")
        assert int(loop.kind) == kind and loop.min.value == 2
    bound = body_of('for tx in T.thread_binding(0, 32, "threadIdx.x", annotations={"k": 1}):\n    T.evaluate(tx)')
    assert bound.thread_binding.thread_tag == "threadIdx.x" and bound.annotations["k"].value == 1
    assert body_of("for i, j in T.grid(*[2, 3]):\n    T.evaluate(i + j)").body.extent.value == 3


def test_launches_of_one_name_declared_twice_are_two_threads():
    stmt = body_of(
        'tx = T.env_thread("threadIdx.x")\ntx = T.env_thread("threadIdx.x")\n'
        "with T.launch_thread(tx, 4):\n    A[tx, 0] = T.float32(1)\nT.launch_thread(tx, 4)\nA[tx, 1] = T.float32(2)"
    )
    first, second = stmt
    assert not first.node.var.same_as(second.node.var)
    assert second.body.indices[0].same_as(second.node.var)


def test_matrix_and_ptx_intrinsics_are_calls():
    stmt = body_of(
        'T.evaluate(T.ptx_mma("m8n8k4", "row", "col", "fp16", "fp16", "fp32", A.data, 0, A.data, 0, A.data, 0, False,'
        ' dtype="float32"))\n'
        'T.evaluate(T.tvm_load_matrix_sync(A.data, 16, 16, 16, 0, T.tvm_access_ptr(T.type_annotation(dtype="float16"),'
        ' A.data, 0, 16, 1, dtype="handle"), 16, "row_major", dtype="handle"))'
    )
    assert [s.value.op.name for s in stmt] == ["tir.ptx_mma", "tir.tvm_load_matrix_sync"]


def test_an_intrinsic_without_a_type_takes_its_argument_s():
    assert body_of("A[0, 0] = T.exp(A[0, 1])").value.dtype == "float32"


def test_numbers_written_out_stay_as_written():
    assert isinstance(body_of("T.evaluate(-3 // 2)").value, tir.FloorDiv)
    assert isinstance(body_of("T.evaluate(not(True))").value, tir.Not)


# ---- errors


def test_errors_point_at_the_position():
    assert error_of("A[0, 0] = undefined + 1") == (
        "undefined is not defined\n  --> <string>:3:15\n   |     A[0, 0] = undefined + 1\n   |               ^^^^^^^^^"
    )


@pytest.mark.parametrize(
    "text, words, mark",
    [
        ("A[0] = 1.0", "buffer A has 2 dimensions, 1 indices are given", "A[0]"),
        ("A[0, 0] = A[0, 0] + n", "types", "A[0, 0] + n"),
        ("for i in [1, 2]:\n    T.evaluate(i)", "a loop is over T.serial", "[1, 2]"),
        ("for i, j in T.grid(4):\n    T.evaluate(i)", "1 loops need as many names, not 2", "i, j"),
        ("T.reads(A[0, 0])", "this stands inside a block", "T.reads(A[0, 0])"),
        ("with T.block('B'):\n    v = T.axis.remap('S', [n])", "takes loop variables", "T.axis.remap('S', [n])"),
        (
            "x = T.allocate([4], 'float32', 'global', unknown=1)",
            "unknown",
            "T.allocate([4], 'float32', 'global', unknown=1)",
        ),
        ("T.unheard_of(1)", "T.unheard_of is not known here", "T.unheard_of(1)"),
        ("T.evaluate(T.store(n, 0, 1))", "assign to a view instead", "T.store(n, 0, 1)"),
        ("import os", "a script cannot contain Import", "import os"),
        ("T.launch_thread(n, 4)", "made by T.env_thread", "T.launch_thread(n, 4)"),
        ("B = T.match_buffer(q, [4])", "q is not defined", "q"),
        ("T.evaluate(T.ramp(n, 1))", "lanes", "T.ramp(n, 1)"),
    ],
)
def test_errors_say_what_and_where(text, words, mark):
    message = error_of(text)
    assert words in message
    *_, line, under = message.split("\n")
    column = under.index("^")
    assert line[column : column + under.count("^")] == mark


def test_a_parameter_needs_a_type():
    assert "parameter x needs a type" in error_of("pass", head="x")


def test_columns_count_characters():
    message = error_of('A[0, 0] = T.call_extern("ünï", undefined, dtype="float32")')
    *_, line, under = message.split("\n")
    assert line[under.index("^") :].startswith("undefined")


def test_an_error_in_a_decorated_function_names_its_file():
    with pytest.raises(DiagnosticError, match=r"test_parser\.py:\d+:24"):

        @T.prim_func
        def f(n: T.int32):
            T.evaluate(nowhere)


def test_a_store_keeps_the_type_of_its_value():
    @T.prim_func
    def f(A: T.Buffer[(8,), "float32"], B: T.Buffer[(8,), "int16"], C: T.Buffer[(8,), "uint8"], n: T.int32):
        for i in T.serial(8):
            A[i] = i * 2
            A[0] = T.max(3, n)
            B[i] = C[i]

    first, second, third = f.body.body
    assert (first.value.dtype, second.value.dtype, third.value.dtype) == ("int32", "int32", "uint8")
    assert "A[i] = i * 2" in f.script()
    assert ir.structural_equal(tvm.script.from_source(f.script()), f)


def test_what_printers_write_below_a_module_is_skipped():
    text = (
        "@tvm.script.ir_module\nclass M:\n    @T.prim_func\n    def f():\n        T.evaluate(0)\n    __tvm_meta__ = {}"
    )
    assert [var.name_hint for var in tvm.script.from_source(text.format(None)).get_global_vars()] == ["f"]
    with pytest.raises(DiagnosticError, match="holds functions only"):
        tvm.script.from_source(text.format("{}"))


def test_results_of_python_functions_are_named_not_bound():
    def both(i, j):
        return i + 1, j * 2

    def shifted(i):
        return i + 3

    @T.prim_func
    def f(A: T.Buffer[(8, 8), "float32"]):
        for i, j in T.grid(4, 4):
            x, y = both(i, j)
            z = shifted(i)
            A[x, y] = A[z, 0]

    @T.prim_func
    def plain(A: T.Buffer[(8, 8), "float32"]):
        for i, j in T.grid(4, 4):
            A[i + 1, j * 2] = A[i + 3, 0]

    ir.assert_structural_equal(f, plain)
    with pytest.raises(DiagnosticError, match="3 names are given 2 values"):

        @T.prim_func
        def wrong(A: T.Buffer[(8, 8), "float32"]):
            for i, j in T.grid(4, 4):
                x, y, z = both(i, j)
                A[x, y] = T.float32(z)


def test_constant_memory_may_have_fewer_numbers_than_elements():
    body = body_of('P = T.allocate_const([7, 9], "int8", [6])\nT.evaluate(P)')
    assert body.extents[0].value == 6 and list(body.data.numpy()) == [7, 9]


def test_statements_know_their_lines():
    body = body_of("for i in T.serial(8):\n    with T.block('b'):\n        vi = T.axis.S(8, i)\n        A[vi, 0] = 1.0")
    block = body.block.body.body.block
    assert (body.block.body.span.line, block.span.line, block.body.span.line) == (3, 4, 6)
    assert (block.body.span.column, block.body.span.end_column) == (13, 27)


IN_BLOCK = (
    "for i in T.serial(8):\n    with T.block('b'):\n        vi = T.axis.S(8, i)\n        {}\n        A[vi, vi] = 1.0"
)


@pytest.mark.parametrize(
    "statement, words",
    [
        ("vi = T.axis.S(8, i)", "the block already has an axis vi"),
        ("A = T.alloc_buffer((8, 8))", "there is already a buffer A here"),
        ("T.reads(A[vi, 0])\n        T.reads(A[vi, 1])", "T.reads stands once in a block"),
        ("T.writes(A[vi, 0])\n        T.writes(A[vi, 1])", "T.writes stands once in a block"),
        ("T.where(i < 4)\n        T.where(i < 5)", "T.where stands once in a block"),
        ("T.block_attr({'a': 1})\n        T.block_attr({'b': 1})", "T.block_attr stands once in a block"),
        ("T.reads(A[vi, 0:8:2])", "a region has no steps"),
        ("A[vi, 1.5] = 1.0", "an index is an integer, not float32"),
        ("T.max(1, 2)", "an expression is no statement"),
        ("A[vi, T.floor(2)] = 1.0", "T.floor of an integer needs a dtype"),
        ("B = T.match_buffer(A[vi, 0:8], (4,))", "match_buffer: B of shape [4] does not have the shape of the region"),
    ],
)
def test_what_is_said_twice_or_means_nothing_is_an_error_on_its_line(statement, words):
    message = error_of(IN_BLOCK.format(statement))
    assert words in message and f"<string>:{6 + statement.count(chr(10))}:" in message


@pytest.mark.parametrize(
    "text, words",
    [
        ('T.realize(A[0:8, 0:8], "")', "T.realize has no body"),
        ('T.Assert(n > 0, "n")', "T.Assert has no body"),
        ("with T.block('b') as x:\n    T.evaluate(0)", "a block gives no name"),
    ],
)
def test_scopes_without_a_body_and_blocks_with_a_name_are_errors(text, words):
    assert words in error_of(text)


def test_a_buffer_type_without_a_dtype_is_an_error_of_python():
    with pytest.raises(ValueError, match="has no dtype"):
        T.Buffer[(4, 4)]


def test_a_renderer_of_the_user_s_sees_errors_of_scripts():
    seen = []
    ir.diagnostics.override_renderer(lambda context: seen.extend(context.diagnostics))
    try:
        error_of("for i in T.serial(8):\n    A[i, nothing] = 1.0")
        with pytest.raises(DiagnosticError):
            tvm.script.from_source("def f(:")
    finally:
        ir.diagnostics.override_renderer(None)
    assert [(d.span.line, d.message) for d in seen][0] == (4, "nothing is not defined") and len(seen) == 2
