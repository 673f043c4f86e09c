"""One small program for each pass that no other file of this folder is about."""

# ruff: noqa: B007 - names inside scripts

import numpy as np
import pytest
import tessera as tvm
from helpers import becomes, body_text, check, run
from tessera import te, tir
from tessera.script import tir as T
from tessera.tir import transform as X

CUDA = tvm.target.Target("cuda", host="llvm")


def global_pass(name, *args):
    return tvm.get_global_func("tir.transform." + name)(*args)


def named(func):
    return func.with_attr("global_symbol", "main")


def two_stages(mark=lambda s, A, C: None):
    """What TE lowers C = (A + 1) * 2 to, row by row, before any pass."""
    A = te.placeholder((4, 8), name="A")
    B = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((4, 8), lambda i, j: B[i, j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    mark(s, A, C)
    return tvm.driver.build_module.schedule_to_module(s, [A, C], name="main")["main"]


@T.prim_func
def ones(A: T.Buffer[8, "float32"], n: T.int32) -> None:
    assert n == 8, "n is not 8"
    for i in T.parallel(8):
        A[i] = 1.0


# ---- functions of a module ----


def test_filter_keeps_the_functions_that_it_is_told_to():
    mod = tvm.IRModule({"f": ones.with_attr("keep", 1), "g": ones.with_attr("keep", 0)})
    kept = X.Filter(lambda func: int(func.attrs["keep"]) == 1)(mod)
    assert [var.name_hint for var in kept.get_global_vars()] == ["f"]


def test_the_only_function_becomes_the_entry():
    mod = tvm.IRModule({"f": ones})
    assert X.AnnotateEntryFunc()(mod)["f"].attrs["tir.is_entry_func"]
    with pytest.raises(ValueError, match="expected one function, the module has 2"):
        X.AnnotateEntryFunc()(tvm.IRModule({"f": ones, "g": ones}))


def test_a_pass_of_the_users_sees_each_function_and_its_module():
    seen = []

    @X.prim_func_pass(opt_level=0, name="look")
    def look(func, mod, ctx):
        seen.append((len(mod.functions), ctx.opt_level))
        return func.with_attr("seen", 1)

    assert look.info.name == "look"
    done = look(tvm.IRModule({"f": ones, "g": ones}))
    assert seen == [(2, 2), (2, 2)]
    assert [int(func.attrs["seen"]) for func in done.functions.values()] == [1, 1]


# ---- memory ----


def test_realised_regions_become_flat_memory():
    check(
        run(X.StorageFlatten(64), two_stages()),
        """
        for i in T.serial(4):
            B = T.allocate([8], "float32", "global")
            B_1 = T.buffer_decl([8], dtype="float32", data=B, align=32)
            for j in T.serial(8):
                B_1[j] = A[i * 8 + j] + T.float32(1)
            for j in T.serial(8):
                C[i * 8 + j] = B_1[j] * T.float32(2)
        """,
    )


def test_bounds_of_memory_are_noted_when_asked_for():
    assert 'T.attr(C.data, "buffer_bound", T.tvm_tuple(32' in body_text(run(X.StorageFlatten(64, True), two_stages()))


def test_rows_are_fetched_ahead():
    func = two_stages(lambda s, A, C: s[C].prefetch(A, C.op.axis[0], 1))
    text = body_text(run(X.InjectPrefetch(), func))
    assert "prefetch_scope" not in text
    assert 'T.prefetch(T.address_of(A[i + 1 + prefetch_A_0, 0], dtype="handle"), 0, 3, 1, dtype="float32")' in text


def test_virtual_threads_become_copies_with_memory_of_their_own():
    @T.prim_func
    def before(A: T.Buffer[16, "float32"], B: T.Buffer[16, "float32"]):
        v = T.var("int32")
        with T.attr(T.iter_var(v, None, "ThreadIndex", "vthread"), "virtual_thread", 2):
            L_data = T.allocate([8], "float32", "local")
            L = T.buffer_decl([8], "float32", data=L_data, scope="local")
            for i in range(8):
                L[i] = A[v * 8 + i]
            for i in range(8):
                B[v * 8 + i] = L[i] + T.float32(1)

    @T.prim_func
    def after(A: T.Buffer[16, "float32"], B: T.Buffer[16, "float32"]):
        L_data = T.allocate([16], "float32", "local")
        L = T.buffer_decl([16], "float32", data=L_data, scope="local")
        for i in range(8):
            L[i] = A[i]
            L[i + 8] = A[i + 8]
        for i in range(8):
            B[i] = L[i] + T.float32(1)
            B[i + 8] = L[i + 8] + T.float32(1)

    becomes([X.InjectVirtualThread(), X.Simplify()], before, after)


def test_while_one_half_is_read_the_other_is_filled():
    @T.prim_func
    def before(A: T.Buffer[32, "float32"], C: T.Buffer[8, "float32"]):
        for k in range(4):
            P_data = T.allocate([8], "float32", "shared")
            P = T.buffer_decl([8], "float32", data=P_data, scope="shared")
            with T.attr(P_data, "double_buffer_scope", 1):
                for i in range(8):
                    P[i] = A[k * 8 + i]
            for i in range(8):
                C[i] = C[i] + P[i]

    @T.prim_func
    def after(A: T.Buffer[32, "float32"], C: T.Buffer[8, "float32"]):
        P_data = T.allocate([16], "float32", "shared")
        P = T.buffer_decl([16], "float32", data=P_data, scope="shared")
        for i in range(8):
            P[i] = A[i]
        for k in range(3):
            with T.attr(P_data, "double_buffer_write", 1):
                for i in range(8):
                    P[(k + 1) % 2 * 8 + i] = A[k * 8 + i + 8]
            for i in range(8):
                C[i] = C[i] + P[k % 2 * 8 + i]
        for i in range(8):
            C[i] = C[i] + P[i + 8]

    becomes([X.InjectDoubleBuffer(), X.Simplify(), X.RemoveNoOp()], before, after)


def test_a_kernel_has_one_piece_of_dynamic_shared_memory():
    @T.prim_func
    def before(A: T.Buffer[64, "float32"]):
        tx = T.env_thread("threadIdx.x")
        T.launch_thread(tx, 32)
        a_data = T.allocate([60], "float32", "shared.dyn")
        a = T.buffer_decl([60], "float32", data=a_data, scope="shared.dyn")
        b_data = T.allocate([32], "float16", "shared.dyn")
        b = T.buffer_decl([32], "float16", data=b_data, scope="shared.dyn")
        b[tx] = T.float16(1)
        a[tx] = T.cast(b[tx], "float32")
        A[tx] = a[tx]

    text = body_text(run(X.MergeDynamicSharedMemoryAllocations(), named(before)))
    assert text.count("T.allocate(") == 1
    assert 'buf_dyn_shmem = T.allocate([304], "uint8", "shared.dyn")' in text
    assert "b[tx] = " in text
    assert "a[tx + 16] = " in text  # behind the 64 bytes of b, in elements of four bytes


def test_memory_that_is_read_by_vectors_is_typed_as_vectors():
    @T.prim_func
    def before(A: T.Buffer[16, "float32"]):
        w_data = T.allocate([16], "float32", "local")
        w = T.buffer_decl([16], "float32", data=w_data, scope="local")
        for i in range(4):
            w[T.ramp(i * 4, 1, 4)] = A[T.ramp(i * 4, 1, 4)]
        for i in range(4):
            A[T.ramp(i * 4, 1, 4)] = w[T.ramp(i * 4, 1, 4)]

    text = body_text(run(global_pass("PointerValueTypeRewrite"), named(before)))
    assert 'T.allocate([4], "float32x4", "local")' in text
    assert "w[i]" in text


def test_matrix_fragments_are_described_beside_their_memory():
    @T.prim_func
    def before(A: T.Buffer[256, "float16"]):
        F = T.allocate([256], "float16", "wmma.matrix_a")
        T.evaluate(T.tvm_load_matrix_sync(F, 16, 16, 16, 0, A.data, 16, "row_major", dtype="handle"))

    text = body_text(run(X.InferFragment(), named(before)))
    assert 'T.attr(F, "fragment_shape", "16, 16, 16")' in text
    assert 'T.attr(F, "fragment_layout", "row_major")' in text


def test_memory_of_a_warp_is_spread_over_its_threads():
    @T.prim_func
    def before(A: T.Buffer[32, "float32"], B: T.Buffer[32, "float32"]):
        tx = T.env_thread("threadIdx.x")
        T.launch_thread(tx, 32)
        W_data = T.allocate([32], "float32", "warp")
        W = T.buffer_decl([32], "float32", data=W_data, scope="warp")
        W[tx] = A[tx]
        B[tx] = W[(tx + 1) % 32]

    text = body_text(run(X.LowerWarpMemory(), named(before).with_attr("target", CUDA)))
    assert 'T.allocate([1], "float32", "local")' in text
    assert "T.tvm_warp_shuffle(" in text
    assert "(tx + 1) % 32, 32, 32" in text


def test_access_pointers_become_addresses_of_elements():
    @T.prim_func
    def before(A: T.Buffer[8, "float32"]):
        T.evaluate(T.call_extern("f", T.tvm_access_ptr(T.type_annotation(dtype="float32"), A.data, 4, 4, 1,
                                                       dtype="handle"), dtype="int32"))  # fmt: skip

    text = body_text(run(X.LowerDeviceStorageAccessInfo(), named(before)))
    assert text == 'T.evaluate(T.call_extern("f", T.address_of(A_1[4], dtype="handle"), dtype="int32"))'


def test_a_store_outside_noted_bounds_stops_the_program():
    @T.prim_func
    def before(A: T.Buffer[8, "float32"], n: T.int32):
        with T.attr(A.data, "buffer_bound", T.tvm_tuple(8, dtype="handle")):
            for i in range(n):
                A[i] = T.float32(1)

    done = run(X.InstrumentBoundCheckers(), named(before))
    text = body_text(done)
    inside = 'T.cast(i, "int64") >= T.int64(0) and T.cast(i, "int64") < T.cast(8, "int64")'
    assert f"if {inside}:" in text
    assert f'assert {inside}, "OUT OF THE BOUNDS"' in text


def test_kernels_take_other_axes():
    @T.prim_func
    def before(A: T.Buffer[8, "float32"]):
        tx = T.env_thread("threadIdx.x")
        T.launch_thread(tx, 8)
        A[tx] = 1.0

    y = te.thread_axis("threadIdx.y")
    text = run(global_pass("RemapThreadAxis", {"threadIdx.x": y}), named(before)).script()
    assert 'T.env_thread("threadIdx.y")' in text
    assert "threadIdx.x" not in text
    assert "A[threadIdx_y]" in text


# ---- expressions ----


def test_a_load_that_its_condition_guards_is_not_made_otherwise():
    @T.prim_func
    def before(A: T.Buffer[8, "float32"], B: T.Buffer[8, "float32"]):
        for i in range(8):
            B[i] = T.Select(i < 4, A[i + 4], T.float32(0)) + T.Select(i < 2, T.float32(1), T.float32(2))

    @T.prim_func
    def after(A: T.Buffer[8, "float32"], B: T.Buffer[8, "float32"]):
        for i in range(8):
            B[i] = T.if_then_else(i < 4, A[i + 4], T.float32(0), dtype="float32") + T.Select(
                i < 2, T.float32(1), T.float32(2)
            )

    becomes(X.RewriteUnsafeSelect(), before, after)


def test_common_factors_of_split_loops_go_out():
    @T.prim_func
    def before(A: T.Buffer[64, "float32"]):
        for i, j in T.grid(4, 16):
            if i * 16 + j < 56:
                A[(i * 4 + j) // 16] = T.float32(1)

    @T.prim_func
    def after(A: T.Buffer[64, "float32"]):
        for i, j in T.grid(4, 16):
            if i * 2 + j // 8 < 7:
                A[(i + j // 4) // 4] = T.float32(1)

    becomes(X.RenormalizeSplitPattern(), before, after)


@T.prim_func
def guarded(A: T.Buffer[64, "float32"], n: T.int32) -> None:
    for i, j in T.grid(4, 16):
        if i < n:
            A[i * 16 + j] = T.float32(1)


@pytest.mark.parametrize(
    "hoist", [X.HoistIfThenElse(), X.HoistIfThenElse("basic"), global_pass("HoistIfThenElseBasic")]
)
def test_conditions_leave_the_loops_that_they_do_not_depend_on(hoist):
    @T.prim_func
    def after(A: T.Buffer[64, "float32"], n: T.int32):
        for i in range(4):
            if i < n:
                for j in range(16):
                    A[i * 16 + j] = T.float32(1)

    becomes(hoist, guarded, after)


# ---- vectors ----


def test_the_rest_of_a_vector_loop_is_done_under_a_mask():
    @T.prim_func
    def before(A: T.Buffer[32, "float32"], B: T.Buffer[32, "float32"], n: T.int32):
        for i in range(4):
            for j in T.vectorized(8):
                if i * 8 + j < n:
                    B[i * 8 + j] = A[i * 8 + j] + T.float32(1)

    masked = run([X.VectorizeLoop(), global_pass("MaskVectorTails")], named(before))
    mask = "T.ramp(i * 8, 1, 8) < T.broadcast(n, 8)"
    text = body_text(masked)
    assert 'T.masked_store(T.address_of(B[i * 8], dtype="handle")' in text
    assert f'T.masked_load(T.address_of(A[i * 8], dtype="handle"), {mask}, ' in text
    a, b = tvm.nd.array(np.arange(32, dtype="float32")), tvm.nd.array(np.zeros(32, "float32"))
    tvm.build(named(before), target="llvm")(a, b, 19)
    np.testing.assert_array_equal(b.numpy(), np.where(np.arange(32) < 19, np.arange(32) + 1, 0))


def test_strides_that_may_be_one_are_tried_as_one():
    stride = te.size_var("s")
    A = tir.decl_buffer((8,), "float32", name="A", strides=[stride], buffer_type="auto_broadcast")
    B = tir.decl_buffer((8,), "float32", name="B")
    i, a, b = tir.Var("i", "int32"), tir.Var("a", "handle"), tir.Var("b", "handle")
    copy = tir.For(i, 0, 8, tir.ForKind.SERIAL, tir.BufferStore(B, tir.BufferLoad(A, [i]), [i]))
    func = named(tir.PrimFunc([a, b], copy, buffer_map={a: A, b: B}))
    check(
        run([X.FlattenBuffer(), global_pass("SpecializeStrides")], func),
        """
        if s == 1:
            for i in T.serial(8):
                B[i] = A[i]
        else:
            for i in T.serial(8):
                B[i] = A[i * s]
        """,
    )


# ---- 16-bit floats ----


@T.prim_func
def brain(A: T.Buffer[8, "bfloat16"], B: T.Buffer[8, "bfloat16"]) -> None:
    for i in range(8):
        B[i] = A[i] + T.cast(T.cast(A[i], "float32"), "bfloat16")


def test_sums_of_bfloat16_are_taken_in_float32():
    check(
        run(X.BF16Promote(), named(brain)),
        """
        for i in T.serial(8):
            B[i] = T.cast(T.cast(A[i], "float32") + T.cast(T.cast(T.cast(A[i], "float32"), "bfloat16"), "float32"), "bfloat16")
        """,
    )


def test_casts_to_bfloat16_and_back_cancel():
    check(
        run([X.BF16Promote(), X.BF16CastElimination()], named(brain)),
        """
        for i in T.serial(8):
            B[i] = T.cast(T.cast(A[i], "float32") + T.cast(A[i], "float32"), "bfloat16")
        """,
    )


def test_bfloat16_is_kept_as_integers():
    done = run(X.BF16TypeLowering(), named(brain))
    assert [str(buffer.dtype) for buffer in done.buffer_map.values()] == ["uint16", "uint16"]
    assert "bfloat16" not in body_text(done)


def test_legalised_bfloat16_rounds_to_even():
    @T.prim_func
    def halves(A: T.Buffer[8, "bfloat16"], B: T.Buffer[8, "bfloat16"]):
        for i in range(8):
            B[i] = A[i] + A[i] * T.cast(T.float32(0.5), "bfloat16")

    done = run(X.BF16Legalize(), named(halves))
    values = np.array([1, 1.0078125, 3, -5, 100, 1e30, 0, 2.53125], "float32")
    bits = (values.view("uint32") >> 16).astype("uint16")
    a, b = tvm.nd.array(bits), tvm.nd.array(np.zeros(8, "uint16"))
    tvm.build(done, target="llvm")(a, b)

    def rounded(x):
        raw = x.astype("float32").view("uint32").astype("uint64")
        return ((raw + 0x7FFF + ((raw >> 16) & 1)) >> 16).astype("uint16")

    # The sum is one float32 expression: only its result is rounded.
    np.testing.assert_array_equal(b.numpy(), rounded(values * np.float32(1.5)))


# ---- loops and blocks ----


def test_loops_of_any_kind_become_serial():
    kinds = []
    done = run(X.ConvertForLoopsToSerial(), named(ones))
    tir.stmt_functor.post_order_visit(done.body, lambda n: isinstance(n, tir.For) and kinds.append(n.kind))
    assert kinds == [tir.ForKind.SERIAL]


def test_the_init_of_a_block_runs_where_its_reduction_begins():
    @T.prim_func
    def before(A: T.Buffer[(4, 8), "float32"], B: T.Buffer[4, "float32"]):
        for i, k in T.grid(4, 8):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    @T.prim_func
    def after(A: T.Buffer[(4, 8), "float32"], B: T.Buffer[4, "float32"]):
        for i, k in T.grid(4, 8):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(B[vi])
                if vk == 0:
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    becomes(X.LowerInitBlock(), before, after)


def test_a_view_becomes_accesses_of_what_it_shows():
    @T.prim_func
    def before(A: T.Buffer[(8, 8), "float32"]):
        for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                T.reads()
                T.writes(A[vi, 2:6])
                M = T.match_buffer(A[vi, 2:6], [4], offset_factor=1, strides=[1])
                for j in range(4):
                    M[j] = T.float32(1)

    @T.prim_func
    def after(A: T.Buffer[(8, 8), "float32"]):
        for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                T.reads()
                T.writes(A[vi, 2:6])
                for j in range(4):
                    A[vi, 2 + j] = T.float32(1)

    becomes(X.LowerMatchBuffer(), before, after)


def test_loops_of_one_thread_become_one_launch():
    @T.prim_func
    def before(A: T.Buffer[16, "float32"], B: T.Buffer[16, "float32"]):
        for i in T.thread_binding(2, thread="blockIdx.x"):
            for j in T.thread_binding(8, thread="threadIdx.x"):
                A[i * 8 + j] = 1.0
            for k in T.thread_binding(8, thread="threadIdx.x"):
                B[i * 8 + k] = 2.0

    check(
        run(X.UnifyThreadBinding(), named(before)),
        """
        T.launch_thread(blockIdx_x, 2)
        T.launch_thread(threadIdx_x, 8)
        A[blockIdx_x * 8 + threadIdx_x] = T.float32(1)
        B[blockIdx_x * 8 + threadIdx_x] = T.float32(2)
        """,
    )


def test_threads_that_share_a_sum_are_told_to():
    @T.prim_func
    def before(A: T.Buffer[(4, 8), "float32"], B: T.Buffer[4, "float32"]):
        for i in range(4):
            for k in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]

    text = body_text(run(X.LowerCrossThreadReduction(), named(before)))
    assert "T.tvm_thread_allreduce(" in text
    assert "with T.init()" not in text


# ---- hosts and devices ----


def test_assertions_are_skipped():
    check(
        run(X.SkipAssert(), named(ones)),
        """
        for i in T.parallel(8):
            A[i] = T.float32(1)
        """,
    )


def test_a_whole_function_becomes_code_of_a_device():
    assert body_text(run(X.DecorateDeviceScope(), named(ones))).startswith('T.attr(0, "device_scope", 0)')


def test_an_unpacked_function_takes_pointers_and_numbers():
    func = named(ones).with_attr("target", tvm.target.Target("llvm", host="llvm"))
    done = run(X.MakeUnpackedAPI(), func)
    assert [str(param.dtype) for param in done.params] == ["handle", "int32"]
    assert "A_1[i] = T.float32(1)" in body_text(done)


def test_divisions_that_round_down_become_what_machines_have():
    @T.prim_func
    def before(A: T.Buffer[8, "float32"], n: T.int32):
        A[n // 3] = A[n % 4]

    check(
        run(X.LowerIntrin(), named(before).with_attr("target", CUDA)),
        """
        A[T.Select(T.truncmod(n, 3) >= 0, n / 3, n / 3 - 1)] = A[T.bitwise_and(n, 3, dtype="int32")]
        """,
    )


def test_handles_of_a_context_are_asked_for_once():
    @T.prim_func
    def before():
        for i in range(8):
            T.evaluate(T.call_extern("f", T.tvm_thread_context(T.call_extern("context", dtype="handle"), dtype="handle"),
                                     dtype="int32"))  # fmt: skip
            T.evaluate(T.call_extern("g", T.tvm_thread_context(T.call_extern("context", dtype="handle"), dtype="handle"),
                                     dtype="int32"))  # fmt: skip

    text = body_text(run([X.LiftAttrScope("coproc_scope"), X.CombineContextCall()], named(before)))
    assert text.count("T.tvm_thread_context(") == 1
    assert text.index("T.tvm_thread_context(") < text.index("for i")


# ---- checks ----


def test_variables_that_are_defined_twice_are_refused():
    i = tir.Var("i", "int32")
    A = tir.decl_buffer((8,), "float32", name="A")
    loop = tir.For(i, 0, 8, tir.ForKind.SERIAL, tir.BufferStore(A, tir.const(1.0), [i]))
    param = tir.Var("a", "handle")
    twice = tir.PrimFunc([param], tir.SeqStmt([loop, loop]), buffer_map={param: A})
    once = tir.PrimFunc([param], loop, buffer_map={param: A})
    assert tir.analysis.verify_ssa(once)
    assert not tir.analysis.verify_ssa(twice)
    global_pass("VerifySSA")(tvm.IRModule({"main": once}))
    with pytest.raises(ValueError, match="VerifySSA: a variable is defined in more than one place"):
        global_pass("VerifySSA")(tvm.IRModule({"main": twice}))


def test_kernels_that_ask_for_too_much_are_refused():
    @T.prim_func
    def kernel(A: T.Buffer[2048, "float32"]):
        tx = T.env_thread("threadIdx.x")
        T.launch_thread(tx, 2048)
        A[tx] = 1.0

    mod = tvm.IRModule({"main": named(kernel)})
    global_pass("VerifyGPUCode", {"max_threads_per_block": 2048})(mod)
    with pytest.raises(RuntimeError, match="2048"):
        global_pass("VerifyGPUCode", {"max_threads_per_block": 1024})(mod)


def test_device_memory_touched_from_the_host_is_found():
    host = named(ones).with_attr("target", CUDA)
    assert not tir.analysis.verify_memory(host)
    assert tir.analysis.verify_memory(named(ones).with_attr("target", tvm.target.Target("llvm")))


def test_expressions_are_compared_by_structure():
    x, y = tir.Var("x", "int32"), tir.Var("x", "int32")
    assert tir.analysis.expr_deep_equal(x + 1, x + 1)
    assert not tir.analysis.expr_deep_equal(x + 1, y + 1)
    assert not tir.analysis.expr_deep_equal(x + 1, 1 + x)


def test_programs_that_use_loops_outside_of_them_are_not_well_formed():
    i = tir.Var("i", "int32")
    A = tir.decl_buffer((8,), "float32", name="A")
    param = tir.Var("a", "handle")
    body = tir.BufferStore(A, tir.const(1.0), [i])
    bad = tir.PrimFunc([param], body, buffer_map={param: A})
    good = tir.PrimFunc([param], tir.For(i, 0, 8, tir.ForKind.SERIAL, body), buffer_map={param: A})
    assert tir.analysis.verify_well_formed(good)
    assert not tir.analysis.verify_well_formed(bad, assert_mode=False)
    with pytest.raises((ValueError, RuntimeError), match="i"):
        tir.analysis.verify_well_formed(bad)
