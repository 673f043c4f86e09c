"""Passes over memory: how it is laid out, split, moved and typed."""

import tessera as tvm
from helpers import CUDA, becomes, body_text, check, global_pass, named, run
from tessera import te
from tessera.script import tir as T
from tessera.tir import transform as X


def two_stages(mark=lambda s, A, C: None):
    """What TE lowers C = (A + 1) * 2 to, row by row, before any pass."""
    A = te.placeholder((4, 8), name="A")
    B = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((4, 8), lambda i, j: B[i, j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    mark(s, A, C)
    return tvm.driver.build_module.schedule_to_module(s, [A, C], name="main")["main"]


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
