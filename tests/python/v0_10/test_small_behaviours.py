"""What programs written for v0.10 rely on, one small thing each; the larger ones are tested in their rooms (test_lines.py)."""

# ruff: noqa: F821 - names inside scripts

import numpy as np
import pytest
import tessera as tvm
from tessera import relay, te, tir, topi
from tessera.script import tir as T


def typed(expr):
    return relay.transform.InferType()(tvm.IRModule.from_expr(expr))["main"]


def test_an_array_given_to_a_constructor_is_what_it_holds():
    params = tvm.runtime.convert([relay.TypeVar("a")])
    assert relay.FuncType([], relay.TupleType([]), params, []).type_params == params


def test_a_wrong_argument_is_an_error_of_both_kinds():
    for kind in (TypeError, tvm.TVMError):
        with pytest.raises(kind):
            tir.Var(1, 1)


def test_copies_count_in_the_type_of_their_buffers_extents():
    @T.prim_func
    def wide(A: T.Buffer[(T.int64(8),), "float32"], B: T.Buffer[(T.int64(8),), "float32"]):
        for i in T.serial(T.int64(8)):
            with T.block("B"):
                v = T.axis.spatial(T.int64(8), i)
                B[v] = A[v]

    for copy in (lambda sch: sch.cache_read("B", 0, "local"), lambda sch: sch.cache_write("B", 0, "local")):
        sch = tir.Schedule(wide)
        block = copy(sch)
        assert sch.get(sch.get_loops(block)[0]).loop_var.dtype == "int64"
        assert sch.get(block).iter_vars[0].var.dtype == "int64"


def test_a_missing_block_is_told_briefly_where_that_is_asked_for():
    @T.prim_func
    def one(A: T.Buffer[8, "float32"]):
        for i in range(8):
            with T.block("A"):
                v = T.axis.spatial(8, i)
                A[v] = 1.0

    with pytest.raises(tir.ScheduleError, match="Cannot find a block with the specified name"):
        tir.Schedule(one, error_render_level="fast").get_block("B")
    with pytest.raises(
        tir.ScheduleError, match='Cannot find a block with the name: B; the blocks of "main" are root, A'
    ):
        tir.Schedule(one).get_block("B")


def test_annotations_of_memory_are_printed():
    @T.prim_func
    def annotated():
        a = T.allocate([4], "float32", "global", annotations={"k": 1})
        T.evaluate(T.call_extern("f", a, dtype="int32"))

    assert 'T.allocate([4], "float32", "global", annotations={"k":1})' in annotated.script()
    assert tvm.ir.structural_equal(tvm.script.from_source(annotated.script()), annotated)


def test_loops_of_one_iteration_stay_in_bindings_when_tiled():
    @T.prim_func
    def rows(A: T.Buffer[(1, 16), "float32"]):
        for i, j in T.grid(1, 16):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = 1.0

    sch = tir.Schedule(rows)
    _, j = sch.get_loops("A")
    sch.split(j, [None, 4])
    assert "T.axis.spatial(1, i)" in sch.mod["main"].script()


def test_values_are_traced_without_a_name(capfd):
    A = te.placeholder((2,), name="A", dtype="int32")
    B = te.compute((2,), lambda i: tir.trace([A[i]]), name="B")
    func = tvm.build(te.create_schedule(B.op), [A, B], "llvm")
    out = tvm.nd.array(np.zeros(2, "int32"))
    func(tvm.nd.array(np.array([5, 7], "int32")), out)
    printed = capfd.readouterr().out
    assert "5" in printed and "7" in printed
    np.testing.assert_array_equal(out.numpy(), [5, 7])


def test_system_libraries_are_rejected_rather_than_ignored():
    x = relay.var("x", shape=(2,))
    with pytest.raises(Exception, match="system"):
        relay.build(
            tvm.IRModule.from_expr(relay.Function([x], relay.abs(x))),
            "llvm",
            runtime=relay.backend.Runtime("cpp", {"system-lib": True}),
        )


def test_the_index_of_an_extreme_has_the_type_of_the_first_extent():
    wide = relay.TensorType((tir.IntImm("int64", 4), tir.IntImm("int64", 3)), "float32")
    for op in (relay.argmax, relay.argmin):
        assert typed(op(relay.var("x", wide), axis=1)).ret_type.dtype == "int64"
        assert typed(op(relay.var("x", shape=(4, 3)), axis=1)).ret_type.dtype == "int32"
    x = relay.var("x", wide)
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.argmax(x, axis=1)))
    data = np.random.default_rng(0).standard_normal((4, 3)).astype("float32")
    got = relay.create_executor("graph", mod).evaluate()(data).numpy()
    assert got.dtype == "int64"
    np.testing.assert_array_equal(got, data.argmax(axis=1))


