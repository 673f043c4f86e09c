"""Passes over memory: how it is laid out, split, moved and typed."""

import pytest
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


def test_parts_of_dynamic_shared_memory_that_follow_one_another_share_bytes():
    @T.prim_func
    def before(A: T.Buffer[64, "float32"]):
        tx = T.env_thread("threadIdx.x")
        T.launch_thread(tx, 64)
        a_data = T.allocate([64], "float32", "shared.dyn")
        a = T.buffer_decl([64], "float32", data=a_data, scope="shared.dyn")
        b_data = T.allocate([32], "float32", "shared.dyn")
        b = T.buffer_decl([32], "float32", data=b_data, scope="shared.dyn")
        a[tx] = A[tx]
        A[tx] = a[63 - tx]
        b[tx % 32] = A[tx]
        A[tx] = b[tx % 32]

    # Another thread may still read `a` when this one writes `b`: a barrier stands in between.
    check(
        run(X.MergeDynamicSharedMemoryAllocations(), named(before)),
        """
        T.launch_thread(tx, 64)
        buf_dyn_shmem = T.allocate([256], "uint8", "shared.dyn")
        a = T.buffer_decl([64], dtype="float32", data=buf_dyn_shmem, scope="shared.dyn")
        b = T.buffer_decl([32], dtype="float32", data=buf_dyn_shmem, scope="shared.dyn")
        a[tx] = A[tx]
        A[tx] = a[63 - tx]
        T.evaluate(T.tvm_storage_sync("shared.dyn", dtype="int32"))
        b[tx % 32] = A[tx]
        A[tx] = b[tx % 32]
        """,
    )


def test_parts_of_dynamic_shared_memory_under_one_condition_stay_apart():
    @T.prim_func
    def before(A: T.Buffer[64, "float32"]):
        tx = T.env_thread("threadIdx.x")
        T.launch_thread(tx, 64)
        a_data = T.allocate([64], "float32", "shared.dyn")
        a = T.buffer_decl([64], "float32", data=a_data, scope="shared.dyn")
        b_data = T.allocate([64], "float32", "shared.dyn")
        b = T.buffer_decl([64], "float32", data=b_data, scope="shared.dyn")
        if tx < 32:
            a[tx] = A[tx]
            A[tx] = a[tx]
            b[tx] = A[tx]
            A[tx] = b[tx]

    text = body_text(run(X.MergeDynamicSharedMemoryAllocations(), named(before)))
    assert "T.allocate([512]" in text
    assert "storage_sync" not in text


# ---- memory of devices that only one allocation may have ----


@pytest.fixture
def special_memory():
    def info():
        return tvm.ir.make_node("MemoryInfo", unit_bits=8, max_simd_bits=256, max_num_bits=1 << 14, head_address=None)

    tvm.register_func("tvm.info.mem.local.SPECIAL", info, override=True)
    yield "local.SPECIAL"
    tvm._ffi.registry.remove_global_func("tvm.info.mem.local.SPECIAL")


def allocations(stmt):
    found = []
    tvm.tir.stmt_functor.post_order_visit(stmt, lambda n: found.append(n) if isinstance(n, tvm.tir.Allocate) else None)
    return found


def two_parts(scope, sizes, dtypes, at_once):
    ib = tvm.tir.ir_builder.create()
    with ib.for_range(0, 4, name="i"):
        a = ib.allocate(dtypes[0], sizes[0], name="a", scope=scope)
        a[0] = tvm.tir.const(1, dtypes[0])
        b = ib.allocate(dtypes[1], sizes[1], name="b", scope=scope)
        b[1] = tvm.tir.Cast(dtypes[1], a[0]) if at_once else tvm.tir.const(2, dtypes[1])
        if at_once:
            a[2] = tvm.tir.Cast(dtypes[0], b[1])
    return named(tvm.tir.PrimFunc([], ib.get()))


