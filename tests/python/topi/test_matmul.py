"""Matmuls whose factors are both inputs: every layout, extent and epilogue, on any number of threads."""

import re
import shutil
import subprocess
from math import erf

import numpy as np
import pytest
import tessera as tvm
from hypothesis import given, settings
from hypothesis import strategies as st
from tessera import relay, te, topi
from tessera._ffi.registry import get_global_func
from tessera.contrib import graph_executor
from test_gemm import ARM, AVX2, AVX512, DRIVER, SSE, inner_loop, runs_here

LAYOUTS = ["nn", "nt", "tn", "tt"]


def random(*shape, dtype="float32", seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


def stored(x, layout):
    return np.ascontiguousarray(x.swapaxes(-1, -2)) if layout == "t" else x


def build(layout, a, b, after=lambda y: y, target="llvm", extra=()):
    """A module of the matmul of a and b, with its inputs set."""
    values = {"a": stored(a, layout[0]), "b": stored(b, layout[1])} | {f"e{i}": e for i, e in enumerate(extra)}
    params = [relay.var(name, shape=x.shape, dtype=str(x.dtype)) for name, x in values.items()]
    multiply = relay.nn.batch_matmul if a.ndim == 3 and b.ndim == 3 else relay.nn.matmul
    y = multiply(params[0], params[1], transpose_a=layout[0] == "t", transpose_b=layout[1] == "t")
    mod = tvm.IRModule.from_expr(relay.Function(params, after(y, *params[2:])))
    with tvm.transform.PassContext(opt_level=3):
        module = graph_executor.GraphModule(relay.build(mod, target)["default"](tvm.cpu()))
    module.set_input(**values)
    return module


def result(module):
    module.run()
    return module.get_output(0).numpy()


def close(got, want, dtype="float32"):
    scale = max(np.abs(want).max(), 1e-30)
    np.testing.assert_allclose(got / scale, want / scale, atol=3e-6 if dtype == "float32" else 1e-14)


def product(a, b):
    return a.astype("float64") @ b.astype("float64")


# ---- any extents ------------------------------------------------------------------------------------------------------

EXTENTS = [
    (1, 1, 1), (1, 1, 70), (1, 100, 33), (100, 1, 33), (3, 77, 300), (14, 32, 16), (15, 33, 17), (97, 97, 97),
    (130, 210, 1100), (200, 4, 100), (8, 8, 1000), (300, 305, 310), (29, 16, 1024), (4, 500, 7), (5, 17, 2500),
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_matmuls_of_every_layout_agree_with_numpy(layout):
    for m, n, k in EXTENTS:
        a, b = random(m, k), random(k, n)
        close(result(build(layout, a, b)), product(a, b))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.sampled_from(LAYOUTS),
    st.sampled_from(["llvm", AVX2, SSE, "llvm -num-cores=3"]),
    st.sampled_from(["float32", "float64"]),
    st.integers(1, 3),
    st.integers(1, 150),
    st.integers(1, 150),
    st.integers(1, 150),
)
def test_random_matmuls_agree_with_numpy(layout, target, dtype, batch, m, n, k):
    if not runs_here(target):
        return
    lead = (batch,) if batch > 1 else ()
    a, b = random(*lead, m, k, dtype=dtype), random(*lead, k, n, dtype=dtype)
    close(result(build(layout, a, b, target=target)), product(a, b), dtype)


@pytest.mark.parametrize("layout", ["nn", "nt"])
@pytest.mark.parametrize("batches", [(6, 6), (6, 1), (1, 6)])
def test_one_matrix_may_serve_a_whole_batch(layout, batches):
    a, b = random(batches[0], 40, 50), random(batches[1], 50, 70)
    close(result(build(layout, a, b)), product(a, b))


@pytest.mark.parametrize("shape", [(5, 7, 40), (2, 3, 4, 40), (50, 1, 40), (40,)])
def test_rows_may_have_several_axes(shape):
    a, b = random(*shape), random(40, 33)
    close(result(build("nn", a, b)), product(a, b))
    close(result(build("nt", a, b)), product(a, b))


# ---- what follows ------------------------------------------------------------------------------------------------------

# a short and a long k, whose partial sums go through memory, and one by dot products
KINDS = {"at once": ("nn", 50, 77, 60), "in steps": ("nn", 50, 77, 1500), "transposed": ("nt", 64, 65, 48), "dots": ("nt", 3, 65, 200)}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_bias_activation_and_residual_follow_in_the_same_loops(kind):
    layout, m, n, k = KINDS[kind]
    a, b, bias, rest = random(m, k), random(k, n), random(n), random(m, n, seed=1)
    module = build(
        layout, a, b, lambda y, bias, rest: relay.nn.relu(relay.nn.bias_add(y, bias) + rest), extra=(bias, rest)
    )
    close(result(module), np.maximum(product(a, b) + bias + rest, 0))


@pytest.mark.parametrize("kind", KINDS)
def test_functions_of_an_element_follow_in_the_same_loops(kind):
    layout, m, n, k = KINDS[kind]
    a, b, bias = random(m, k), random(k, n), random(n)

    def gelu(y, bias):
        y = relay.add(y, bias)
        return y * relay.const(0.5) * (relay.const(1.0) + relay.erf(y * relay.const(0.70710678)))

    want = product(a, b) + bias
    close(result(build(layout, a, b, gelu, extra=(bias,))), want * 0.5 * (1 + np.vectorize(erf)(want * 0.70710678)))


def test_a_matmul_is_not_written_to_memory_before_its_epilogue():
    a, b = te.placeholder((50, 60), name="a"), te.placeholder((60, 77), name="b")
    out = topi.nn.relu(topi.nn.matmul(a, b))
    rule = get_global_func("topi.cpu.schedule_default")
    text = str(tvm.lower(rule(te.create_prim_func([a, b, out]), tvm.target.Target("llvm"))))
    assert str(50 * 77) not in "".join(line for line in text.splitlines() if "allocate" in line)


def test_a_result_that_is_used_twice_is_stored():
    a, b = random(30, 40), random(40, 50)
    module = build("nn", a, b, lambda y: relay.Tuple([y, relay.nn.relu(y)]))
    close(result(module), product(a, b))
    close(module.get_output(1).numpy(), np.maximum(product(a, b), 0))


def test_a_concatenation_takes_more_than_the_matmul():
    """The first element of the concatenation is one of the matmul; the others are not."""
    a, b, other = random(1, 3), random(3, 5), random(3, 5, seed=1)
    params = [relay.var(name, shape=x.shape) for name, x in (("a", a), ("b", b), ("other", other))]
    whole = relay.concatenate([relay.einsum(params[:2], "mk,kn->mn"), params[2]], axis=0)
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(tvm.IRModule.from_expr(relay.Function(params, whole)), "llvm")
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.set_input(a=a, b=b, other=other)
    close(result(module), np.concatenate([product(a, b), other]))


# ---- several reductions under one consumer -------------------------------------------------------------------------------


def by_default_rule(tensors, arrays):
    """What the rule's program of these inputs and one output computes."""
    target = tvm.target.Target("llvm")
    function = get_global_func("topi.cpu.schedule_default")(te.create_prim_func(tensors), target)
    shape = [int(extent) for extent in tensors[-1].shape]
    out = tvm.nd.array(np.full(shape, np.nan, "float32"))
    tvm.build(function, target=target)(*[tvm.nd.array(x) for x in arrays], out)
    return out.numpy()


def matrices(*names, shape=(48, 48)):
    return [te.placeholder(shape, name=name) for name in names]


def added(tensors):
    return te.compute(tensors[0].shape, lambda i, j: sum((t[i, j] for t in tensors[1:]), tensors[0][i, j]), "added")


@pytest.mark.parametrize("count", [2, 3])
def test_a_consumer_of_several_contractions_sees_them_all(count):
    names = [f"{side}{i}" for i in range(count) for side in "ab"]
    inputs, arrays = matrices(*names), [random(48, 48, seed=i) for i in range(2 * count)]
    total = added([topi.nn.matmul(a, b) for a, b in zip(inputs[::2], inputs[1::2], strict=True)])
    want = sum(product(a, b) for a, b in zip(arrays[::2], arrays[1::2], strict=True))
    close(by_default_rule([*inputs, total], arrays), want)


@pytest.mark.parametrize("contraction_first", [True, False])
def test_a_consumer_of_a_contraction_and_another_reduction_sees_both(contraction_first):
    a, b = matrices("a", "b")
    x = te.placeholder((48, 48, 20), name="x")
    terms = [topi.nn.matmul(a, b), topi.sum(x, axis=2)]
    total = added(terms if contraction_first else terms[::-1])
    arrays = [random(48, 48), random(48, 48, seed=1), random(48, 48, 20, seed=2)]
    close(by_default_rule([a, b, x, total], arrays), product(*arrays[:2]) + arrays[2].sum(2))


def test_a_pool_reads_the_epilogue_of_a_contraction_that_was_stored():
    """The epilogue is not the pool's to compute again: what it reads went into the nest of the contraction."""
    a, b = matrices("a", "b")
    sigmoid = topi.sigmoid(topi.nn.matmul(a, b))
    i, j = te.reduce_axis((0, 3), name="i"), te.reduce_axis((0, 3), name="j")
    pool = te.compute((46, 46), lambda y, x: te.max(sigmoid[y + i, x + j], axis=[i, j]), "pool")
    arrays = [random(48, 48), random(48, 48, seed=1)]
    elements = 1 / (1 + np.exp(-product(*arrays)))
    windows = np.lib.stride_tricks.sliding_window_view(elements, (3, 3))
    close(by_default_rule([a, b, pool], arrays), windows.max(axis=(2, 3)))


# ---- threads -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("extents", [(200, 300, 150), (1, 900, 600), (900, 1, 600), (70, 80, 1300), (6, 500, 300)])
def test_results_are_the_same_bits_on_any_number_of_threads(layout, extents):
    m, n, k = extents
    a, b = random(m, k), random(k, n)
    set_threads = get_global_func("runtime.config_threadpool")
    seen = []
    for cores in (1, 2, 5, 16):  # that the code is made for
        module = build(layout, a, b, target=f"llvm -num-cores={cores}")
        for threads in (1, 2):  # that run it
            set_threads(1, threads)
            seen.append(result(module))
    set_threads(1, 0)
    assert all(np.array_equal(seen[0], other) for other in seen)


# ---- machine code -----------------------------------------------------------------------------------------------------


def scheduled(layout, m, n, k, target):
    """The function of (a, b, c) as the rule for this target makes it."""
    a = te.placeholder((k, m) if layout[0] == "t" else (m, k), name="a")
    b = te.placeholder((n, k) if layout[1] == "t" else (k, n), name="b")
    c = topi.nn.matmul(a, b, transpose_a=layout[0] == "t", transpose_b=layout[1] == "t")
    rule = get_global_func("topi.cpu.schedule_default")
    return rule(te.create_prim_func([a, b, c]), tvm.target.Target(target))


@pytest.mark.parametrize(
    ("target", "instruction", "sums", "loads", "spill"),
    [
        (AVX512, "vfmadd231ps", 26, 16, r"\(%rsp|\(%rbp"),
        (AVX2, "vfmadd231ps", 12, 8, r"\(%rsp|\(%rbp"),
        (ARM, "fmla", 21, 16, r"\[sp"),
    ],
)
@pytest.mark.parametrize("layout", ["nn", "nt"])
def test_the_inner_loop_is_multiply_adds_and_loads_only(target, instruction, sums, loads, spill, layout):
    built = tvm.build(scheduled(layout, 1024, 1024, 1024, target), target=target)
    loop = inner_loop(built.get_source("asm"), instruction)
    found = sum(instruction in line for line in loop)
    assert found >= sums
    assert not [line for line in loop if re.search(spill, line)]
    assert len(loop) <= found + loads + 6


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("extents", [(17, 19, 23), (3, 37, 41), (150, 45, 1100)])
def test_what_lies_around_the_matrices_is_neither_read_nor_written(layout, extents):
    m, n, k = extents
    shapes = [(k, m) if layout[0] == "t" else (m, k), (n, k) if layout[1] == "t" else (k, n), (m, n)]
    whole = [np.full(x * y + 64, np.nan, "float32") for x, y in shapes]
    a, b, c = (x[32:-32].reshape(shape) for x, shape in zip(whole, shapes))
    a[:], b[:] = random(*a.shape), random(*b.shape)
    tvm.build(scheduled(layout, m, n, k, "llvm"), target="llvm")(*(tvm.nd.from_dlpack(x) for x in (a, b, c)))
    close(c, product(stored(a, layout[0]), stored(b, layout[1])))
    assert np.isnan(whole[2][:32]).all() and np.isnan(whole[2][-32:]).all()


@pytest.mark.skipif(
    not (shutil.which("aarch64-linux-gnu-gcc") and shutil.which("qemu-aarch64")),
    reason="needs aarch64-linux-gnu-gcc and qemu-aarch64",
)
@pytest.mark.parametrize("layout", ["nn", "nt"])
def test_neon_is_right_to_the_last_bit_of_small_integers(layout, tmp_path):
    driver = DRIVER if layout == "nn" else DRIVER.replace("b[k * N + j]", "b[j * K + k]").replace("{K, N}", "{N, K}")
    (tmp_path / "main.c").write_text(driver)
    for m, n, k in [(1, 1, 1), (33, 41, 57), (100, 7, 130), (3, 50, 70), (20, 30, 1200)]:
        function = scheduled(layout, m, n, k, ARM).with_attr("global_symbol", "gemm")
        tvm.build(function, target=ARM, name="gemm").save(str(tmp_path / "gemm.o"))
        sizes = [f"-DM={m}", f"-DN={n}", f"-DK={k}"]
        compiler = ["aarch64-linux-gnu-gcc", "-O1", "-static", *sizes, "main.c", "gemm.o", "-o", "run", "-lm"]
        subprocess.run(compiler, cwd=tmp_path, check=True)
        done = subprocess.run(["qemu-aarch64", "./run"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (m, n, k, done.stdout, done.stderr)
