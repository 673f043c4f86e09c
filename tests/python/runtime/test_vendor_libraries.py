"""Kernels of cuBLASLt and cuDNN: what rows of the kernel table give to them, and what is called, with a driver and libraries that pretend to
be there (tests/fake_cuda). Answers of the real ones are in tests/python/topi/gpu/test_gpu_vendor.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tessera as tvm
from tessera import relay

FAKES = Path(__file__).parents[2] / "fake_cuda"
BEGIN = """
import numpy as np
import tessera as tvm
from tessera import relay, te
from tessera.contrib import cublas, cublaslt, cudnn, graph_executor

def random(*shape):
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype("float32")

def tensors(*arrays):
    return [tvm.nd.array(array, tvm.cuda(0)) for array in arrays]

def call(name, *args):
    return tvm.get_global_func(name)(*args)

def var(name, *shape, dtype="float32"):
    return relay.var(name, relay.TensorType(shape, dtype))

def run(body, target, **inputs):
    with tvm.transform.PassContext(opt_level=3):
        mod = body if isinstance(body, tvm.IRModule) else tvm.IRModule.from_expr(
            relay.Function(relay.analysis.free_vars(body), body))
        lib = relay.build(mod, tvm.target.Target(target, host="llvm"))
    module = graph_executor.GraphModule(lib["default"](tvm.cuda(0)))
    module.run(**inputs)
    return module.get_output(0).numpy()

def convolved(x, w, stride=1, padding=0):
    x = np.pad(x, [(0, 0), (0, 0), (padding,) * 2, (padding,) * 2])
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwpq,ocpq->nohw", windows, w)
"""


@pytest.fixture(scope="module")
def fakes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fake_cuda")
    for source, name in [
        ("libcuda.c", "driver/libcuda.so.1"),
        ("libcublasLt.c", "libraries/libcublasLt.so.13"),
        ("libcudnn.c", "libraries/libcudnn.so.9"),
    ]:
        (folder / name).parent.mkdir(exist_ok=True)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", folder / name, FAKES / source], check=True)
    return folder


def in_process(fakes, text, fail="", libraries=True):
    """What a program prints, and the lines that libraries wrote."""
    log = fakes / "log"
    log.unlink(missing_ok=True)
    environment = {**os.environ, "FAKE_CUDA_LOG": str(log), "FAKE_CUDA_FAIL": fail}
    folder = fakes / ("libraries" if libraries else "driver")
    environment.update(LD_LIBRARY_PATH=str(fakes / "driver"), TESSERA_CUDA_LIBRARIES=str(folder))
    done = subprocess.run([sys.executable, "-c", BEGIN + text], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout, log.read_text().splitlines() if log.exists() else []


def test_matmuls_of_v0_10_by_cublaslt(fakes):
    _, log = in_process(
        fakes,
        """
for name in ("cublas.matmul", "cublaslt.matmul", "cublas.batch_matmul"):
    for trans_a in (False, True):
        for trans_b in (False, True):
            lead = (3,) if "batch" in name else ()
            x, y = random(*lead, 5, 7), random(*lead, 7, 4)
            a, b, out = tensors(np.swapaxes(x, -1, -2).copy() if trans_a else x,
                                np.swapaxes(y, -1, -2).copy() if trans_b else y, np.zeros((*lead, 5, 4), "float32"))
            call("tvm.contrib." + name, a, b, out, trans_a, trans_b)
            np.testing.assert_allclose(out.numpy(), x @ y, rtol=1e-5, atol=1e-5)
""",
    )
    assert log[0] == "matmul m=4 n=5 k=7 batch=1 compute=68 epilogue=1 workspace=1000 given"
    assert log[-1].startswith("matmul m=4 n=5 k=7 batch=3 ")


def test_convolutions_of_v0_10_by_cudnn(fakes):
    _, log = in_process(
        fakes,
        """
