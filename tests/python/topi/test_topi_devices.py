"""Names of `topi.cuda`, `topi.x86` and `topi.arm_cpu` that are more than a schedule: run on this CPU."""

from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera import relay, te, tir, topi
from tessera.relay.testing.temp_op_attr import TempOpAttr
from tessera.topi.testing import compare_numpy_tvm

cuda = topi.cuda


def check(inputs, wanted, compute):
    compare_numpy_tvm(inputs, wanted, "llvm", tessera.cpu(), compute, topi.generic.schedule_extern)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_sorting_by_the_signatures_of_gpu_kernels(rng):
    data = rng.permutation(24).reshape(4, 6).astype("float32")
    check([data], np.sort(data, 0), lambda x: cuda.sort(x, 0))
    check([data], np.argsort(-data, 1).astype("int32"), lambda x: cuda.argsort(x, 1, is_ascend=0, dtype="int32"))
    check([data], np.sort(data, 1)[:, :2], lambda x: cuda.topk(x, 2, 1, "values", is_ascend=True))


def test_values_follow_their_keys(rng):
    keys, values = rng.integers(0, 4, 12).astype("int32"), rng.random(12).astype("float32")
    order = np.argsort(keys, kind="stable")
    check([keys, values], values[order], lambda k, v: cuda.sort_by_key(k, v, 0)[1])
    check([keys - 12, values], values[order], lambda k, v: cuda.stable_sort_by_key_thrust(k, v, for_scatter=True)[1])


@pytest.mark.parametrize("axis", [0, 1])
def test_scans(rng, axis):
    data = rng.integers(1, 5, (3, 5)).astype("int32")
    exclusive = np.cumsum(data, axis) - data
    check([data], np.cumsum(data, axis).astype("int32"), lambda x: cuda.inclusive_scan(x, axis))
    check([data], exclusive.astype("int32"), lambda x: cuda.exclusive_scan(x, axis))
    check([data], data.sum(axis).astype("int32"), lambda x: cuda.exclusive_scan(x, axis, return_reduction=True)[1])
    top = np.maximum.accumulate(data, axis)
    check([data], top, lambda x: cuda.inclusive_scan(x, axis, binop=tir.max, identity_value=0))


