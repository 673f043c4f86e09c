"""AutoTVM: v0.10's templates for CPUs compute what NumPy does, those for GPUs are sources that compile, and calls find theirs."""

import numpy as np
import pytest
import tessera as tvm
from tessera import autotvm, relay, te
from tessera.autotvm.measure import MeasureErrorNo, MeasureInput
from tessera.autotvm.measure.build import why_no_gpu_runs
from tessera.autotvm.task.task import TASK_TABLE, find_template
from tessera.contrib import nvcc

CUDA = "cuda -arch=sm_80"
ONES = ((1, 1), (1, 1, 1, 1), (1, 1))


def tensor(*shape, dtype="float32"):
    return ("TENSOR", shape, dtype)


def int8(*shape):
    return tensor(*shape, dtype="int8")


def uint8(*shape):
    return tensor(*shape, dtype="uint8")


def conv(x, w, strides, pads, dilation, groups=1):
    """Channels first, over any number of dimensions."""
    count = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(pads[i], pads[i + count]) for i in range(count)])
    (outs, ins), kernel = w.shape[:2], w.shape[2:]
    extents = [(x.shape[2 + i] - (kernel[i] - 1) * dilation[i] - 1) // strides[i] + 1 for i in range(count)]
    out = np.zeros((x.shape[0], outs, *extents), "float32" if x.dtype.kind == "f" else "int64")
    x, w = x.astype(out.dtype), w.astype(out.dtype)
    part = outs // groups
    for at in np.ndindex(*kernel):
        windows = [
            slice(at[i] * dilation[i], at[i] * dilation[i] + (extents[i] - 1) * strides[i] + 1, strides[i])
            for i in range(count)
        ]
        for group in range(groups):
            data = x[(slice(None), slice(group * ins, (group + 1) * ins), *windows)]
            weight = w[(slice(group * part, (group + 1) * part), slice(None), *at)]
            out[:, group * part : (group + 1) * part] += np.tensordot(weight, data, ([1], [1])).swapaxes(0, 1)
    return out


def from_blocks(result):
    return result.transpose(0, 1, 4, 2, 3).reshape(result.shape[0], -1, *result.shape[2:4])


GROUPED = ((2, 1), (1, 0, 1, 2), (1, 2))
VOLUME = ((1, 1, 2), (1,) * 6, (1, 1, 1))
ON_CPU = {
    "group_conv2d_nchw.x86": (
        (tensor(2, 16, 9, 10), tensor(24, 4, 3, 3), *GROUPED, 4, "float32"),
        lambda x, w: conv(x, w, *GROUPED, 4),
    ),
    "conv3d_ncdhw.x86": (
        (tensor(1, 8, 5, 6, 7), tensor(12, 8, 3, 2, 3), *VOLUME, 1, "float32"),
        lambda x, w: conv(x, w, *VOLUME),
    ),
    "conv3d_ndhwc.x86": (
        (tensor(1, 5, 6, 7, 8), tensor(3, 2, 3, 4, 12), *VOLUME, 2, "float32"),
        lambda x, w: conv(x.transpose(0, 4, 1, 2, 3), w.transpose(4, 3, 0, 1, 2), *VOLUME, 2).transpose(0, 2, 3, 4, 1),
    ),
    "conv2d_NCHWc_int8.x86": (
        (uint8(1, 8, 9, 9), int8(32, 8, 3, 3), *ONES, "NCHW", "NCHW", "int32"),
        lambda x, w: conv(x, w, *ONES),
    ),
    "dense_vnni.x86": (
        (uint8(6, 16), int8(2, 4, 16, 4), None, "int32"),
        lambda x, w: x.astype(int) @ w.transpose(0, 2, 1, 3).reshape(32, 16).T.astype(int),
    ),
    "batch_matmul_vnni.x86": (
        (uint8(3, 6, 16), int8(3, 32, 16), (3, 6, 32), "int32", False, True),
        lambda x, w: x.astype(int) @ w.transpose(0, 2, 1).astype(int),
    ),
}


def some_of(task, count):
    """The first, the last and other configurations."""
    size = len(task.config_space)
    others = np.random.default_rng(0).integers(size, size=count - 2).tolist()
    return [task.config_space.get(index) for index in sorted({0, size - 1, *others})]


@pytest.mark.parametrize("name", ON_CPU)
def test_every_configuration_on_cpus_computes_what_numpy_does(name):
    args, reference = ON_CPU[name]
    rng = np.random.default_rng(1)
    task = autotvm.task.create(name, args, "llvm")
    for config in some_of(task, 5):
        with task.target:
            schedule, buffers = task.instantiate(config)
            function = tvm.build(schedule, buffers)
        inputs = []
        for each in buffers[:2]:
            shape = [int(extent) for extent in each.shape]
            low, high = {"uint8": (0, 256), "int8": (-128, 128)}.get(each.dtype, (-3, 4))
            inputs.append(rng.integers(low, high, shape).astype(each.dtype))
        result = tvm.nd.empty([int(extent) for extent in buffers[2].shape], buffers[2].dtype)
        function(*map(tvm.nd.array, inputs), result)
        got = result.numpy()
        np.testing.assert_array_equal(from_blocks(got) if "NCHWc" in name else got, reference(*inputs))


@pytest.mark.parametrize("cpu", ["cascadelake", "znver5"])
@pytest.mark.parametrize("name", [name for name in ON_CPU if "int8" in name or "vnni" in name])
def test_int8_is_multiplied_by_instructions_where_there_are_some(name, cpu):
    task = autotvm.task.create(name, ON_CPU[name][0], f"llvm -mcpu={cpu}")
    with task.target:
        assert "vpdpbusd" in tvm.build(*task.instantiate(some_of(task, 2)[0])).get_source("asm")


ON_GPU = {
    "conv2d_nchw.cuda": (tensor(1, 32, 14, 14), tensor(64, 32, 3, 3), *ONES, "float32"),
    "conv2d_nhwc.gpu": (tensor(8, 14, 14, 32), tensor(3, 3, 32, 64), *ONES, "float32"),
    "conv2d_hwcn.cuda": (tensor(14, 14, 32, 16), tensor(3, 3, 32, 64), *ONES, "float32"),
    "conv2d_nchw_winograd.cuda": (tensor(1, 32, 16, 14), tensor(64, 32, 3, 3), *ONES, "float32"),
    "conv2d_nhwc_winograd_direct.cuda": (tensor(2, 14, 14, 32), tensor(3, 3, 32, 64), *ONES, "float32"),
    "depthwise_conv2d_nchw.cuda": (tensor(1, 32, 14, 14), tensor(32, 1, 3, 3), *ONES, "float32"),
    "group_conv2d_nchw.cuda": (tensor(1, 32, 14, 14), tensor(64, 8, 3, 3), *ONES, 4, "float32"),
    "conv1d_ncw.cuda": (tensor(1, 32, 64), tensor(64, 32, 3), (1,), (1, 1), (1,), "float32"),
    "conv1d_nwc.cuda": (tensor(1, 64, 32), tensor(3, 32, 64), (1,), (1, 1), (1,), "float32"),
    "group_conv1d_ncw.cuda": (tensor(1, 32, 64), tensor(64, 8, 3), (1,), (1, 1), (1,), 4, "float32"),
    "group_conv1d_nwc.cuda": (tensor(1, 64, 32), tensor(3, 8, 64), (1,), (1, 1), (1,), 4, "float32"),
    "conv1d_transpose_nchw.cuda": (tensor(1, 32, 64), tensor(32, 64, 3), (2,), (1, 1), "float32", (1,)),
    "conv2d_transpose_nchw.cuda": (
        *(tensor(1, 32, 14, 14), tensor(32, 16, 4, 4), (2, 2), (1, 1, 1, 1), "float32", (0, 0), 1),
    ),
    "conv3d_ncdhw.cuda": (tensor(1, 16, 8, 8, 8), tensor(32, 16, 3, 3, 3), *VOLUME, 1, "float32"),
    "conv3d_ndhwc.cuda": (tensor(1, 8, 8, 8, 16), tensor(3, 3, 3, 16, 32), *VOLUME, 1, "float32"),
    "conv3d_transpose_ncdhw.cuda": (
        *(tensor(1, 16, 8, 8, 8), tensor(16, 8, 3, 3, 3), (2, 2, 2), (1,) * 6, "float32", (1, 1, 1)),
    ),
    "correlation_nchw.cuda": (tensor(1, 16, 8, 8), tensor(1, 16, 8, 8), 3, 2, 1, 1, (2, 2), True),
    "deformable_conv2d_nchw.cuda": (
        *(tensor(1, 16, 8, 8), tensor(1, 18, 8, 8), tensor(16, 16, 3, 3), *ONES, 1, 1, "float32"),
    ),
    "dense_small_batch.gpu": (tensor(2, 256), tensor(64, 256), None, "float32"),
    "dense_large_batch.gpu": (tensor(128, 256), tensor(64, 256), None, "float32"),
    "matmul_default.gpu": (tensor(8, 256), tensor(256, 64), None, "float32", False, False),
    "batch_matmul.cuda": (tensor(4, 32, 64), tensor(4, 48, 64), (4, 32, 48), "float32", False, True),
    "dense_int8.cuda": (int8(64, 256), int8(64, 256), None, "int32"),
    "batch_matmul_int8.cuda": (int8(2, 16, 32), int8(2, 8, 32), (2, 16, 8), "int32", False, True),
    "conv2d_NCHWc_int8.cuda": (int8(1, 32, 14, 14), int8(64, 32, 3, 3), *ONES, "NCHW", "int32"),
    "group_conv2d_NCHWc_int8.cuda": (int8(1, 32, 14, 14), int8(64, 16, 3, 3), *ONES, 2, "int32"),
}


def source_of(library):
    return "\n".join(module.get_source() for module in library.imported_modules)


def compiles(source):
    """True where there is no NVRTC either."""
    try:
        nvcc.compile_in_process(source, "sm_80")
    except RuntimeError as error:
        if "cannot open" not in str(error) and "not found" not in str(error):
            raise
    return True


@pytest.mark.parametrize("name", ON_GPU)
def test_configurations_on_gpus_are_sources_that_compile(name):
    task = autotvm.task.create(name, ON_GPU[name], CUDA)
    sources = []
    for config in some_of(task, 4):
        with task.target:
            schedule, args = task.instantiate(config)
            if not why_no_gpu_runs(schedule, args, task.target):
                sources.append(source_of(tvm.build(schedule, args)))
    source = min(sources, key=len)  # NVRTC takes seconds for the longest
    assert (
        "__dp4a" in source if "int8" in name else "__shared__" in source or "small_batch" in name or "default" in name
    )
    assert compiles(source)


def test_a_template_for_gpus_works_without_a_record():
    from tessera.autotvm.templates import gpu

    assert gpu.register and len([name for name in TASK_TABLE if name.endswith((".cuda", ".gpu"))]) >= len(ON_GPU)
    for name in ("conv2d_nchw.cuda", "dense_large_batch.gpu", "batch_matmul.cuda", "conv2d_hwcn.cuda"):
        with tvm.target.Target(CUDA):
            schedule, args = TASK_TABLE[name](*ON_GPU[name])
            assert "threadIdx.x" in source_of(tvm.build(schedule, args))


def extracted(call_of, target, *shapes, dtypes=("float32", "float32")):
    x, w = (relay.var(name, shape=shape, dtype=dtype) for name, shape, dtype in zip("xw", shapes, dtypes))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], call_of(x, w)))
    return {task.name: task for task in autotvm.task.extract_from_program(mod, {}, target)}


