"""Products with weights of 16 bits: they stay as narrow as they are and are widened as they are read, or multiplied in pairs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tessera
from c_runtime import C_RUNTIME
from tessera import relay, topi
from test_gemm import inner_loop

sys.path.insert(0, str(Path(__file__).parents[1] / "checks"))  # also in the processes that the last test starts
from kernel_checks import run

NARROW = {"float16": np.dtype("float16"), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
AVX512, AVX2 = "llvm -mcpu=znver4 -num-cores=1", "llvm -mcpu=haswell -num-cores=1"
ARM = "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76 -num-cores=1"
FEATURES = set(topi.cpu.machine_of("llvm").features)


def values(shape, dtype, seed=0):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(NARROW[dtype])


def layer(x_shape, units, dtype, out_dtype="float32"):
    """relu(x . w^T + b) with constants of 16 bits, the data that goes in, and what float64 makes of both."""
    w, b, data = values((units, x_shape[-1]), dtype, 1), values((units,), dtype, 2), values(x_shape, dtype, 3)
    x = relay.var("x", shape=x_shape, dtype=dtype)
    y = relay.nn.dense(x, relay.const(tessera.nd.array(w)))
    y = relay.nn.relu(y + relay.const(tessera.nd.array(b)))
    want = np.maximum(data.astype("float64") @ w.astype("float64").T + b.astype("float64"), 0)
    return relay.Function([x], relay.cast(y, out_dtype)), data, want


def is_matrix(value):
    return sum(extent > 1 for extent in value.shape) > 1


def weights(function, target="llvm"):
    """Types of the constants that are left when all passes are done, but for those of one row."""
    with tessera.transform.PassContext(opt_level=3):
        mod, _ = relay.optimize(tessera.IRModule.from_expr(function), target)
    found = []

    def visit(expr):
        if isinstance(expr, relay.Constant) and is_matrix(expr.data):
            found.append((expr.data.dtype, tuple(expr.data.shape)))

    relay.analysis.post_order_visit(mod["main"], visit)
    return found


SHAPES = {
    "a vector": ((1, 768), 768),
    "few rows": ((7, 300), 130),
    "odd depth": ((5, 301), 64),
    "odd units": ((20, 64), 77),
    "everything odd": ((13, 131), 33),
    "many rows": ((150, 200), 96),
    "a batch": ((3, 9, 65), 50),
    "long rows": ((4, 5000), 40),
}


@pytest.mark.parametrize("dtype", list(NARROW))
@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("target", ["llvm", AVX2, "llvm -mcpu=x86-64"])
def test_matmuls_are_those_of_the_numbers_as_they_are(shape, dtype, target):
    function, data, want = layer(*SHAPES[shape], dtype)
    got = run(function, [tessera.nd.array(data)], target)
    # Factors are exact in both, a product of them is in float32; what is rounded are sums of float32. k terms of at most 1, each
    # addition off by 2^-24 of a sum that grows like the square root of k: far below k * 2^-24, which holds for any order.
    depth = data.shape[-1]
    assert np.abs(got - want).max() <= depth * 2.0**-24 * max(1, np.abs(want).max())


@pytest.mark.parametrize("dtype", list(NARROW))
def test_weights_take_half_the_memory(dtype):
    function, _, _ = layer((16, 768), 768, dtype)
    assert [kind for kind, _ in weights(function)] == [dtype]
    assert [kind for kind, _ in weights(function, "llvm -mcpu=x86-64")] == ["float32"]  # would be widened slowly


def test_pairs_of_bfloat16_lie_together_where_an_instruction_multiplies_them():
    function, _, _ = layer((16, 769), 768, "bfloat16")
    assert [shape[1:] for _, shape in weights(function, AVX512)] == [(385, 48, 2)]
    assert len(weights(function, AVX2)[0][1]) == 3


def test_float32_data_is_not_rounded_to_the_type_of_the_weight():
    w, data = values((64, 257), "bfloat16"), np.random.RandomState(1).uniform(-1, 1, (8, 257)).astype("float32")
    x = relay.var("x", shape=data.shape)
    y = relay.nn.dense(x, relay.const(tessera.nd.array(w)), out_dtype="float32")
    assert [(kind, len(shape)) for kind, shape in weights(relay.Function([x], y), AVX512)] == [("bfloat16", 3)]
    want = data.astype("float64") @ w.astype("float64").T
    np.testing.assert_allclose(run(relay.Function([x], y), [data]), want, atol=257 * 2.0**-24 * np.abs(want).max())


def test_data_between_layers_is_rounded_where_bfloat16_is_multiplied():
    w, v, data = values((64, 64), "bfloat16", 1), values((64, 64), "bfloat16", 2), values((4, 64), "bfloat16", 3)
    x = relay.var("x", shape=data.shape, dtype="bfloat16")
    y = relay.nn.dense(relay.nn.dense(x, relay.const(tessera.nd.array(w))), relay.const(tessera.nd.array(v)))
    got = run(relay.Function([x], relay.cast(y, "float32")), [tessera.nd.array(data)])
    middle = data.astype("float32") @ w.astype("float32").T
    if not FEATURES & {"avx512bf16", "bf16"}:  # the layers are float32's, and so is what lies between them
        want = middle.astype("float64") @ v.astype("float64").T
        np.testing.assert_allclose(got, want, atol=64 * 2.0**-24 * np.abs(want).max())
        return
    want = middle.astype(NARROW["bfloat16"]).astype("float64") @ v.astype("float64").T
    # a sum next to the middle of two bfloat16 may round the other way: a step of 2^-8 of one of 64 terms
    assert np.abs(got - want).max() <= 2.0**-8 * np.abs(middle).max() * 1.01


@pytest.mark.parametrize("dtype", list(NARROW))
def test_a_table_is_not_widened_as_a_whole(dtype):
    table = values((1000, 64), dtype)
    x = relay.var("x", shape=(5,), dtype="int32")
    y = relay.exp(relay.take(relay.const(tessera.nd.array(table)), x, axis=0))
    function, rows = relay.Function([x], relay.cast(y, "float32")), np.array([0, 999, 7, 7, 500], "int32")
    assert weights(function) == [(dtype, (1000, 64))]
    np.testing.assert_allclose(run(function, [rows]), np.exp(table[rows].astype("float32")), rtol=1e-6)


@pytest.mark.parametrize("dtype", list(NARROW))
def test_the_number_of_rows_may_be_dynamic(dtype):
    w = values((96, 131), dtype, 1)
    x = relay.var("x", shape=(relay.Any(), 131), dtype=dtype)
    y = relay.cast(relay.nn.dense(x, relay.const(tessera.nd.array(w))), "float32")
    with tessera.transform.PassContext(opt_level=3):
        machine = relay.create_executor("vm", tessera.IRModule.from_expr(relay.Function([x], y)), tessera.cpu(), "llvm")
        main = machine.evaluate()
    for rows in (1, 5, 40):
        data = values((rows, 131), dtype, rows)
        want = data.astype("float64") @ w.astype("float64").T
        got = main(tessera.nd.array(data)).numpy()
        np.testing.assert_allclose(got, want, atol=131 * 2.0**-24 * np.abs(want).max())


def test_infinities_and_small_numbers_stay_what_they_are():
    w = np.zeros((64, 256), "float16")
    w[0, :4], w[1, 0], w[2, 0] = [np.inf, 0, 1, 2], np.float16(6e-8), np.nan
    x = relay.var("x", shape=(1, 256), dtype="float16")
    y = relay.cast(relay.nn.dense(x, relay.const(w)), "float32")
    got = run(relay.Function([x], y), [np.ones((1, 256), "float16")])[0]
    assert got[0] == np.inf and got[1] == np.float32(np.float16(6e-8)) and np.isnan(got[2]) and not got[3:].any()


# ---- convolutions -----------------------------------------------------------------------------------------------------

#: Channels in and out, side, kernel, stride, groups; and whether the weight stays narrow (or the type that does).
CONVOLUTIONS = {
    "of a point": (32, 48, 9, 1, 1, 1, True),
    "with steps": (32, 64, 11, 3, 2, 1, True),
    "of odd channels": (15, 32, 7, 3, 1, 1, True),
    "by Winograd": (64, 64, 28, 3, 1, 1, False),
    "in groups": (32, 32, 9, 3, 1, 2, False),
    "of each channel": (32, 32, 9, 3, 1, 32, False),
    "with channels that fill no vector": (16, 20, 9, 3, 1, 1, False),
    "with channels that fill half vectors": (16, 24, 9, 1, 1, 1, "bfloat16"),
}


def convolution(name, dtype):
    ins, outs, side, kernel, stride, groups, _ = CONVOLUTIONS[name]
    w, data = values((outs, ins // groups, kernel, kernel), dtype, 1), values((1, ins, side, side), dtype, 2)
    x = relay.var("x", shape=data.shape, dtype=dtype)
    how = {"strides": (stride, stride), "padding": (kernel // 2, kernel // 2), "groups": groups}
    y = relay.nn.conv2d(x, relay.const(tessera.nd.array(w)), channels=outs, kernel_size=(kernel, kernel), **how)
    padded = np.pad(data.astype("float64"), [(0, 0), (0, 0)] + [(kernel // 2, kernel // 2)] * 2)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), (2, 3))[:, :, ::stride, ::stride]
    each = [
        np.einsum("nchwij,ocij->nohw", part, taps.astype("float64"))
        for part, taps in zip(np.split(windows, groups, 1), np.split(w, groups, 0))
    ]
    return relay.Function([x], relay.cast(y, "float32")), data, np.concatenate(each, 1)


@pytest.mark.parametrize("dtype", list(NARROW))
@pytest.mark.parametrize("name", list(CONVOLUTIONS))
@pytest.mark.parametrize("target", ["llvm", AVX2])
def test_convolutions_are_those_of_the_numbers_as_they_are(name, dtype, target):
    function, data, want = convolution(name, dtype)
    got = run(function, [tessera.nd.array(data)], target)
    terms = np.prod(CONVOLUTIONS[name][0:1] + CONVOLUTIONS[name][3:4] * 2)
    rounding = 1e-4 if name == "by Winograd" else terms * 2.0**-24  # as for matmuls
    assert np.abs(got - want).max() <= rounding * np.abs(want).max()


@pytest.mark.parametrize("dtype", list(NARROW))
@pytest.mark.parametrize("name", list(CONVOLUTIONS))
def test_weights_of_convolutions_stay_narrow_where_vectors_of_them_are_read(name, dtype):
    function, _, _ = convolution(name, dtype)
    assert {kind for kind, _ in weights(function, AVX512)} == {
        dtype if CONVOLUTIONS[name][-1] in (True, dtype) else "float32"
    }


@pytest.mark.parametrize(
    ("target", "dtype", "multiply", "widen", "sums"),
    [
        (AVX512, "float16", "vfmadd231ps", "vcvtph2ps", 20),
        (AVX2, "float16", "vfmadd231ps", "vcvtph2ps", 8),
        (AVX512, "bfloat16", "vdpbf16ps", "", 20),
    ],
)
def test_the_inner_loop_of_a_convolution_is_fmas_and_loads(target, dtype, multiply, widen, sums):
    function, _, _ = convolution("with steps", dtype)
    with tessera.transform.PassContext(opt_level=3):
        library = relay.build(tessera.IRModule.from_expr(function), target)
    loop = inner_loop(library.get_lib().get_source("asm"), multiply)
    found = sum(multiply in line for line in loop)
    assert found >= sums and (not widen or 1 <= sum(widen in line for line in loop) <= found / 4)
    assert not [line for line in loop if "(%rsp" in line]


def test_a_scale_after_a_layer_leaves_its_weight_as_it_is():
    function, data, want = convolution("of a point", "float16")
    scale = values((48, 1, 1), "float16", 5)
    x = function.params[0]
    y = function.body.args[0] * relay.const(scale)
    function = relay.Function([x], relay.cast(y, "float32"))
    assert ("float16", (3, 2, 1, 1, 16, 16)) in weights(function, AVX512)
    got = run(function, [tessera.nd.array(data)])
    np.testing.assert_allclose(got, want * scale.astype("float64"), atol=32 * 2.0**-24 * np.abs(want).max())


# ---- threads ----------------------------------------------------------------------------------------------------------

PROGRAM = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
import test_narrow_weights as mine
import tessera
for dtype in mine.NARROW:
    made = [mine.layer(*shape, dtype) for shape in mine.SHAPES.values()]
    made += [mine.convolution(name, dtype) for name in mine.CONVOLUTIONS]
    for function, data, _ in made:
        print(hashlib.sha256(mine.run(function, [tessera.nd.array(data)]).tobytes()).hexdigest())
"""