def test_extents_of_32_and_64_bits_unify():
    wide = relay.var("a", relay.TensorType((tir.IntImm("int64", 4),), "float32"))
    narrow = relay.var("b", shape=(4,))
    for sum_ in (relay.Function([wide, narrow], wide + narrow), relay.Function([wide, narrow], narrow + wide)):
        assert typed(sum_).ret_type.shape[0] == 4
        got = relay.create_executor("graph", tvm.IRModule.from_expr(sum_)).evaluate()(*[np.ones(4, "float32")] * 2)
        np.testing.assert_array_equal(got.numpy(), np.full(4, 2))
    relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([wide], wide, relay.TensorType((4,), "float32"))))


def test_a_shape_of_64_bits_gives_extents_of_64_bits():
    shape = relay.const(np.array([2, 3], "int64"), "int64")
    x = relay.var("x", shape=(3,))
    for made in (relay.ones(shape, "float32"), relay.full(relay.const(1.0), shape), relay.broadcast_to(x, shape)):
        function = typed(made)
        assert [extent.dtype for extent in function.ret_type.shape] == ["int64", "int64"]
        got = relay.create_executor("graph", tvm.IRModule.from_expr(function)).evaluate()(
            *[np.ones(3, "float32")] * len(function.params)
        )
        np.testing.assert_array_equal(got.numpy(), np.ones((2, 3)))


def test_errors_of_registration_binding_and_calls_are_of_v0_10s_kind():
    with pytest.raises(tvm.TVMError):
        relay.op.register("nn.relu", "again")
    x, other = relay.var("x", shape=(2,)), relay.var("x", shape=(2,))
    with pytest.raises(tvm.TVMError):
        relay.build_module.bind_params_by_name(relay.Function([x, other], x + other), {"x": tvm.nd.array(np.ones(2))})
    call = relay.create_executor("vm", tvm.IRModule.from_expr(relay.Function([x], relay.abs(x)))).evaluate()
    with pytest.raises(tvm.TVMError):
        call(np.ones(3, "float32"))


def test_one_compiled_function_takes_one_scale_or_one_for_each_channel():
    x, code = relay.var("x", shape=(2, 3)), relay.var("code", shape=(), dtype="int32")
    scale, zero = relay.var("s", shape=(relay.Any(),)), relay.var("z", shape=(relay.Any(),), dtype="int32")
    out = relay.qnn.op.simulated_quantize(x, scale, zero, axis=1, out_dtype=code)
    call = relay.create_executor("vm", tvm.IRModule.from_expr(relay.Function([x, code, scale, zero], out))).evaluate()
    int8 = np.int32(topi.nn.qnn.SQNN_DTYPE_TO_CODE["int8"])
    for scales in ([0.5], [0.5, 0.25, 1]):
        got = call(np.ones((2, 3), "float32"), int8, np.array(scales, "float32"), np.zeros(len(scales), "int32"))
        np.testing.assert_array_equal(got.numpy(), np.ones((2, 3)) / scales)


def test_one_element_serves_channels_of_any_number():
    x, one = relay.var("x", shape=(1, relay.Any(), 4)), relay.var("a", shape=(1,))
    for made in (relay.nn.prelu(x, one), relay.nn.bias_add(x, one)):
        assert len(typed(made).ret_type.shape) == 3


def test_shapes_given_as_lists_are_constants_of_32_bits():
    shape = relay.collapse_sum_to(relay.var("x", shape=(2, 3)), [1, 3]).args[1]
    assert shape.data.dtype == "int32"


def test_no_passes_take_no_time():
    timing = tvm.ir.instrument.PassTimingInstrument()
    with tvm.transform.PassContext(instruments=[timing]):
        assert timing.render() == ""


@pytest.mark.parametrize("name", ["annotation.with_funcid", "call_lowered", "parser.MetaRef", "hardswish"])
def test_operators_of_v0_10_have_their_names(name):
    assert tvm.ir.Op.get(name).name == name