def test_calls_find_the_templates_of_their_target():
    dense = lambda x, w: relay.nn.dense(x, w)
    assert set(extracted(dense, CUDA, (64, 32), (16, 32))) == {"dense_small_batch.gpu", "dense_large_batch.gpu"}
    assert set(extracted(dense, CUDA, (4, 32), (16, 32))) == {"dense_small_batch.gpu"}
    ints = lambda x, w: relay.nn.dense(x, w, out_dtype="int32")
    assert set(extracted(ints, CUDA, (4, 32), (16, 32), dtypes=("int8", "int8"))) == {"dense_int8.cuda"}
    found = extracted(ints, "llvm", (4, 32), (16, 32), dtypes=("uint8", "int8"))
    assert found["dense_vnni.x86"].args[1] == int8(1, 8, 16, 4)

    grouped = lambda x, w: relay.nn.conv2d(x, w, padding=1, groups=2, channels=8, kernel_size=3)
    assert set(extracted(grouped, CUDA, (1, 8, 6, 6), (8, 4, 3, 3))) == {"group_conv2d_nchw.cuda"}
    assert set(extracted(grouped, "llvm", (1, 8, 6, 6), (8, 4, 3, 3))) == {"group_conv2d_nchw.x86"}
    volume = lambda x, w: relay.nn.conv3d(x, w, data_layout="NDHWC", kernel_layout="DHWIO", channels=8, kernel_size=3)
    shapes = (1, 6, 6, 6, 4), (3, 3, 3, 4, 8)
    assert set(extracted(volume, "llvm", *shapes)) == {"conv3d_ndhwc.x86"}
    assert set(extracted(volume, CUDA, *shapes)) == {"conv3d_ndhwc.cuda"}
    assert extracted(volume, "c", *shapes) == {}