def test_another_number_of_threads_gives_the_same_bits():
    seen = []
    for threads in ("1", "2"):
        command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent)]
        env = dict(os.environ, TVM_NUM_THREADS=threads)
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        seen.append(done.stdout.splitlines())
    assert len(seen[0]) == 2 * (len(SHAPES) + len(CONVOLUTIONS))
    assert seen[0] == seen[1]


# ---- machine code -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "dtype", "multiply", "widen", "sums"),
    [
        (AVX512, "float16", "vfmadd231ps", "vcvtph2ps", 24),
        (AVX512, "bfloat16", "vdpbf16ps", "", 24),
        ("llvm -mcpu=skylake-avx512 -num-cores=1", "bfloat16", "vfmadd231ps", "vpslld", 24),
        (AVX2, "float16", "vfmadd231ps", "vcvtph2ps", 8),
        (AVX2, "bfloat16", "vfmadd231ps", "vpslld", 8),
        (ARM, "float16", "fmla", "fcvtl", 20),
        (ARM, "bfloat16", "fmla", "shll", 20),
        (ARM + " -mattr=+bf16", "bfloat16", "bfdot", "", 20),
    ],
)
def test_the_inner_loop_widens_each_vector_of_weights_once(target, dtype, multiply, widen, sums):
    function, _, _ = layer((128, 768), 768, dtype)
    with tessera.transform.PassContext(opt_level=3):
        library = relay.build(tessera.IRModule.from_expr(function), target)
    loop = inner_loop(library.get_lib().get_source("asm"), multiply)
    found = sum(multiply in line for line in loop)
    assert found >= sums
    if widen:
        widened = sum(bool(re.search(widen, line)) for line in loop)
        assert 1 <= widened <= found / 4
    assert not [line for line in loop if re.search(r"\(%rsp|\[sp", line)]
    assert {value.dtype for value in library.get_params().values() if is_matrix(value)} == {dtype}


