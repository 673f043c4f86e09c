"""The intrinsics that come with the package: each matches the loops it is for, and runs where this machine can."""

import numpy as np
import pytest
import tessera as tvm
from tessera import te, tir
from tessera.tir import tensor_intrin
from tessera.tir.schedule.analysis import get_auto_tensorize_mapping_info, get_tensorize_loop_mapping
from tessera.tir.schedule.testing import verify_trace_roundtrip
from tessera.tir.schedule.transform import tile_with_tensor_intrin
from tessera.tir.tensor_intrin import cuda


def packed_product(m=8, n=32, k=16, lanes=16, left="uint8", right="int8"):
    """C[i, j] = sum of A[i, k] * W[j // lanes, k // 4, j % lanes, k % 4]: the layout of dot product instructions."""
    a = te.placeholder((m, k), left, "A")
    w = te.placeholder((n // lanes, k // 4, lanes, 4), right, "W")
    r = te.reduce_axis((0, k), "k")
    return te.compute(
        (m, n),
        lambda i, j: te.sum(a[i, r].astype("int32") * w[j // lanes, r // 4, j % lanes, r % 4].astype("int32"), axis=r),
        name="C",
    ), [a, w]


def tensorized(intrin, lanes, **kwargs):
    out, inputs = packed_product(lanes=lanes, **kwargs)
    sch = tir.Schedule(te.create_prim_func([*inputs, out]))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    jo, ji = sch.split(j, [None, lanes])
    ko, ki = sch.split(k, [None, 4])
    sch.reorder(i, jo, ko, ji, ki)
    sch.decompose_reduction(block, ko)
    sch.tensorize(ji, intrin)
    return sch


def host_has(feature):
    with open("/proc/cpuinfo") as file:
        return feature in file.read()


@pytest.mark.skipif(not host_has("avx512_vnni"), reason="this CPU has no AVX-512 VNNI")
def test_dot_products_of_int8_run_by_vnni():
    sch = tensorized(tensor_intrin.VNNI_DOT_16x4_INTRIN, 16)
    built = tvm.build(sch.mod["main"], target="llvm -mcpu=cascadelake")
    assert "vpdpbusd" in built.get_source("asm")
    rng = np.random.default_rng(0)
    a = rng.integers(0, 255, (8, 16)).astype("uint8")
    w = rng.integers(-128, 127, (2, 4, 16, 4)).astype("int8")
    out = tvm.nd.array(np.zeros((8, 32), "int32"))
    built(tvm.nd.array(a), tvm.nd.array(w), out)
    dense = w.transpose(0, 2, 1, 3).reshape(32, 16).astype("int32")
    np.testing.assert_array_equal(out.numpy(), a.astype("int32") @ dense.T)


@pytest.mark.parametrize(
    ("intrin", "features", "instruction"),
    [
        (tensor_intrin.ARM_DOT_4x4_i8_SDOT_INTRIN, "+v8.2a,+dotprod", "sdot"),
        (tensor_intrin.ARM_DOT_4x4_i8_NEON_INTRIN, "+neon", "smull"),
    ],
)
def test_dot_products_of_int8_become_arm_instructions(intrin, features, instruction):
    sch = tensorized(intrin, 4, left="int8")
    target = f"llvm -mtriple=aarch64-linux-gnu -mattr={features}"
    assert instruction in tvm.build(sch.mod["main"], target=target).get_source("asm")


@pytest.mark.parametrize("intrin", [tensor_intrin.DP4A_INTRIN, tensor_intrin.AMDGPU_SDOT4_INTRIN])
def test_dot_products_of_four_int8_match_in_shared_memory(intrin):
    a, b = te.placeholder((16, 16), "int8", "A"), te.placeholder((16, 16), "int8", "B")
    k = te.reduce_axis((0, 16), "k")
    c = te.compute((16, 16), lambda i, j: te.sum(a[i, k].astype("int32") * b[j, k].astype("int32"), axis=k), name="C")
    sch = tir.Schedule(te.create_prim_func([a, b, c]))
    block = sch.get_block("C")
    _, _, k = sch.get_loops(block)
    ko, ki = sch.split(k, [None, 4])
    sch.cache_read(block, 0, "shared")
    sch.cache_read(block, 1, "shared")
    sch.cache_write(block, 0, "local")
    sch.decompose_reduction(block, ko)
    sch.tensorize(ki, intrin)
    assert "A_shared_1 = T.match_buffer(A_shared[" in sch.mod["main"].script() or "T.match_buffer(A_shared[" in (
        sch.mod["main"].script()
    )


@pytest.mark.parametrize(("in_dtype", "out_dtype"), [("float16", "float32"), ("float16", "float16"), ("int8", "int32")])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_matmul_is_done_by_fragments(in_dtype, out_dtype, transposed):
    n = 64
    a, b = te.placeholder((n, n), in_dtype, "A"), te.placeholder((n, n), in_dtype, "B")
    k = te.reduce_axis((0, n), "k")

    def element(x):
        return x if in_dtype == out_dtype else x.astype(out_dtype)

    c = te.compute(
        (n, n),
        lambda i, j: te.sum(element(a[i, k]) * element(b[j, k] if transposed else b[k, j]), axis=k),
        name="C",
    )
    before = te.create_prim_func([a, b, c])
    sch = tir.Schedule(before)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    io, ii = sch.split(i, [None, 16])
    jo, ji = sch.split(j, [None, 16])
    ko, ki = sch.split(k, [None, 16])
    sch.reorder(io, jo, ko, ii, ji, ki)
    loads = []
    for index, scope in enumerate(("wmma.matrix_a", "wmma.matrix_b")):
        shared = sch.cache_read(block, index, "shared")
        fragment = sch.cache_read(block, index, scope)
        sch.compute_at(fragment, ko)
        sch.compute_at(shared, ko)
        loads.append(fragment)
    store = sch.cache_write(block, 0, "wmma.accumulator")
    sch.reverse_compute_at(store, jo)
    init = sch.decompose_reduction(block, ko)
    group = cuda.get_wmma_intrin_group("global", in_dtype, out_dtype, transposed)
    sch.tensorize(sch.get_loops(init)[2], group["init"])
    sch.tensorize(sch.get_loops(loads[0])[3], group["load_a"])
    sch.tensorize(sch.get_loops(loads[1])[3], group["load_b"])
    sch.tensorize(ii, group["compute"])
    sch.tensorize(sch.get_loops(store)[2], group["store"])
    text = sch.mod["main"].script()
    for call in ("tvm_fill_fragment", "tvm_load_matrix_sync", "tvm_mma_sync", "tvm_store_matrix_sync"):
        assert f"T.{call}(" in text
    assert text.count('"col_major"') == int(transposed)
    verify_trace_roundtrip(sch, before)


@pytest.mark.parametrize(
    ("layout", "shape", "indices"),
    [
        (cuda.shared_16x16_to_ldmatrix_32x8_layout, (16, 16), 8),
        (cuda.shared_16x32_to_ldmatrix_32x16_layout, (16, 32), 16),
        (cuda.shared_32x16_to_ldmatrix_32x16_layout, (32, 16), 16),
    ],
)
def test_each_element_of_a_matrix_has_a_lane_and_an_index_of_its_own(layout, shape, indices):
    taken = {layout(i, j) for i in range(shape[0]) for j in range(shape[1])}
    assert taken == {(lane, index) for lane in range(32) for index in range(indices)}


def test_registers_of_a_warp_are_tensorized_after_a_change_of_layout():
    """The result lies in its warp's registers as mma has it: fill and store match then."""
    a = te.placeholder((16, 16), "float32", "A")
    copy = te.compute((16, 16), lambda i, j: tir.const(0, "float32"), name="zero")
    out = te.compute((16, 16), lambda i, j: copy[i, j], name="out")
    sch = tir.Schedule(te.create_prim_func([a, out]))
    zero, store = sch.get_block("zero"), sch.get_block("out")
    sch.set_scope(zero, 0, "warp")
    sch.transform_layout(zero, ("write", 0), cuda.shared_16x16_to_ldmatrix_32x8_layout)
    sch.tensorize(sch.get_loops(zero)[0], cuda.MMA_fill_16x16_f32_INTRIN)
    sch.tensorize(sch.get_loops(store)[0], cuda.MMA_store_16x16_f32_global_INTRIN)
    text = sch.mod["main"].script()
    assert "T.mma_fill(8, " in text
    assert "T.mma_store(16, 16, " in text


def test_loops_are_tiled_for_an_intrinsic():
    out, inputs = packed_product()
    sch = tir.Schedule(te.create_prim_func([*inputs, out]))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    desc = tir.TensorIntrin.get(tensor_intrin.VNNI_DOT_16x4_INTRIN).desc
    info = get_tensorize_loop_mapping(sch, block, desc)
    assert {sch.get_sref(loop): int(info.loop_map[sch.get_sref(loop)].extent) for loop in (j, k)} == {
        sch.get_sref(j): 16,
        sch.get_sref(k): 4,
    }
    assert sch.get_sref(i) not in info.loop_map
    tile = tile_with_tensor_intrin(sch, block, tensor_intrin.VNNI_DOT_16x4_INTRIN)
    sch.decompose_reduction(block, sch.get_loops(block)[2])
    sch.tensorize(tile, tensor_intrin.VNNI_DOT_16x4_INTRIN)
    assert "T.call_llvm_pure_intrin(" in sch.mod["main"].script()


def test_loops_that_do_not_divide_are_padded_on_demand():
    def schedule():
        a, b = te.placeholder((15, 30), "float16", "A"), te.placeholder((30, 16), "float16", "B")
        k = te.reduce_axis((0, 30), "k")
        c = te.compute((15, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
        sch = tir.Schedule(te.create_prim_func([a, b, c]))
        for index, scope in enumerate(("wmma.matrix_a", "wmma.matrix_b")):
            sch.cache_read("C", index, scope)
        sch.cache_write("C", 0, "wmma.accumulator")
        return sch, sch.get_block("C")

    sch, block = schedule()
    assert tile_with_tensor_intrin(sch, block, cuda.WMMA_SYNC_16x16x16_f16f16f16_INTRIN) is None
    tile = tile_with_tensor_intrin(sch, block, cuda.WMMA_SYNC_16x16x16_f16f16f16_INTRIN, allow_padding=True)
    sch.decompose_reduction(block, sch.get_loops(block)[2])
    sch.tensorize(tile, cuda.WMMA_SYNC_16x16x16_f16f16f16_INTRIN)
    assert "T.tvm_mma_sync(" in sch.mod["main"].script()


def test_every_name_is_registered():
    names = [getattr(tensor_intrin, name) for name in dir(tensor_intrin) if name.endswith("_INTRIN")]
    assert len(set(names)) == len(names) >= 48
    for name in names:
        intrin = tir.TensorIntrin.get(name)
        assert len(intrin.desc.params) == len(intrin.impl.params)


def conv2d_nhwc(n, h, w, ci, co, kernel, pad):
    A = te.placeholder((n, h, w, ci), "float16", name="A")
    W = te.placeholder((kernel, kernel, ci, co), "float16", name="W")
    inside = lambda y, x: tir.all(y >= pad, y < h + pad, x >= pad, x < w + pad)
    P = te.compute(
        (n, h + 2 * pad, w + 2 * pad, ci),
        lambda b, y, x, c: tir.if_then_else(inside(y, x), A[b, y - pad, x - pad, c], tir.const(0, "float16")),
        name="P",
    )
    rh, rw = te.reduce_axis((0, kernel), "rh"), te.reduce_axis((0, kernel), "rw")
    rc = te.reduce_axis((0, ci), "rc")
    conv = te.compute(
        (n, h, w, co),
        lambda b, y, x, c: te.sum(
            P[b, y + rh, x + rw, rc].astype("float32") * W[rh, rw, rc, c].astype("float32"), axis=[rh, rw, rc]
        ),
        name="conv",
    )
    return te.create_prim_func([A, W, conv])


def batch_matmul(b, n, m, k):
    A = te.placeholder((b, n, k), "float16", name="A")
    B = te.placeholder((b, k, m), "float16", name="B")
    kk = te.reduce_axis((0, k), "k")
    C = te.compute(
        (b, n, m),
        lambda z, i, j: te.sum(A[z, i, kk].astype("float32") * B[z, kk, j].astype("float32"), axis=kk),
        name="C",
    )
    return te.create_prim_func([A, B, C])


@pytest.mark.parametrize(
    ("func", "name", "expected"),
    [
        (
            conv2d_nhwc(4, 16, 16, 64, 64, 3, 1),
            "conv",
            lambda n, h, w, c, rh, rw, rc: (n * 256 + h * 16 + w, c, rh * 192 + rw * 64 + rc),
        ),
        (
            conv2d_nhwc(1, 16, 16, 64, 64, 3, 1),
            "conv",
            lambda n, h, w, c, rh, rw, rc: (n, h * 16 + w, c, rh * 192 + rw * 64 + rc),
        ),
        (batch_matmul(16, 32, 32, 32), "C", lambda b, m, n, k: (b, m, n, k)),
        (batch_matmul(1, 32, 32, 32), "C", lambda b, m, n, k: (b, m, n, k)),
    ],
)
def test_axes_are_fused_so_that_an_intrinsic_fits(func, name, expected):
    sch = tir.Schedule(func)
    block = sch.get_block(name)
    desc = tir.TensorIntrin.get(cuda.WMMA_SYNC_16x16x16_f16f16f32_INTRIN).desc
    info = get_auto_tensorize_mapping_info(sch, block, desc)
    assert tir.IndexMap.from_func(expected).is_equivalent_to(info.mappings[0])
    assert [axis.var.name for axis in info.lhs_iters] == [axis.var.name for axis in sch.get(block).iter_vars]
    assert len(info.rhs_iters) == 3
    assert len(info.lhs_buffer_map) == 3
    assert set(info.rhs_indices) == set(info.lhs_buffer_map.values())
    sch.transform_block_layout(block, info.mappings[0])  # and it is one that the block takes


def test_a_block_that_computes_something_else_has_no_mapping():
    n = te.placeholder((32, 32), "float16", name="A")
    C = te.compute((32, 32), lambda i, j: n[i, j] + n[j, i], name="C")
    sch = tir.Schedule(te.create_prim_func([n, C]))
    desc = tir.TensorIntrin.get(cuda.WMMA_SYNC_16x16x16_f16f16f32_INTRIN).desc
    assert get_auto_tensorize_mapping_info(sch, sch.get_block("C"), desc) is None