def test_a_configuration_that_no_gpu_runs_is_an_error_of_it():
    task = autotvm.task.create("conv2d_nchw.cuda", ON_GPU["conv2d_nchw.cuda"], CUDA)
    space = task.config_space
    wide = next(
        space.get(index)
        for index in range(0, len(space), 997)
        if np.prod([space.get(index)[f"tile_{axis}"].size[2] for axis in "fyx"]) > 1024
    )
    (result,) = autotvm.LocalBuilder().build([MeasureInput(task.target, task, wide)])
    assert int(result.error_no) == MeasureErrorNo.INSTANTIATION_ERROR
    assert "more than a GPU has" in str(result.costs[0])


@pytest.mark.parametrize(
    "name, data, kernel",
    [
        ("conv2d_nchw_winograd.cuda", (2, 5, 16, 14), (6, 5, 3, 3)),
        ("conv2d_nhwc_winograd_direct.cuda", (2, 13, 14, 5), (3, 3, 5, 6)),
    ],
)
def test_the_computes_of_winograd_are_convolutions(name, data, kernel):
    """Without their schedules, which are for GPUs."""
    x, w = te.placeholder(data), te.placeholder(kernel)
    find_template(name)
    with autotvm.task.ApplyConfig(autotvm.ConfigSpace()):
        out = TASK_TABLE[name].fcompute(x, w, *ONES, "float32")
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(shape).astype("float32") for shape in (data, kernel)]
    result = tvm.nd.array(np.zeros([int(extent) for extent in out.shape], "float32"))
    tvm.build(te.create_schedule(out.op), [x, w, out], "llvm")(*map(tvm.nd.array, given), result)
    if "nhwc" in name:
        given = [given[0].transpose(0, 3, 1, 2), given[1].transpose(3, 2, 0, 1)]
    wanted = conv(*given, *ONES)
    np.testing.assert_allclose(
        result.numpy(), wanted.transpose(0, 2, 3, 1) if "nhwc" in name else wanted, rtol=1e-3, atol=1e-3
    )