x, w, b = random(2, 4, 9, 8), random(6, 4, 3, 3), random(6)
wanted = convolved(x, w, 2, 1)
placed = te.placeholder(x.shape), te.placeholder(w.shape)
y = cudnn.conv_forward(*placed, [1, 1], [2, 2], [1, 1], 1, 0, 1, None)
function = tvm.build(te.create_schedule(y.op), [*placed, y], tvm.target.Target("cuda -arch=sm_80", host="llvm"))
given = tensors(x, w, np.zeros(wanted.shape, "float32"))
function(*given)
np.testing.assert_allclose(given[2].numpy(), wanted, rtol=1e-4, atol=1e-5)
given = tensors(x, w, b, np.zeros(wanted.shape, "float32"))
call("tvm.contrib.cudnn.conv2d+bias+act.forward", 1, 0, -1, 1, 1, 2, 2, 1, 1, 1, 0.0, *given, "float32", 1)
np.testing.assert_allclose(given[3].numpy(), np.maximum(wanted + b[:, None, None], 0), rtol=1e-4, atol=1e-5)
shapes = x.shape, w.shape, wanted.shape
assert cudnn.conv_forward_find_algo(0, 1, 2, 1, *shapes, "float32", "float32") == 7
assert cudnn.exists()
""",
    )
    # float32 stays float32: the algorithm that cuDNN guesses first multiplies by matrix units
    assert log == [
        "convolution algorithm=1 math=3 groups=1 given",
        "convolution+bias algorithm=7 math=3 groups=1 given",
    ]


def test_rows_of_the_table_give_contractions_with_their_epilogues(fakes):
    """Each kernel is the library's alone, since kernels of our own do nothing here."""
    _, log = in_process(
        fakes,
        """
x, w, b = random(512, 512), random(1024, 512), random(1024)
dense = relay.nn.bias_add(relay.nn.dense(var("x", 512, 512), var("w", 1024, 512)), var("b", 1024))
target = "cuda -arch=sm_80 -libs=cublas,cudnn"
np.testing.assert_allclose(run(relay.nn.relu(dense), target, x=x, w=w, b=b), np.maximum(x @ w.T + b, 0), rtol=1e-3, atol=1e-3)
x, w, b = random(2, 64, 14, 14), random(64, 32, 3, 3), random(64)  # in two groups, for which there are no tiles
whole = np.zeros((64, 64, 3, 3), "float32")
whole[:32, :32], whole[32:, 32:] = w[:32], w[32:]
data = var("x", *x.shape)
conv = relay.nn.conv2d(data, var("w", *w.shape), padding=(1, 1), groups=2)
body = relay.nn.relu(relay.add(relay.nn.bias_add(conv, var("b", 64)), data))
sums = convolved(x, whole, 1, 1) + b[:, None, None]
wanted = np.maximum(sums + x, 0)
np.testing.assert_allclose(run(body, target, x=x, w=w, b=b), wanted, rtol=1e-3, atol=1e-3)
last = [np.moveaxis(each, 1, -1).copy() for each in (x, w)]
conv = relay.nn.conv2d(var("x", *last[0].shape), var("w", *last[1].shape), padding=(1, 1), groups=2,
                       data_layout="NHWC", kernel_layout="OHWI")
out = run(relay.nn.relu(relay.nn.bias_add(conv, var("b", 64), 3)), target, x=last[0], w=last[1], b=b)
np.testing.assert_allclose(np.moveaxis(out, -1, 1), np.maximum(sums, 0), rtol=1e-3, atol=1e-3)
""",
    )
    assert log == [
        "matmul m=1024 n=512 k=512 batch=1 compute=68 epilogue=6 workspace=1000 given",
        "convolution+residual+bias algorithm=1 math=3 groups=2 given",
        "convolution+bias algorithm=1 math=3 groups=2 given",
    ]