def test_a_lowered_call_has_the_type_of_its_function():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    function = relay.Function([x], relay.abs(x))
    call = relay.Call(tvm.ir.Op.get("call_lowered"), [function, relay.Tuple([y])])
    assert typed(relay.Function([y], call)).ret_type == relay.TensorType((2,))
    wrong = relay.Call(tvm.ir.Op.get("call_lowered"), [function, relay.Tuple([y, y])])
    with pytest.raises(tvm.error.DiagnosticError, match="takes 1 arguments, 2 are given"):
        typed(relay.Function([y], wrong))


def test_memory_on_a_scope_of_no_device():
    assert tvm.target.VirtualDevice(memory_scope="global.texture").memory_scope == "global.texture"


def test_boxes_of_all_classes_come_class_by_class_for_tensorflow():
    boxes = np.array([[[0, 0, 1, 1], [2, 2, 3, 3]]], "float32")
    scores = np.array([[[0.2, 0.3], [0.9, 0.8]]], "float32")
    b, s = relay.var("b", shape=boxes.shape), relay.var("s", shape=scores.shape)
    out = relay.vision.all_class_non_max_suppression(b, s, 2, 0.5, 0.0, output_format="tensorflow")
    mod = tvm.IRModule.from_expr(relay.Function([b, s], relay.Tuple([out[0], out[1]])))
    indices, found = (x.numpy() for x in relay.create_executor("vm", mod).evaluate()(boxes, scores))
    np.testing.assert_array_equal(indices[0], [[0, 1], [0, 0], [1, 0], [1, 1]])
    np.testing.assert_allclose(found[0], [0.3, 0.2, 0.9, 0.8])


def test_a_slice_a_number_and_a_tensor_have_their_forms_in_topi():
    A = te.placeholder((3, 4), name="A")
    assert isinstance(topi.topk(A, ret_type="both"), list)
    assert topi.tensordot(A, te.placeholder((4, 5)), axes=(1, 0)).shape[1] == 5


@T.prim_func
def under_a_guard(A: T.Buffer[(14, 14), "float32"]):
    for i, j in T.grid(16, 16):
        with T.block("A"):
            T.where(i * 16 + j < 200 and i < 14 and j < 14)
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = T.cast(vi * 14 + vj, "float32")


@T.prim_func
def leaving_elements_out(A: T.Buffer[(64, 16), "float32"]):
    for i, j in T.grid(4, 16):
        with T.block("A"):
            vi = T.axis.S(64, i * 16)
            vj = T.axis.S(16, j)
            A[vi, vj] = T.cast(vi * 16 + vj, "float32")


@pytest.mark.parametrize("function, shape", [(under_a_guard, (14, 14)), (leaving_elements_out, (64, 16))])
def test_loops_that_v0_10_does_not_reorder_are_reordered_rightly(function, shape):
    sch = tir.Schedule(function)
    sch.reorder(*reversed(sch.get_loops("A")))
    first, second = (tvm.nd.array(np.zeros(shape, "float32")) for _ in range(2))
    tvm.build(function, target="llvm")(first)
    tvm.build(sch.mod["main"], target="llvm")(second)
    np.testing.assert_array_equal(first.numpy(), second.numpy())
    assert first.numpy().any()


def test_a_pointer_that_a_let_binds_keeps_its_type_where_accesses_are_vectors():
    @T.prim_func
    def vectors(A: T.Buffer[(16,), "float32"]):
        p: T.Ptr[T.float32] = T.address_of(A[0], dtype="handle")
        B = T.buffer_decl((16,), "float32", data=p)
        B[T.ramp(0, 1, 4)] = T.broadcast(T.float32(1), 4)

    mod = tir.transform.StorageRewrite()(tvm.IRModule({"main": vectors.with_attr("global_symbol", "main")}))
    assert mod["main"].body.var.type_annotation.element_type.dtype == "float32"


def simplified(expr):
    return relay.transform.SimplifyExpr()(tvm.IRModule.from_expr(typed(expr)))["main"].body


def test_a_transpose_before_a_layout_transform_is_one_and_cast_like_is_a_cast():
    x = relay.var("x", shape=(1, 8, 4, 4))
    blocks = simplified(relay.layout_transform(relay.transpose(x, (0, 2, 3, 1)), "NHWC", "NCHW4c"))
    assert blocks.op.name == "layout_transform" and blocks.attrs.src_layout == "NCHW"
    assert simplified(relay.cast_like(x, relay.var("y", shape=(1,), dtype="int32"))).op.name == "cast"
