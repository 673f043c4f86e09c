"""Memory and copies of devices: textures, tightly coupled memory, DMA engines, and tensors of packed calls."""

import pytest
import tessera as tvm
from helpers import becomes, body_text, run
from tessera import te, tir
from tessera.script import tir as T
from tessera.tir import transform as X


def global_pass(name):
    return tvm.get_global_func("tir.transform." + name)()


class TestTextureFlatten:
    def realized(self, scope, shape):
        """What TE lowers a stage in that scope to: written, then read."""
        A = te.placeholder(shape, name="A")
        B = te.compute(shape, lambda *i: A(*i) + 1.0, name="B")
        C = te.compute(shape, lambda *i: B(*i) * 2.0, name="C")
        s = te.create_schedule(C.op)
        s[B].set_scope(scope)
        return tvm.driver.build_module.schedule_to_module(s, [A, C], name="main")["main"]

    @pytest.mark.parametrize(
        ("scope", "shape", "size", "texel"),
        [
            ("global.texture", (2, 3, 5, 4), "6, 5, 4", "i2, i0 * 3 + i1"),
            ("global.texture-nhwc", (2, 3, 5, 4), "6, 5, 4", "i2, i0 * 3 + i1"),
            ("global.texture-nhwc", (3, 5, 4), "3, 5, 4", "i1, i0"),
            ("global.texture-weight", (2, 3, 5, 4), "2, 15, 4", "i1 * 5 + i2, i0"),
        ],
    )
    def test_dimensions_are_folded_into_rows_and_columns_as_the_scope_says(self, scope, shape, size, texel):
        text = body_text(run(X.TextureFlatten(), self.realized(scope, shape)))
        shape_call = f'T.tvm_stack_make_shape({size}, dtype="handle")'
        assert f'T.nd_mem_alloc_with_scope("{scope}", T.int64(3), {shape_call}' in text
        assert f"T.texture2d_store(B, {texel}, " in text
        assert f"T.texture2d_load(B, {texel}, " in text
        assert "B[" not in text

    def test_other_memory_stays(self):
        func = self.realized("global", (2, 3, 5, 4))
        tvm.ir.assert_structural_equal(run(X.TextureFlatten(), func), func)

    def test_a_pixel_has_one_or_four_channels(self):
        with pytest.raises(ValueError, match="texture B has 3 channels in its last dimension; a pixel has 1 or 4"):
            run(X.TextureFlatten(), self.realized("global.texture", (2, 5, 3)))

    def test_a_texture_has_three_dimensions(self):
        with pytest.raises(ValueError, match="a texture has at least three"):
            run(X.TextureFlatten(), self.realized("global.texture", (8, 4)))


class TestVtcm:
    def test_it_is_asked_of_the_device(self):
        @T.prim_func
        def before(A: T.Buffer[128, "float32"]):
            V = T.allocate([16, 8], "float32", "global.vtcm")
            B = T.buffer_decl([128], "float32", data=V, scope="global.vtcm")
            for i in T.serial(128):
                B[i] = A[i]

        text = body_text(run(global_pass("LowerVtcmAlloc"), before.with_attr("global_symbol", "main")))
        shape = 'T.tvm_stack_make_shape(16, 8, dtype="handle")'
        assert f'T.nd_mem_alloc_with_scope("global.vtcm", T.int64(2), {shape}, dtype="handle")' in text
        assert "T.allocate" not in text

    def test_other_memory_stays(self):
        @T.prim_func
        def func(A: T.Buffer[128, "float32"]):
            V = T.allocate([128], "float32", "global")
            B = T.buffer_decl([128], "float32", data=V)
            for i in T.serial(128):
                B[i] = A[i]

        becomes(global_pass("LowerVtcmAlloc"), func, func)

    def test_a_program_calls_the_functions_of_its_device(self):
        @T.prim_func
        def func(A: T.Buffer[64, "float32"]):
            T.func_attr({"global_symbol": "main"})
            V = T.allocate([64], "float32", "global.vtcm")
            B = T.buffer_decl([64], "float32", data=V, scope="global.vtcm")
            for i in T.serial(64):
                B[i] = A[i]

        text = tvm.lower(func).script()
        assert 'T.nd_mem_alloc_with_scope("global.vtcm", T.int64(1)' in text
        mod = tvm.IRModule({"main": func})
        mod = X.Apply(lambda f: f.with_attr("target", tvm.target.Target("llvm", host="llvm")))(mod)
        mod = global_pass("LowerVtcmAlloc")(mod)
        mod = X.LowerTVMBuiltin()(X.MakePackedAPI()(mod))
        text = mod["main"].script()
        steps = ("device_api.cpu.alloc_nd", "isnullptr(V", "B[i]", "device_api.cpu.free_nd")
        order = [text.index(step) for step in steps]
        assert order == sorted(order)