def test_what_a_partition_gave_to_a_library_is_its(fakes):
    _, log = in_process(
        fakes,
        """
from tessera.relay.op import contrib
x, w, k, b = random(1, 4, 6, 6), random(8, 4, 3, 3), random(5, 288), random(8)
conv = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(var("x", *x.shape), relay.const(w), padding=(1, 1)), relay.const(b)))
body = relay.nn.dense(relay.nn.batch_flatten(conv), relay.const(k))
mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
mod = contrib.partition_for_cublas(contrib.partition_for_cudnn(mod))
wanted = np.maximum(convolved(x, w, 1, 1) + b[:, None, None], 0).reshape(1, -1) @ k.T
np.testing.assert_allclose(run(mod, "cuda -arch=sm_80", x=x), wanted, rtol=1e-3, atol=1e-3)
x, y = random(2, 6, 8), random(2, 5, 8)
body = relay.nn.batch_matmul(var("x", 2, 6, 8), var("y", 2, 5, 8))
mod = contrib.partition_for_cublas(tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body)))
np.testing.assert_allclose(run(mod, "cuda -arch=sm_80", x=x, y=y), x @ y.swapaxes(1, 2), rtol=1e-3, atol=1e-3)
x, w = random(1, 4, 6, 6), random(8, 2, 3, 3)
conv = relay.nn.conv2d(var("x", *x.shape), relay.const(w), padding=(1, 1), groups=2, out_dtype="float32")
mod = contrib.partition_for_cudnn(tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(conv), conv)))
halves = [convolved(x[:, i:i + 2], w[2 * i:2 * i + 4], 1, 1) for i in (0, 2)]
np.testing.assert_allclose(run(mod, "cuda -arch=sm_80", x=x), np.concatenate(halves, 1), rtol=1e-3, atol=1e-3)
""",
    )
    assert [line.split()[0] for line in log] == ["convolution+bias", "matmul", "matmul", "convolution"]


def test_a_partition_that_is_used_as_a_value_is_kept(fakes):
    _, log = in_process(
        fakes,
        """
from tessera.relay.op import contrib
x, y = random(6, 8), random(5, 8)
body = relay.nn.dense(var("x", 6, 8), var("y", 5, 8))
mod = contrib.partition_for_cublas(tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body)))
(partition,) = (name for name in mod.get_global_vars() if name.name_hint != "main")
layer, (a, b) = relay.var("layer"), mod["main"].params
mod["main"] = relay.Function([a, b], relay.Let(layer, partition, relay.Call(layer, [a, b])))
np.testing.assert_allclose(run(mod, "cuda -arch=sm_80", x=x, y=y), x @ y.T, rtol=1e-3, atol=1e-3)
""",
    )
    assert [line.split()[0] for line in log] == ["matmul"]