def test_special_memory_is_one_allocation_whose_parts_lie_at_aligned_offsets(special_memory):
    done = run(X.StorageRewrite(), two_parts(special_memory, (10, 8), ("float32", "float16"), at_once=True))
    (only,) = allocations(done.body)
    # 10 floats take 320 bits, rounded to 512; the halves lie behind, at element 512 / 16, and take 256 with their padding
    assert (only.dtype, only.extents[0].value) == ("float32", 24)
    assert "[33] = " in body_text(done)


def test_special_memory_that_is_free_is_used_again_for_another_type(special_memory):
    done = run(X.StorageRewrite(), two_parts(special_memory, (64, 64), ("float32", "float16"), at_once=False))
    (only,) = allocations(done.body)
    assert (only.dtype, only.extents[0].value) == ("float32", 64)


def test_special_memory_has_an_end(special_memory):
    func = two_parts(special_memory, (400, 400), ("float32", "float32"), at_once=True)
    with pytest.raises(
        tvm.TVMError, match="Allocation exceed bound of memory tag local.SPECIAL: 25600 bits are needed"
    ):
        run(X.StorageRewrite(), func)


def test_access_pointers_into_special_memory_move_with_their_part(special_memory):
    ib = tvm.tir.ir_builder.create()
    parts = [ib.allocate("float32", 8, name=name, scope=special_memory).asobject() for name in "ab"]
    ib.emit(tvm.tir.call_extern("int32", "use", *(part.access_ptr("rw") for part in parts)))
    text = body_text(run(X.StorageRewrite(), named(tvm.tir.PrimFunc([], ib.get()))))
    assert 'T.tvm_access_ptr(T.type_annotation(dtype="float32"), a, 0, 8, 3' in text
    assert 'T.tvm_access_ptr(T.type_annotation(dtype="float32"), a, 8, 8, 3' in text


def test_memory_with_a_tag_is_one_allocation_too():
    A = te.placeholder((8,), name="A")
    stages = [A]
    for number in range(3):  # each reads element 0 of the one before, so none is computed in place
        last = stages[-1]
        stages.append(te.compute((8,), lambda i: last[i] + last[0], name=f"S{number}"))
    s = te.create_schedule(stages[-1].op)
    for stage in stages[1:-1]:
        s[stage].set_scope("global:tag")
    lowered = tvm.lower(s, [A, stages[-1]])["main"]
    (only,) = allocations(lowered.body)
    assert only.extents[0].value == 16


# ---- flat memory of blocks ----


def test_buffers_of_blocks_are_flat_where_they_are_allocated():
    @T.prim_func
    def before(A: T.Buffer[(8, 4), "float32"], C: T.Buffer[(8, 4), "float32"]):
        for i in range(8):
            with T.block("row"):
                T.reads(A[i, 0:4])
                T.writes(C[i, 0:4])
                B = T.alloc_buffer([2, 4], "float32")
                for j in range(4):
                    B[0, j] = A[i, j]
                for j in range(4):
                    C[i, j] = B[0, j]

    check(
        run(X.FlattenBuffer(), named(before)),
        """
        # with T.block("root")
        for i in T.serial(8):
            with T.block("row"):
                T.reads(A[i * 4 : i * 4 + 4])
                T.writes(C[i * 4 : i * 4 + 4])
                B = T.alloc_buffer([8], dtype="float32")
                for j in T.serial(4):
                    B[j] = A[i * 4 + j]
                for j in T.serial(4):
                    C[i * 4 + j] = B[j]
        """,
    )


def test_memory_with_axis_separators_keeps_an_extent_for_each_group():
    @T.prim_func
    def before(A: T.Buffer[4, "float32"]):
        data = T.allocate([4, 5, 6], "float32", "global")
        B = T.buffer_decl([4, 5, 6], "float32", data=data, axis_separators=[1])
        for j in range(4):
            B[j, 2, 1] = A[j]
        for j in range(4):
            A[j] = B[j, 2, 1] + T.float32(1)

    text = body_text(run(X.FlattenBuffer(), named(before)))
    assert 'T.allocate([4, 30], "float32", "global")' in text
    assert "B[j, 13] = A[j]" in text
