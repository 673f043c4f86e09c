"""Questions about loop programs."""

import pytest
import tessera as tvm
from tessera import te, tir
from tessera.script import tir as T


@T.prim_func
def matmul(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (16, 16), "float32")
    B = T.match_buffer(b, (16, 16), "float32")
    C = T.match_buffer(c, (16, 16), "float32")
    for i, j, k in T.grid(16, 16, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def test_operations_of_a_matrix_product():
    mod = tvm.IRModule({"main": matmul})
    assert tir.analysis.estimate_tir_flops(mod) == 2 * 16**3
    assert tir.analysis.estimate_tir_flops(matmul.body) == 2 * 16**3


def test_of_two_ways_the_longer_counts():
    @T.prim_func
    def func(A: T.Buffer[8, "float32"], n: T.int32):
        for i in T.serial(8):
            if n > 0:
                A[i] = A[i] + A[i] * A[i]
            else:
                A[i] = A[i] + T.float32(1)

    assert tir.analysis.estimate_tir_flops(func.body) == 8 * 2


def test_guards_indices_and_casts_are_not_counted():
    @T.prim_func
    def func(A: T.Buffer[(8, 8), "int8"], B: T.Buffer[(8, 8), "float32"]):
        for i, j in T.grid(8, 8):
            B[i, j] = T.if_then_else(
                i + j >= 2 and i - j < 5, T.cast(A[i + j - 2, j], "float32") * 2.0, 0.0, dtype="float32"
            )

    assert tir.analysis.estimate_tir_flops(func.body) == 8 * 8


def test_loops_of_unknown_length_have_no_estimate():
    @T.prim_func
    def func(a: T.handle, n: T.int32):
        A = T.match_buffer(a, (n,), "float32")
        for i in T.serial(n):
            A[i] = A[i] + T.float32(1)

    with pytest.raises(ValueError, match="loop i runs n times"):
        tir.analysis.estimate_tir_flops(func.body)


def test_workspace_is_the_most_that_exists_at_one_time():
    def allocate(dtype, extent, body):
        pointer = tir.Var("P", tvm.ir.PointerType(tvm.ir.PrimType(dtype)))
        return tir.Allocate(pointer, dtype, [extent], tir.const(True), body)

    nested = allocate("float32", 8, allocate("int8", 3, tir.Evaluate(0)))
    func = tir.PrimFunc([], tir.stmt_seq(nested, allocate("float32", 10, tir.Evaluate(0))))
    assert tir.analysis.calculate_workspace_bytes(func, 1) == 40
    assert tir.analysis.calculate_workspace_bytes(func, 16) == 48
    assert tir.analysis.calculate_constant_bytes(func, 1) == 0
    with pytest.raises(ValueError, match="alignment"):
        tir.analysis.calculate_workspace_bytes(func, 0)


def gpu_program(threads, shared=64, lanes=1):
    A = te.placeholder((1024,), name="A")
    B = te.compute((1024,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    bx, tx = s[B].split(B.op.axis[0], factor=threads * lanes)
    if lanes > 1:
        tx, vec = s[B].split(tx, factor=lanes)
        s[B].vectorize(vec)
    s[B].bind(bx, te.thread_axis("blockIdx.x"))
    s[B].bind(tx, te.thread_axis("threadIdx.x"))
    AA = s.cache_read(A, "shared", [B])
    s[AA].compute_at(s[B], bx)
    return tvm.lower(s, [A, B])["main"]


@pytest.mark.parametrize(
    "constraints, fits",
    [
        ({"max_threads_per_block": 64}, True),
        ({"max_threads_per_block": 63}, False),
        ({"max_thread_x": 63}, False),
        ({"max_thread_y": 1}, True),
        ({"max_shared_memory_per_block": 256}, True),
        ({"max_shared_memory_per_block": 255}, False),
        ({"max_local_memory_per_block": 0}, True),
        ({"max_kernels": 1}, True),
        ({"max_kernels": 0}, False),
    ],
)
def test_a_kernel_fits_the_gpu(constraints, fits):
    func = gpu_program(64)
    assert tir.analysis.verify_gpu_code(func, constraints) is fits


def test_vectors_fit_the_gpu():
    func = gpu_program(32, lanes=4)
    assert tir.analysis.verify_gpu_code(func, {"max_vector_bytes": 16})
    assert not tir.analysis.verify_gpu_code(func, {"max_vector_bytes": 8})


def test_an_unknown_constraint_is_rejected():
    with pytest.raises(ValueError, match="unknown constraint"):
        tir.analysis.verify_gpu_code(gpu_program(64), {"max_thread": 1})


def test_regions_of_a_block():
    block = matmul.body.block.body.body.body.body.block
    buffers = {buf.data: buf for buf in matmul.buffer_map.values()}
    reads, writes, opaque = tir.analysis.get_block_access_region(block, buffers)
    assert [region.buffer.name for region in reads] == ["A", "B"]
    assert [region.buffer.name for region in writes] == ["C"]
    assert len(opaque) == 0
    reads, writes = tir.analysis.get_block_read_write_region(block, buffers)
    assert len(reads) == 2 and len(writes) == 1


def test_the_innermost_scope_of_a_buffer():
    @T.prim_func
    def func(a: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (8, 8), "float32")
        C = T.match_buffer(c, (8, 8), "float32")
        P = T.alloc_buffer((8, 8), "float32")
        for i in T.serial(8):
            for j in T.serial(8):
                with T.block("P"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    P[vi, vj] = A[vi, vj]
            for j in T.serial(8):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = P[vi, vj]

    scopes = {buf.name: scope for buf, scope in tir.analysis.detect_buffer_access_lca(func).items()}
    root = func.body.block
    assert scopes["P"].same_as(root.body)
    assert scopes["A"].name_hint == "P" and scopes["C"].name_hint == "C"


def test_what_a_reduction_writes_lives_outside_its_loop():
    scopes = {buf.name: scope for buf, scope in tir.analysis.detect_buffer_access_lca(matmul).items()}
    assert scopes["C"].loop_var.name == "j"


class TestAccessRegions:
    def regions(self, func):
        blocks = []
        tir.stmt_functor.post_order_visit(func.body, lambda n: blocks.append(n) if isinstance(n, tir.Block) else None)
        buffers = {buffer.data: buffer for buffer in func.buffer_map.values()}
        ask = (tir.analysis.get_block_access_region, tir.analysis.get_block_read_write_region)
        return tuple([[str(region) for region in regions] for regions in each(blocks[0], buffers)] for each in ask)

    def test_a_bare_address_is_an_opaque_access_of_all(self):
        @T.prim_func
        def func(A: T.Buffer[(8, 8), "float32"], B: T.Buffer[8, "float32"]):
            with T.block("all"):
                T.reads([])
                T.writes([])
                T.evaluate(A.data)
                T.evaluate(T.call_extern("f", B.data, dtype="int32"))

        both = ["A[0:8, 0:8]", "B[0:8]"]
        assert self.regions(func) == ([[], [], both], [both, both])

    def test_an_access_pointer_says_what_is_done(self):
        @T.prim_func
        def func(A: T.Buffer[8, "float32"], B: T.Buffer[8, "float32"], C: T.Buffer[8, "float32"]):
            with T.block("all"):
                T.reads([])
                T.writes([])
                T.evaluate(A.access_ptr("r"))
                T.evaluate(B.access_ptr("w"))
                T.evaluate(C.access_ptr("rw"))

        assert self.regions(func) == (
            [["A[0:8]"], ["B[0:8]"], ["C[0:8]"]],
            [["A[0:8]", "C[0:8]"], ["B[0:8]", "C[0:8]"]],
        )

    def test_a_matched_buffer_stands_for_its_region(self):
        @T.prim_func
        def func(A: T.Buffer[(8, 8), "float32"], B: T.Buffer[(8, 8), "float32"]):
            for i in T.serial(2):
                with T.block("half"):
                    vi = T.axis.spatial(2, i)
                    T.reads([])
                    T.writes([])
                    P = T.match_buffer(A[vi * 4 : vi * 4 + 4, 0:8], (4, 8), offset_factor=1)
                    Q = T.match_buffer(B[vi, 0:8], (8,), offset_factor=1)
                    T.evaluate(P.data)
                    for j in T.serial(4):
                        Q[j + 2] = T.float32(1)

        (reads, writes, opaque), _ = self.regions(func)
        assert (reads, writes, opaque) == ([], ["B[vi, 2:6]"], ["A[(vi*4):((vi*4) + 4), 0:8]"])

    def test_a_script_infers_regions_through_matched_buffers(self):
        @T.prim_func
        def func(A: T.Buffer[(8, 8), "float32"]):
            for i in T.serial(2):
                with T.block("half"):
                    vi = T.axis.spatial(2, i)
                    P = T.match_buffer(A[vi * 4 : vi * 4 + 4, 0:8], (4, 8), offset_factor=1)
                    for j, k in T.grid(4, 8):
                        P[j, k] = T.float32(1)

        sch = tir.Schedule(func)
        block = sch.get(sch.get_block("half"))
        assert [str(region) for region in block.writes] == ["A[(vi*4):((vi*4) + 4), 0:8]"] and not block.reads

    def test_a_condition_bounds_what_a_loop_reaches(self):
        @T.prim_func
        def func(A: T.Buffer[8, "float32"], B: T.Buffer[8, "float32"], C: T.Buffer[8, "float32"], n: T.int32):
            with T.block("all"):
                for i in T.serial(8):
                    A[i] = T.if_then_else(i < 5, B[i], 0.0, dtype="float32")
                for i in T.serial(8):
                    if i >= 2 and i < n:
                        A[i] = C[i]
                    if i < 5:
                        A[i] = C[i + 1]
                    else:
                        A[i] = C[i - 3]
                    if i < 0:
                        A[i] = C[i]

        block = func.body.block.body.block if func.body.block.name_hint == "root" else func.body.block
        assert [str(region) for region in block.reads] == ["B[0:5]", "C[0:8]"]
        assert [str(region) for region in block.writes] == ["A[0:8]"]


def test_a_loop_of_outside_in_a_block_of_axes_is_not_well_formed():
    @T.prim_func
    def func(A: T.Buffer[(8, 8), "float32"], B: T.Buffer[(8, 8), "float32"]):
        for i, j in T.grid(8, 8):
            with T.block("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[i, vj]

    assert not tir.analysis.verify_well_formed(func, assert_mode=False)
    with pytest.raises(ValueError, match='loop variable i is defined outside of block "copy"'):
        tir.analysis.verify_well_formed(func)


class TestOutOfBounds:
    def check(self, func):
        tir.analysis.OOBChecker()(tvm.IRModule({"main": func.with_attr("global_symbol", "main")}))

    def test_an_access_beyond_the_end_is_rejected(self):
        @T.prim_func
        def func(A: T.Buffer[(2, 3), "float32"], B: T.Buffer[(2, 3), "float32"]):
            for i, j in T.grid(2, 3):
                A[i, j] = B[i, j + 1]

        with pytest.raises(tir.ScheduleError, match=r"out-of-bounds memory access: main\n.*axis 1 of buffer B"):
            self.check(func)

    def test_a_condition_that_keeps_it_inside_is_seen(self):
        @T.prim_func
        def func(A: T.Buffer[(2, 3), "float32"], B: T.Buffer[(2, 3), "float32"]):
            for i, j in T.grid(2, 3):
                if j < 2:
                    A[i, j] = B[i, j + 1]

        self.check(func)

    def test_a_negative_index_is_rejected(self):
        @T.prim_func
        def func(A: T.Buffer[4, "float32"]):
            A[-1] = T.float32(0)

        with pytest.raises(tir.ScheduleError, match="axis 0 of buffer A"):
            self.check(func)

    def test_programs_that_may_be_right_pass(self):
        @T.prim_func
        def func(a: T.handle, n: T.int32):
            A = T.match_buffer(a, (8,), "float32")
            for i in T.serial(n):
                A[i] = T.float32(0)

        self.check(func)


def test_memory_scopes_of_a_relay_function():
    tensor = tvm.relay.TensorType((16, 16), "float32")
    kind = tvm.relay.FuncType([tensor, tensor], tensor)
    assert tir.analysis.get_prim_func_arg_and_result_memory_constraints(matmul, kind) == ["", "", ""]
    moved = tir.analysis.apply_prim_func_arg_and_result_memory_constraints(matmul, kind, ["", "scope_b", ""])
    assert tir.analysis.get_prim_func_arg_and_result_memory_constraints(moved, kind) == ["", "scope_b", ""]
    with pytest.raises(ValueError, match="expected 3 scopes"):
        tir.analysis.apply_prim_func_arg_and_result_memory_constraints(matmul, kind, ["scope"])