class TestAsyncDma:
    def test_a_copy_becomes_an_order_and_waits_become_waits(self):
        @T.prim_func
        def before(A: T.Buffer[128, "float32"], B: T.Buffer[128, "float32"]):
            with T.attr(0, "async_commit_queue_scope", 0):
                T.attr(0, "async_scope", 1)
                for i in T.serial(64):
                    B[i + 8] = A[i + 16]
            T.attr(0, "async_wait_queue_scope", 0)
            T.attr(0, "async_wait_inflight_count", 1)
            B[0] = B[8]

        @T.prim_func
        def after(A: T.Buffer[128, "float32"], B: T.Buffer[128, "float32"]):
            T.evaluate(
                T.dma_copy(
                    0, T.address_of(B[8], dtype="handle"), T.address_of(A[16], dtype="handle"), 256, dtype="int32"
                )
            )
            T.evaluate(T.dma_wait(0, 1, dtype="int32"))
            B[0] = B[8]

        becomes(global_pass("LowerAsyncDMA"), before, after)

    def test_a_vector_is_a_copy_too(self):
        @T.prim_func
        def before(A: T.Buffer[128, "int8"], B: T.Buffer[128, "int8"]):
            T.attr(0, "async_commit_queue_scope", 2)
            T.attr(0, "async_scope", 1)
            B[4:20] = A[8:24]

        text = body_text(run(global_pass("LowerAsyncDMA"), before.with_attr("global_symbol", "main")))
        addresses = 'T.address_of(B[4], dtype="handle"), T.address_of(A[8], dtype="handle")'
        assert text == f'T.evaluate(T.dma_copy(2, {addresses}, 16, dtype="int32"))'

    def test_a_queue_with_anything_else_in_it_stays(self):
        @T.prim_func
        def func(A: T.Buffer[128, "float32"], B: T.Buffer[128, "float32"]):
            with T.attr(0, "async_commit_queue_scope", 0):
                T.attr(0, "async_scope", 1)
                for i in T.serial(64):
                    B[i] = A[i]
            with T.attr(0, "async_commit_queue_scope", 0):
                T.attr(0, "async_scope", 1)
                for i in T.serial(32):
                    B[i * 2] = A[i]  # not neighbours
            T.attr(0, "async_wait_queue_scope", 0)
            T.attr(0, "async_wait_inflight_count", 0)
            B[0] = B[8]

        becomes(global_pass("LowerAsyncDMA"), func, func)


def test_pointers_of_packed_calls_become_the_tensors_that_the_callee_expects():
    @tvm.script.ir_module
    class Before:
        @T.prim_func
        def callee(A: T.handle, B: T.handle, context: T.handle) -> None:
            A_0 = T.match_buffer(A, (16, 4), dtype="float32")
            B_0 = T.match_buffer(B, (64,), dtype="int8")
            B_0[0] = T.cast(A_0[0, 0], "int8")

        @T.prim_func
        def main(A: T.handle, B: T.handle, context: T.handle) -> None:
            T.evaluate(T.tvm_call_cpacked("callee", A, B, context, dtype="int32"))
            T.evaluate(T.tvm_call_cpacked("elsewhere", A, context, dtype="int32"))

    @T.prim_func
    def after(A: T.handle, B: T.handle, context: T.handle) -> None:
        T.evaluate(
            T.tvm_call_cpacked(
                "callee",
                T.tvm_stack_make_array(
                    A,
                    T.tvm_stack_make_shape(16, 4, dtype="handle"),
                    T.reinterpret(T.uint64(0), dtype="handle"),
                    T.uint32(2),
                    T.float32(0),
                    0,
                    dtype="handle",
                ),
                T.tvm_stack_make_array(
                    B,
                    T.tvm_stack_make_shape(64, dtype="handle"),
                    T.reinterpret(T.uint64(0), dtype="handle"),
                    T.uint32(1),
                    T.int8(0),
                    0,
                    dtype="handle",
                ),
                context,
                dtype="int32",
            )
        )
        T.evaluate(T.tvm_call_cpacked("elsewhere", A, context, dtype="int32"))

    done = X.LegalizePackedCalls()(Before)
    tvm.ir.assert_structural_equal(done["main"].without_attr("global_symbol"), after.without_attr("global_symbol"))
    tvm.ir.assert_structural_equal(done["callee"], Before["callee"])


def test_buffers_take_the_layouts_of_their_function():
    @T.prim_func
    def before(A: T.Buffer[(16, 16), "float32"], B: T.Buffer[(16, 16), "float32"]):
        for i, j in T.grid(16, 16):
            B[i, j] = A[i, j] + A[j, i]

    @T.prim_func
    def after(A: T.Buffer[(4, 16, 4), "float32"], B: T.Buffer[(16, 16), "float32"]):
        for i, j in T.grid(16, 16):
            B[i, j] = A[j // 4, i, j % 4] + A[i // 4, j, i % 4]

    blocks = tir.IndexMap.from_func(lambda i, j: [i, j // 4, j % 4])
    outward = tir.IndexMap.from_func(lambda i, jo, ji: [jo, i, ji])
    laid_out = before.with_attr("layout_transform_map", {before.buffer_map[before.params[0]]: [blocks, outward]})
    becomes(X.ApplyLayoutTransforms(), laid_out, after)
    becomes(X.ApplyLayoutTransforms(), before, before)