@pytest.mark.parametrize("groups", [1, 2])
def test_conv2d_of_int8_in_blocks_of_four(rng, groups):
    data, weight = (
        rng.integers(-9, 9, (1, 8, 5, 5)).astype("int8"),
        rng.integers(-9, 9, (8, 8 // groups, 3, 3)).astype("int8"),
    )
    wanted = topi.testing.conv2d_nchw_python(data.astype("int32"), weight.astype("int32"), 1, 1, groups)
    wanted = wanted.reshape(1, 2, 4, 5, 5).transpose(0, 1, 3, 4, 2).copy()
    check([data, weight], wanted, lambda x, w: cuda.group_conv2d_NCHWc_int8(x, w, 1, 1, 1, groups, "int32"))


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_convolutions_that_are_named_after_cudnn(rng, layout):
    data, weight = rng.random((1, 4, 6, 6)).astype("float32"), rng.random((3, 4, 3, 3)).astype("float32")
    wanted = topi.testing.conv2d_nchw_python(data, weight, 1, 1)
    if layout == "NHWC":
        data, weight, wanted = (x.transpose(0, 2, 3, 1).copy() for x in (data, weight, wanted))
    check([data, weight], wanted, lambda x, w: cuda.conv2d_cudnn(x, w, 1, 1, 1, layout=layout))


def test_conv2d_in_the_layout_of_tensor_cores(rng):
    data, weight = rng.integers(-9, 9, (5, 6, 8, 16)).astype("int8"), rng.integers(-9, 9, (3, 3, 8, 16)).astype("int8")
    images, filters = data.transpose(2, 0, 1, 3).astype("int32"), weight.transpose(0, 1, 3, 2).astype("int32")
    wanted = topi.testing.conv2d_nhwc_python(images, filters, 1, 1).transpose(1, 2, 0, 3)
    check([data, weight], wanted, lambda x, w: cuda.conv2d_hwnc_tensorcore(x, w, 1, 1, 1, "int8"))


class Csr:
    """As much of scipy.sparse.csr_matrix as is used."""

    def __init__(self, parts, shape):
        (self.data, self.indices, self.indptr), self.shape = parts, shape


def test_rows_of_a_sparse_matrix_are_padded_with_zeros():
    matrix = Csr((np.array([1.0, 2.0, 3.0]), np.array([1, 0, 2]), np.array([0, 1, 3])), (2, 3))
    padded = cuda.pad_sparse_matrix(matrix, 4)
    assert padded.data.tolist() == [1, 0, 0, 0, 2, 3, 0, 0] and padded.indptr.tolist() == [0, 4, 8]
    assert padded.indices.tolist() == [1, 0, 0, 0, 0, 2, 0, 0] and padded.shape == (2, 3)


@pytest.mark.parametrize(
    "name, cpu, lanes, elements",
    [
        ("dot_16x1x16_uint8_int8_int32_cascadelake", "cascadelake", 16, 4),
        ("dot_16x1x16_uint8_int8_int32_skylake", "skylake-avx512", 16, 4),
        ("dot_16x1x16_uint8_int8_int32", "skylake-avx512", 16, 4),
        ("dot_16x1x16_uint8_int8_int16", "skylake-avx512", 128, 2),
    ],
)
def test_dot_products_of_x86(rng, name, cpu, lanes, elements):
    out_dtype = name.rsplit("_", 1)[1] if name.endswith(("16", "32")) else "int32"
    k_extent = 2 * elements
    data = te.placeholder((1, k_extent), "uint8", name="data")
    kernel = te.placeholder((2, lanes, elements), "int8", name="kernel")
    outer = te.reduce_axis((0, 2), name="ko")
    inner = te.reduce_axis((0, elements), name="ki")
    out = te.compute(
        (1, lanes),
        lambda i, j: te.sum(
            data[i, outer * elements + inner].astype(out_dtype) * kernel[outer, j, inner].astype(out_dtype),
            axis=[outer, inner],
        ),
    )
    schedule = te.create_schedule(out.op)
    schedule[out].reorder(out.op.axis[0], outer, out.op.axis[1], inner)
    target = tessera.target.Target(f"llvm -mcpu={cpu}")
    with target:
        intrin = getattr(topi.x86.tensor_intrin, name)()
        assert topi.x86.utils.get_simd_32bit_lanes() == 16
    schedule[out].tensorize(out.op.axis[1], intrin)
    function = tessera.build(schedule, [data, kernel, out], target)
    wanted_instruction = "vpdpbusd" if cpu == "cascadelake" else "vpmaddubsw"
    assert wanted_instruction in function.get_source("asm")
    flags = Path("/proc/cpuinfo").read_text()
    if ("avx512_vnni" if cpu == "cascadelake" else "avx512bw") not in flags:
        pytest.skip("this CPU lacks the instruction")
    x, w = rng.integers(0, 100, (1, k_extent)).astype("uint8"), rng.integers(-9, 9, (2, lanes, elements)).astype("int8")
    result = tessera.nd.empty((1, lanes), out_dtype)
    function(tessera.nd.array(x), tessera.nd.array(w), result)
    weights = w.transpose(1, 0, 2).reshape(lanes, -1).astype("int32")
    np.testing.assert_array_equal(result.numpy(), x.astype("int32") @ weights.T)


def test_dp4a_replaces_four_multiplications():
    a, b = te.placeholder((8,), "int8", name="a"), te.placeholder((8,), "int8", name="b")
    k, i4 = te.reduce_axis((0, 2), name="k"), te.reduce_axis((0, 4), name="i4")
    out = te.compute(
        (1,), lambda i: te.sum(a[k * 4 + i4].astype("int32") * b[k * 4 + i4].astype("int32"), axis=[k, i4])
    )
    schedule = te.create_schedule(out.op)
    schedule[out].reorder(k, out.op.axis[0], i4)
    schedule[out].tensorize(out.op.axis[0], cuda.dp4a("global", "global", "global"))
    text = str(tessera.lower(schedule, [a, b, out]))
    assert '@tir.call_pure_extern("__dp4a"' in text and "for (k: int32, 0, 2)" in text


def legalized(expr, op, rule):
    module = relay.transform.InferType()(tessera.IRModule.from_expr(expr))
    with TempOpAttr(op, "FTVMLegalize", rule), tessera.target.Target("cuda"):
        return relay.transform.InferType()(relay.transform.Legalize()(module))["main"]


@pytest.mark.parametrize("shape, pads", [((7, 16, 32), (1, 0, 0)), ((8, 15, 32), (0, 1, 0)), ((8, 16, 31), (0, 0, 1))])
def test_linear_layers_are_padded_to_tensor_cores(shape, pads):
    (m, k, n), (dm, dk, dn) = shape, pads
    x, w = relay.var("x", shape=(m, k), dtype="float16"), relay.var("w", shape=(n, k), dtype="float16")
    found = legalized(relay.Function([x, w], relay.nn.dense(x, w)), "nn.dense", topi.nn.dense_legalize)
    left = relay.nn.pad(x, ((0, dm), (0, dk))) if dm or dk else x
    right = relay.nn.pad(w, ((0, dn), (0, dk))) if dn or dk else w
    wanted = relay.nn.dense(left, right)
    wanted = relay.strided_slice(wanted, begin=[0, 0], end=[m, n]) if dm or dn else wanted
    wanted = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function([x, w], wanted)))["main"]
    tessera.ir.assert_structural_equal(found, wanted)


