"""Functions built frame by frame are what a script of them gives."""

import numpy as np
import pytest
import tessera
from tessera import tir
from tessera.script import tir as S
from tessera.script.ir_builder import IRBuilder
from tessera.script.ir_builder import ir as I
from tessera.script.ir_builder import tir as T


def check(found, wanted):
    tessera.ir.assert_structural_equal(found, wanted, map_free_vars=True)


def test_a_function_of_parameters_buffers_and_attributes():
    with IRBuilder() as ib, T.prim_func():
        T.func_name("f")
        a = T.arg("a", T.handle())
        n = T.arg("n", T.int32())
        c = T.arg("C", T.buffer_decl((8,), "float32", scope="global", align=-1))
        T.func_attr({"tir.noalias": True})
        buffer = T.match_buffer(a, (16, 16))
        T.buffer_store(c, buffer[n, 0] + 1.0, [n])
    found = ib.get()
    assert [str(p.name) for p in found.params] == ["a", "n", "C_handle"] and found.attrs["global_symbol"] == "f"
    assert found.buffer_map[found.params[2]].name == "C" and len(found.buffer_map) == 2
    assert isinstance(found.body, tir.BufferStore) and bool(found.attrs["tir.noalias"])


def test_loops_and_blocks_are_those_of_a_script():
    @S.prim_func
    def matmul(a: S.handle, b: S.handle, c: S.handle) -> None:
        S.func_attr({"global_symbol": "matmul"})
        A = S.match_buffer(a, (16, 16), "float32")
        B = S.match_buffer(b, (16, 16), "float32")
        C = S.match_buffer(c, (16, 16), "float32")
        for i, j, k in S.grid(16, 16, 16):
            with S.block("update"):
                vi, vj, vk = S.axis.remap("SSR", [i, j, k])
                S.reads(A[vi, vk], B[vk, vj])
                S.writes(C[vi, vj])
                with S.init():
                    C[vi, vj] = S.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    with IRBuilder() as ib, T.prim_func():
        T.func_name("matmul")
        A, B, C = (T.match_buffer(T.arg(name, T.handle()), (16, 16)) for name in "abc")
        with T.grid(16, 16, 16) as (i, j, k), T.block("update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                T.buffer_store(C, 0.0, [vi, vj])
            T.buffer_store(C, C[vi, vj] + A[vi, vk] * B[vk, vj], [vi, vj])
    found = ib.get()
    check(found.body, matmul.body)
    x, y = (np.random.default_rng(seed).random((16, 16)).astype("float32") for seed in (0, 1))
    out = tessera.nd.empty((16, 16))
    tessera.build(found, target="llvm")(tessera.nd.array(x), tessera.nd.array(y), out)
    np.testing.assert_allclose(out.numpy(), x @ y, 1e-4)


def test_regions_that_are_not_said_are_found_out():
    with IRBuilder() as ib, T.prim_func():
        A, B = (T.match_buffer(T.arg(name, T.handle()), (16,)) for name in "ab")
        with T.serial(16) as i, T.block("copy"):
            vi = T.axis.spatial(16, i)
            T.buffer_store(B, A[vi], [vi])
    block = ib.get().body.block.body.body.block
    assert [region.buffer for region in (*block.reads, *block.writes)] == [A, B]
    assert not block.annotations
    with IRBuilder() as ib, T.block("alone"):
        T.reads(A[0:4])
        T.evaluate(0)
    assert int(ib.get().block.annotations["tir.script_parsing_detect_access"]) == 2


def test_a_named_buffer_keeps_what_it_was_given():
    data = tir.Var("memory", tessera.ir.PointerType(tessera.ir.PrimType("float32")))
    with IRBuilder():
        plain = IRBuilder.name("plain", T.buffer_decl((8,), "float32"))
        given = IRBuilder.name("given", T.buffer_decl((8,), "float32", data=data, elem_offset=4))
    assert (plain.name, plain.data.name, int(plain.elem_offset)) == ("plain", "plain", 0)
    assert (given.name, given.data.same_as(data), int(given.elem_offset)) == ("given", True, 4)


def test_a_block_with_everything():
    a, f = T.var("int64", "a"), T.var("int32", "f")
    b, c, e = (T.buffer_decl((128, 128), "float32") for _ in range(3))
    with IRBuilder() as ib, T.block("block"):
        T.where(a > 1)
        T.reads(b[0:16, 0:16])
        T.writes(c[f:128, f:128])
        T.block_attr({"key": "value"})
        T.alloc_buffer((128, 128), "float32")
        T.match_buffer(e[0:32, 0:32], (32, 32))
        T.axis.spatial(128, f)
        T.evaluate(0)
    found = ib.get()
    block = found.block
    assert list(found.iter_values) == [f] and str(block.annotations["key"]) == "value"
    assert len(block.alloc_buffers) == len(block.match_buffers) == len(block.reads) == len(block.writes) == 1
    assert [int(r.extent) for r in block.reads[0].region] == [16, 16] and block.iter_vars[0].iter_type == 0
    check(found.predicate, a > 1)


@pytest.mark.parametrize(
    "make, kind",
    [
        (lambda: T.serial(8), tir.ForKind.SERIAL),
        (lambda: T.parallel(2, 10), tir.ForKind.PARALLEL),
        (lambda: T.vectorized(8), tir.ForKind.VECTORIZED),
        (lambda: T.unroll(8, annotations={"x": 1}), tir.ForKind.UNROLLED),
        (lambda: T.thread_binding(8, thread="threadIdx.x"), tir.ForKind.THREAD_BINDING),
    ],
)
def test_kinds_of_loops(make, kind):
    with IRBuilder() as ib, make() as i:
        i = IRBuilder.name("i", i)
        T.evaluate(i)
    loop = ib.get()
    assert (
        loop.kind == kind
        and int(loop.extent) == 8
        and loop.loop_var.name == "i"
        and loop.body.value.same_as(loop.loop_var)
    )
    if kind == tir.ForKind.THREAD_BINDING:
        assert loop.thread_binding.thread_tag == "threadIdx.x"


def built(enter):
    with IRBuilder() as ib, enter():
        T.evaluate(0)
    return ib.get()


def test_statements_around_others():
    x, zero = T.var("int32", "x"), tir.Evaluate(0)
    buffer = T.buffer_decl((128, 128), "float32")
    check(built(lambda: T.Assert(x == 0, "why")), tir.AssertStmt(x == 0, tir.StringImm("why"), zero))
    check(built(lambda: T.let(x, tir.IntImm("int32", 2))), tir.LetStmt(x, tir.IntImm("int32", 2), zero))
    check(built(lambda: T.While(x > 0)), tir.While(x > 0, zero))
    found = built(lambda: T.realize(buffer[0:128, 0:128], "local", True))
    assert found.attr_key == "realize_scope" and isinstance(found.body, tir.BufferRealize)
    found = built(lambda: T.allocate([10], "float32", scope="local"))
    assert found.dtype == "float32" and found.buffer_var.type_annotation.storage_scope == "local"
    found = built(lambda: T.allocate_const([1, 2, 3], "int32", [3]))
    assert found.data.numpy().tolist() == [1, 2, 3]
    found = built(lambda: T.launch_thread(T.env_thread("blockIdx.y"), 4))
    assert found.attr_key == "thread_extent" and found.node.thread_tag == "blockIdx.y" and int(found.value) == 4
    found = built(lambda: T.decl_buffer((8,), "float32"))
    assert isinstance(found, tir.Allocate) and isinstance(found.body, tir.DeclBuffer)
    found = built(lambda: T.attr(x, "key", "value"))
    assert (found.attr_key, found.value.value) == ("key", "value")


def test_choices():
    x = T.var("int32", "x")
    with IRBuilder() as ib, T.If(x < 12):
        with T.Then():
            T.evaluate(0)
        with T.Else():
            T.evaluate(1)
    check(ib.get(), tir.IfThenElse(x < 12, tir.Evaluate(0), tir.Evaluate(1)))
    with pytest.raises(ValueError, match=r"put them into T.Then\(\) or T.Else\(\)"), IRBuilder(), T.If(x < 1):
        T.evaluate(0)
    with pytest.raises(ValueError, match="T.Else comes after T.Then"), IRBuilder(), T.If(x < 1), T.Else():
        T.evaluate(0)


def test_a_module_of_functions():
    with IRBuilder() as ib, I.ir_module():
        for name in ("first", "second"):
            with T.prim_func():
                T.func_name(name)
                T.evaluate(0)
    assert {var.name_hint for var in ib.get().get_global_vars()} == {"first", "second"}


def test_numbers_and_variables():
    assert (
        T.int8(3).dtype == "int8" and isinstance(T.float32(), tir.Var) and T.int64(T.var("int32", "x")).dtype == "int64"
    )
    assert T.boolean(True).dtype == "bool" and T.sin is tir.sin and T.ramp is tir.Ramp


def test_what_stands_in_the_wrong_place_is_told():
    with pytest.raises(ValueError, match="No current IRBuilder in scope"):
        T.evaluate(0)
    with IRBuilder() as ib:
        with pytest.raises(ValueError, match="T.where needs to be right inside BlockFrame"):
            T.where(True)
        with pytest.raises(ValueError, match="T.arg needs to be inside PrimFuncFrame"):
            T.arg("a", T.handle())
    with pytest.raises(ValueError, match="has built nothing"):
        ib.get()


def test_frames_call_back_when_they_are_left():
    calls = []
    with IRBuilder(), T.block("b") as frame:
        frame.add_callback(lambda: calls.append("left"))
        assert calls == []
    assert calls == ["left"]