# ---- NEON, run by an emulator -----------------------------------------------------------------------------------------

DRIVER = (
    C_RUNTIME
    + r"""
int KERNEL(Value*, int*, int, Value*, int*, void*);
int main(void) {
  int64_t shapes[][4] = SHAPES;
  int ranks[] = RANKS, types[] = TYPES, bits[] = BITS;
  Tensor t[COUNT]; Value args[COUNT], ret; int codes[COUNT], code; size_t size = 0;
  for (int i = 0; i < COUNT; ++i) {
    char name[16];
    size = bits[i] / 8;
    for (int d = 0; d < ranks[i]; ++d) size *= shapes[i][d];
    void* data = aligned_alloc(64, (size + 63) / 64 * 64);
    sprintf(name, "%d.bin", i);
    FILE* file = fopen(name, "rb");
    if (file && fread(data, 1, size, file) != size) return 3;
    t[i] = (Tensor){data, {1, 0}, ranks[i], {types[i], bits[i], 1}, shapes[i], 0, 0};
    args[i].p = &t[i], codes[i] = 7;
  }
  if (KERNEL(args, codes, COUNT, &ret, &code, 0)) return 2;
  FILE* file = fopen("out.bin", "wb");
  return fwrite(t[COUNT - 1].data, 1, size, file) == size ? 0 : 4;
}
"""
)