def test_contractions_that_fit_or_would_grow_too_much_are_left():
    for m, k, n in [(8, 16, 32), (16, 16, 16), (1, 16, 32), (32, 16, 8)]:
        x, w = relay.var("x", shape=(m, k), dtype="float16"), relay.var("w", shape=(n, k), dtype="float16")
        layer = relay.Function([x, w], relay.nn.dense(x, w))
        assert "pad" not in str(legalized(layer, "nn.dense", topi.nn.dense_legalize))
    assert cuda.pad_to_tensorcore(7, 16, 32, [(16, 16, 16), (8, 16, 32)]) == ((1, 0, 0), 512.0)


def test_convolutions_and_batches_are_padded_to_tensor_cores():
    x = relay.var("x", shape=(7, 4, 4, 16), dtype="int8")
    w = relay.var("w", shape=(3, 3, 16, 31), dtype="int8")
    conv = relay.nn.conv2d(
        x,
        w,
        channels=31,
        kernel_size=(3, 3),
        padding=(1, 1),
        data_layout="NHWC",
        kernel_layout="HWIO",
        out_dtype="int32",
    )
    found = legalized(relay.Function([x, w], conv), "nn.conv2d", topi.nn.conv2d_legalize)
    assert "channels=32" in str(found) and found.ret_type.concrete_shape == (7, 4, 4, 31)
    a, b = relay.var("a", shape=(2, 7, 16), dtype="float16"), relay.var("b", shape=(2, 32, 16), dtype="float16")
    found = legalized(
        relay.Function([a, b], relay.nn.batch_matmul(a, b)), "nn.batch_matmul", topi.nn.batch_matmul_legalize
    )
    assert "nn.pad" in str(found) and found.ret_type.concrete_shape == (2, 7, 32)


def test_a_program_may_ask_for_the_layout_the_compiler_chooses():
    x, w = relay.var("x", shape=(1, 16, 8, 8)), relay.var("w", shape=(16, 16, 3, 3))
    conv = relay.nn.conv2d(x, w, channels=16, kernel_size=(3, 3), padding=(1, 1))
    module = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function([x, w], conv)))
    with tessera.target.Target("llvm -mcpu=skylake-avx512"):
        wanted = relay.transform.AlterOpLayout()(module)
        with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", topi.nn.conv2d_alter_layout):
            found = relay.transform.AlterOpLayout()(module)
    tessera.ir.assert_structural_equal(found, wanted)