@pytest.mark.parametrize(
    "fail, wanted",
    [
        ("matmul", "cuBLASLt: a matmul failed: CUBLAS_STATUS_INTERNAL_ERROR"),
        ("memory", "CUDA: allocating 4194304 bytes on cuda(0) failed with CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
    ],
)
def test_what_fails_says_what_it_was_and_leaves_the_host_as_it_was(fakes, fail, wanted):
    out, _ = in_process(
        fakes,
        """
import os
a, b, out = tensors(np.ones((4, 4), "float32"), np.ones((4, 4), "float32"), np.zeros((4, 4), "float32"))
try:
    tvm.nd.empty((1024, 1024), "float32", tvm.cuda(0))
    call("tvm.contrib.cublas.matmul", a, b, out, False, False)
except tvm.error.TVMError as error:
    print(error)
del os.environ["FAKE_CUDA_FAIL"]
import ctypes
ctypes.CDLL(None).unsetenv(b"FAKE_CUDA_FAIL")
call("tvm.contrib.cublas.matmul", a, b, out, False, False)
assert (out.numpy() == 4).all()
assert tvm.nd.empty((1024, 1024), "float32", tvm.cuda(0)).shape == (1024, 1024)
""",
        fail=fail,
    )
    assert wanted in out


FAILING = """
import ctypes, os
x = np.arange(8, dtype="float32") - 4
kept = x.copy()
on_device = tvm.nd.array(x, tvm.cuda(0))
def attempt(target):
    try:
        run(relay.nn.relu(var("x", 8)), target, x=on_device)
    except tvm.error.TVMError as error:
        print(error)
attempt(TARGET)
os.environ.pop("FAKE_CUDA_FAIL", None)
ctypes.CDLL(None).unsetenv(b"FAKE_CUDA_FAIL")
run(relay.nn.relu(var("x", 8)), "cuda -arch=sm_80", x=on_device)  # the device goes on, and the host has what it had
np.testing.assert_array_equal(on_device.numpy(), kept)
np.testing.assert_array_equal(x, kept)
"""


@pytest.mark.parametrize(
    "fail, kernels_for, wanted",
    [
        (
            "launch",
            "cuda -arch=sm_80",
            "CUDA: launching tvmgen_default_fused_nn_relu_kernel0 over 1x1x1 blocks of 8x1x1 threads",
        ),
        ("load", "cuda -arch=sm_80", "CUDA: loading kernels"),
        ("", "cuda -arch=sm_120", "the kernels are for sm_120, and cuda(0) is sm_"),
    ],
)
def test_a_kernel_that_does_not_start_says_why_and_the_device_goes_on(fakes, fail, kernels_for, wanted):
    out, _ = in_process(fakes, FAILING.replace("TARGET", repr(kernels_for)), fail=fail)
    assert wanted in out


def test_without_a_driver_there_is_no_device():
    program = """
assert not tvm.cuda(0).exist
for act in (lambda: tvm.nd.empty((4,), "float32", tvm.cuda(0)),
            lambda: run(relay.nn.relu(var("x", 8)), "cuda -arch=sm_80", x=np.ones(8, "float32"))):
    try:
        act()
    except tvm.error.TVMError as error:
        print(str(error).splitlines()[0])
"""
    if tvm.cuda(0).exist:
        pytest.skip("this machine has a device")
    done = subprocess.run([sys.executable, "-c", BEGIN + program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = done.stdout.splitlines()
    assert len(lines) == 2 and all("CUDA" in line and "driver" in line for line in lines), lines


def test_arguments_that_do_not_fit_are_errors(fakes):
    out, _ = in_process(
        fakes,
        """
def says(name, *args):
    try:
        call(name, *args)
    except Exception as error:
        print(str(error).splitlines()[0])
a, b, c = tensors(random(4, 5), random(6, 7), random(4, 7))
says("tvm.contrib.cublas.matmul", a, b, c, False, False)
says("tvm.contrib.cublas.matmul", a, tvm.nd.array(random(5, 7)), c, False, False)
says("tvm.contrib.cublas.matmul", a, b)
says("tvm.contrib.cudnn.conv2d.forward", 1, 0, -1, 0, 0, 1, 1, 1, 1, *tensors(random(1, 3, 5, 5), random(2, 4, 3, 3), random(1, 2, 3, 3)), "float32", 1)
says("tvm.contrib.cudnn.softmax.forward", a, c, 1)
says("tessera.cublaslt.matmul", a, b, c)
""",
    )
    lines = out.splitlines()
    assert "do not multiply to" in lines[0] and "cuBLASLt takes row-major tensors on a CUDA device" in lines[1]
    assert "a matmul takes (a, b, out, transa, transb), not 2" in lines[2] and "in 1 groups is not" in lines[3]
    assert "along axis 1 is not" in lines[4] and "takes 8 arguments, or 9 with a bias, not 3" in lines[5]


def test_a_library_that_is_not_there_says_so(fakes):
    out, _ = in_process(
        fakes,
        """
def says(name, *args):
    try:
        call(name, *args)
    except Exception as error:
        print(str(error).splitlines()[0])
a, b, c = tensors(random(4, 4), random(4, 4), random(4, 4))
says("tvm.contrib.cublas.matmul", a, b, c, False, False)
says("tvm.contrib.cudnn.softmax.forward", a, c, 1)
print(cudnn.exists())
""",
        libraries=False,
    )
    lines = out.splitlines()
    assert "cuBLASLt is not there (libcublasLt.so.13 or .12): install the CUDA toolkit, name the folder" in lines[0]
    assert "cuDNN is not there (libcudnn.so.9 or .8)" in lines[1] and lines[2] == "False"


# ---- planning, which needs nothing of CUDA -----------------------------------------------------------------------------


def rules(body, target):
    function = relay.Function(relay.analysis.free_vars(body), body)
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(tvm.IRModule.from_expr(function), tvm.target.Target(target, host="llvm"))
    programs = [p for info in lib.function_metadata.values() for p in info.tir_primfuncs.values()]
    return sorted(str(program.attrs["tessera.schedule_rule"]) for program in programs)


def var(name, *shape, dtype="float32"):
    return relay.var(name, relay.TensorType(shape, dtype))


def test_what_is_cheaper_is_chosen():
    full = relay.nn.dense(var("x", 4096, 4096), var("w", 4096, 4096))
    assert rules(full, "cuda -arch=sm_90a -libs=cublas") == ["cublaslt"]
    assert rules(full, "cuda -arch=sm_90a -libs=cudnn") == rules(full, "cuda -arch=sm_90a") == ["gemm"]
    half = relay.nn.dense(var("x", 4096, 4096, dtype="float16"), var("w", 4096, 4096, dtype="float16"))
    assert rules(half, "cuda -arch=sm_90a -libs=cublas") == ["cublaslt"]
    assert rules(relay.tanh(half), "cuda -arch=sm_90a -libs=cublas") == ["gemm_wgmma"]  # the epilogue costs more


@pytest.mark.parametrize(
    "size, stride, groups, channels, wanted",
    [
        (3, 1, 1, 64, "cudnn"),  # Winograd's
        (3, 1, 1, 16, "gemm"),
        (3, 2, 1, 64, "gemm"),
        (1, 1, 1, 64, "gemm"),
        (3, 1, 2, 64, "cudnn"),  # we have no tiles for groups
        (3, 1, 64, 64, "reduction_in_registers"),  # depthwise convolutions are faster here
    ],
)
def test_float32_convolutions_by_cudnn(size, stride, groups, channels, wanted):
    x, w = var("x", 64, channels, 56, 56), var("w", channels, channels // groups, size, size)
    body = relay.nn.conv2d(x, w, padding=(size // 2,) * 2, strides=(stride, stride), groups=groups)
    assert rules(body, "cuda -arch=sm_90a -libs=cublas,cudnn") == [wanted]


def test_few_images_are_not_worth_the_transformations_of_winograd():
    x, w = var("x", 1, 64, 56, 56), var("w", 64, 64, 3, 3)
    assert rules(relay.nn.conv2d(x, w, padding=(1, 1)), "cuda -arch=sm_90a -libs=cudnn") == ["gemm"]


def test_what_libraries_have_no_epilogue_for_is_a_kernel_behind_them():
    body = relay.tanh(relay.nn.dense(var("x", 4096, 4096), var("w", 4096, 4096)))
    assert rules(body, "cuda -arch=sm_90a -libs=cublas") == ["cublaslt, threads"]


def test_dynamic_extents_are_never_a_librarys():
    body = relay.nn.dense(relay.var("x", relay.TensorType((relay.Any(), 512), "float32")), var("w", 512, 512))
    function = relay.Function(relay.analysis.free_vars(body), body)
    with tvm.transform.PassContext(opt_level=3):
        relay.vm.compile(
            tvm.IRModule.from_expr(function), tvm.target.Target("cuda -arch=sm_80 -libs=cublas", host="llvm")
        )