@pytest.mark.skipif(
    not (shutil.which("aarch64-linux-gnu-gcc") and shutil.which("qemu-aarch64")),
    reason="needs aarch64-linux-gnu-gcc and qemu-aarch64",
)
@pytest.mark.parametrize(("dtype", "more"), [("float16", ""), ("bfloat16", ""), ("bfloat16", " -mattr=+bf16")])
def test_neon_gives_the_same_matmuls(dtype, more, tmp_path):
    w, data = values((40, 131), dtype, 1), values((9, 131), dtype, 2)
    in_dtype = "bfloat16" if more else "float32"
    x = relay.var("x", shape=data.shape, dtype=in_dtype)
    y = relay.nn.dense(x, relay.const(tessera.nd.array(w)), out_dtype="float32")
    with tessera.transform.PassContext(opt_level=3):
        library = relay.build(tessera.IRModule.from_expr(relay.Function([x], y)), ARM + more)
    library.get_lib().save(str(tmp_path / "kernel.o"))
    (weight,) = [value.numpy() for value in library.get_params().values()]
    given = data if more else data.astype("float32")
    for i, value in enumerate([given, weight]):
        (tmp_path / f"{i}.bin").write_bytes(value.tobytes())
    shapes = [given.shape, weight.shape, (9, 40)]
    kinds = {"float32": (2, 32), "float16": (2, 16), "bfloat16": (4, 16)}
    types = [kinds[in_dtype], kinds[dtype], kinds["float32"]]

    def listed(items):
        return "{" + ",".join(map(str, items)) + "}"

    defines = {
        "KERNEL": "tvmgen_default_fused_nn_contrib_dense_pack",
        "COUNT": "3",
        "SHAPES": listed(listed(shape) for shape in shapes),
        "RANKS": listed(len(shape) for shape in shapes),
        "TYPES": listed(code for code, _ in types),
        "BITS": listed(bits for _, bits in types),
    }
    (tmp_path / "main.c").write_text("".join(f"#define {k} {v}\n" for k, v in defines.items()) + DRIVER)
    compiler = ["aarch64-linux-gnu-gcc", "-O1", "-static", "main.c", "kernel.o", "-o", "run", "-lm"]
    subprocess.run(compiler, cwd=tmp_path, check=True)
    done = subprocess.run(["qemu-aarch64", "-cpu", "max", "./run"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout, done.stderr)
    got = np.frombuffer((tmp_path / "out.bin").read_bytes(), "float32").reshape(9, 40)
    want = data.astype("float64") @ w.astype("float64").T
    np.testing.assert_allclose(got, want, atol=131 * 2.0**-24 * np.abs(want).max())