def test_what_the_target_says_of_arm():
    with tessera.target.Target("llvm -device=arm_cpu -mtriple=aarch64-linux-gnu -mattr=+v8.2a,+dotprod"):
        utils = topi.arm_cpu.arm_utils
        assert utils.is_aarch64_arm() and utils.is_dotprod_available() and not utils.is_mmla_available()
        assert utils.get_arch_version(["+v8.2a", "+dotprod"]) == 8.2 and utils.get_tiling_B_interleaved_t(True) == (
            12,
            4,
        )
        assert topi.arm_cpu.conv2d_int8.is_int8_hw_support("int8", "int8")
        assert topi.arm_cpu.conv2d_gemm.is_aarch64_arm()
    with tessera.target.Target("llvm -device=arm_cpu -mtriple=armv7-linux-gnueabihf"):
        assert not topi.arm_cpu.conv2d_int8.is_int8_hw_support("int8", "int8")


def test_functions_of_topi_by_the_names_of_cpp(rng):
    assert topi.cpp.add is topi.add and topi.cpp.nn.relu is topi.nn.relu
    target = topi.cpp.TEST_create_target("llvm")
    x = te.placeholder((8,))
    y = topi.cpp.exp(x)
    function = tessera.build(topi.cpp.generic.schedule_injective(target, [y]), [x, y], target)
    data, result = rng.random(8).astype("float32"), tessera.nd.empty((8,))
    function(tessera.nd.array(data), result)
    np.testing.assert_allclose(result.numpy(), np.exp(data), 1e-5)


def test_unsigned_integers_wrap_around():
    assert topi.random.threefry_test_wrapping("llvm", tessera.cpu())


def test_templates_take_a_configuration_or_none():
    import inspect

    a, b = te.placeholder((8, 16)), te.placeholder((4, 16))
    assert list(inspect.signature(topi.x86.dense_nopack).parameters)[0] == "cfg"
    with tessera.target.Target("llvm"):
        plain, configured = topi.x86.dense_nopack(a, b), topi.x86.dense_nopack(object(), a, b, None, "float32")
        assert [int(n) for n in plain.shape] == [int(n) for n in configured.shape] == [8, 4]
        for schedule in (topi.x86.schedule_dense_nopack([plain]), topi.x86.schedule_dense_nopack(None, [plain])):
            assert isinstance(schedule, te.Schedule)


def test_schedules_in_place():
    a, b = te.placeholder((8, 16)), te.placeholder((4, 16))
    with tessera.target.Target("cuda"):
        out = topi.nn.dense(a, b)
        schedule = te.create_schedule(out.op)
        topi.cuda.schedule_direct_cuda(None, schedule, out)
    assert "blockIdx.x" in str(tessera.lower(schedule, [a, b, out]))


def test_strategies_under_the_names_of_targets():
    from tessera import relay
    from tessera.relay.op.strategy import cuda, x86

    inputs = [te.placeholder((8, 16)), te.placeholder((4, 16))]
    attrs = relay.nn.dense(relay.var("x"), relay.var("w")).attrs
    out_type = relay.TensorType((8, 4))
    for target, function in (
        (tessera.target.Target("llvm"), x86.dense_strategy_cpu),
        (tessera.target.Target("cuda"), cuda.dense_strategy_cuda),
    ):
        assert isinstance(function(attrs, inputs, out_type, target), relay.op.OpStrategy)


def test_rules_of_layouts_lie_where_v0_10_has_them():
    x, w = relay.var("x", shape=(4, 16)), relay.var("w", shape=(8, 16))
    module = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w))))
    with tessera.target.Target("llvm"):
        wanted = relay.transform.AlterOpLayout()(module)
        with TempOpAttr("nn.dense", "FTVMAlterOpLayout", topi.x86.dense_alter_op._alter_dense_layout):
            found = relay.transform.AlterOpLayout()(module)
    tessera.ir.assert_structural_equal(found, wanted)
    assert topi.x86.conv2d_alter_op._alter_conv2d_layout is topi.nn.conv2d_alter_layout
