"""Micro-kernels, the machine by which they are chosen, and the schedules of examples/gemm.py."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tessera
from c_runtime import C_RUNTIME
from tessera import te, tir, topi

ROOT = Path(__file__).resolve().parents[3]
AVX512, AVX2, SSE = "llvm -mcpu=znver4", "llvm -mcpu=haswell", "llvm -mcpu=x86-64"
ANY_ARM = "llvm -mtriple=aarch64-linux-gnu"
ARM, SVE256, SVE512 = (f"{ANY_ARM} -mcpu={cpu}" for cpu in ("cortex-a72", "neoverse-v1", "a64fx"))


def example():
    spec = importlib.util.spec_from_file_location("gemm_example", ROOT / "examples" / "gemm.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gemm = example()


def runs_here(target):
    """Whether this CPU has all the instructions of the target's."""
    features = topi.cpu.machine_of("llvm").features
    return set(topi.cpu.machine_of(target).features) & {"avx512f", "avx2", "fma"} <= set(features)


# ---- the machine -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "isa", "bytes_", "registers", "l2"),
    [
        (AVX512, "avx512", 64, 32, None),
        ("llvm -mcpu=skylake-avx512", "avx512", 64, 32, 1 << 20),
        (AVX2, "avx2", 32, 16, 256 << 10),
        (SSE, "sse", 16, 16, 256 << 10),
        (ARM, "neon", 16, 32, 1 << 20),
        (SVE256, "sve256", 32, 32, 1 << 20),
        (SVE512, "sve512", 64, 32, None),
        (ANY_ARM + " -mcpu=neoverse-v2", "neon", 16, 32, None),  # vectors of SVE are no longer there
        (ANY_ARM + " -mattr=+sve", "neon", 16, 32, None),  # of unknown length
        (ANY_ARM + " -mattr=+sve -vector-width=1024", "sve1024", 128, 32, None),
        ("llvm -mtriple=riscv64-linux-gnu", "generic", 16, 16, 256 << 10),
    ],
)
def test_a_target_tells_the_vectors_and_caches_of_its_cpu(target, isa, bytes_, registers, l2):
    machine = topi.cpu.machine_of(target)
    assert (machine.isa, machine.vector_bytes, machine.vector_registers) == (isa, bytes_, registers)
    assert l2 is None or machine.l2_bytes == l2


def test_the_number_of_cores_of_a_target_counts_before_that_of_this_machine():
    assert topi.cpu.machine_of("llvm -num-cores=12").cores == 12
    assert topi.cpu.machine_of("llvm").cores >= 1


def test_a_gpu_is_no_machine_of_this_kind():
    with pytest.raises(ValueError, match="its kind is cuda, not llvm"):
        topi.cpu.machine_of("cuda -arch=sm_80")


# ---- tiles -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [AVX512, AVX2, SSE, ARM, SVE256, SVE512])
@pytest.mark.parametrize("threads", [1, 2, 5, 64])
def test_tiles_fit_registers_and_caches_and_parts_cover_the_product(target, threads):
    machine = topi.cpu.machine_of(target)
    lanes = machine.vector_bytes // 4
    for m, n, k in [
        (2048, 2048, 2048),
        (1, 1, 1),
        (7, 5, 3),
        (3000, 17, 40),
        (17, 3000, 999),
        (1, 4096, 4096),
        (129, 1, 7),
    ]:
        t = topi.cpu.gemm_tiles(machine, m, n, k, threads=threads)
        vectors = t.nr // lanes
        assert t.nr % lanes == 0 and t.mr * vectors + vectors + 2 <= machine.vector_registers
        assert t.mc % t.mr == t.part_m % t.mc == t.nc % t.nr == t.part_n % t.nc == 0
        assert t.threads_m * t.threads_n <= threads
        assert t.part_m * t.threads_m >= m and t.part_n * t.threads_n >= n
        assert t.kc * t.nr * 4 <= machine.l1_bytes
        assert t.mc * (t.nc + t.kc) * 4 <= machine.l2_bytes or t.nc == t.nr
        assert -(-k // t.kc) * t.kc <= k * 1.05 + 4


def test_a_matmul_without_elements_has_no_tiles():
    with pytest.raises(ValueError, match="2x0x4 has no tiles"):
        topi.cpu.gemm_tiles(topi.cpu.machine_of("llvm"), 2, 0, 4)


# ---- kernels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("avx512", "float32", 14, 30, 64), "nr has to be a multiple of the 16 lanes of avx512"),
        (("avx2", "float32", 8, 16, 64), "needs 20 vector registers, avx2 has 16"),
        (
            ("mmx", "float32", 4, 4, 4),
            'no instruction set "mmx"; there are avx512, avx2, sse, neon, sve256, sve512, sve1024, sve2048, generic, neon-sdot, '
            "sve256-sdot, sve512-sdot, sve1024-sdot, sve2048-sdot",
        ),
        (("avx2", "int16", 4, 8, 4), "no micro-kernel of avx2 multiplies int16; there are those of float32, float64"),
    ],
)
def test_a_kernel_that_cannot_be_says_why(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        topi.cpu.micro_kernel(*arguments)


def inner_loop(assembly, instruction):
    """The instructions of the innermost loop that holds the most of `instruction`."""
    best = []
    for block in re.split(r"^\.LBB\w+:", assembly, flags=re.M):
        lines = [
            line.strip() for line in block.split("\n") if line.startswith("\t") and not line.strip().startswith(".")
        ]
        if sum(instruction in line for line in lines) > sum(instruction in line for line in best):
            best = lines
    ends = [i for i, line in enumerate(best) if re.match(r"j\w+\s|b\.\w+\s|cb\w+\s", line)]
    return best[: ends[0] + 1] if ends else best


# Loads that broadcast reach 252 bytes far, so that each row of A beyond has its address computed.
SVE_SPILL = r"\[sp|mul vl|mov\tz|dup"


@pytest.mark.parametrize(
    ("target", "instruction", "sums", "loads", "spill"),
    [
        (AVX512, "vfmadd231ps", 28, 16, r"\(%rsp|\(%rbp"),
        (AVX2, "vfmadd231ps", 12, 8, r"\(%rsp|\(%rbp"),
        (ARM, "fmla", 24, 16, r"\[sp"),
        (ANY_ARM, "fmla", 24, 16, r"\[sp"),
        (SVE256, "fmla\tz", 28, 16 + 14, SVE_SPILL),
        (SVE512, "fmla\tz", 28, 16 + 14, SVE_SPILL),
        (ANY_ARM + " -mattr=+sve -vector-width=256", "fmla\tz", 28, 16 + 14, SVE_SPILL),
    ],
)
@pytest.mark.parametrize("make", ["te_schedule", "tir_schedule"])
def test_the_inner_loop_is_multiply_adds_and_loads_only(target, instruction, sums, loads, spill, make):
    scheduled = getattr(gemm, make)(2048, 2048, 2048, target, 1)
    built = tessera.build(*scheduled, target) if make == "te_schedule" else tessera.build(scheduled.mod, target=target)
    loop = inner_loop(built.get_source("asm"), instruction)
    found = sum(instruction in line for line in loop)
    assert found >= sums
    assert not [line for line in loop if re.search(spill, line)]
    assert len(loop) <= found + loads + 6


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_kernel_may_stand_in_a_plain_schedule_of_a_small_product(dtype):
    machine = topi.cpu.machine_of("llvm")
    kernel = topi.cpu.micro_kernel(machine.isa, dtype, 4, 2 * machine.vector_bytes // np.dtype(dtype).itemsize, 24)
    M, N, K = 3 * kernel.mr, 2 * kernel.nr, 3 * kernel.kc
    A, B = te.placeholder((M, K), dtype, "A"), te.placeholder((K, N), dtype, "B")
    k = te.reduce_axis((0, K), "k")
    C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    io, jo, ii, ji = s[C].tile(*C.op.axis, kernel.mr, kernel.nr)
    ko, ki = s[C].split(k, kernel.kc)
    s[C].reorder(io, jo, ko, ii, ji, ki)
    s[C].tensorize(ii, kernel.te_intrin())
    by_te = tessera.build(s, [A, B, C], "llvm")

    sch = tir.Schedule(te.create_prim_func([A, B, C]))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    (io, ii), (jo, ji), (ko, ki) = (
        sch.split(loop, [None, f]) for loop, f in zip((i, j, k), (kernel.mr, kernel.nr, kernel.kc))
    )
    sch.reorder(io, jo, ko, ii, ji, ki)
    sch.decompose_reduction(block, ko)
    sch.tensorize(ii, kernel.register())
    by_tir = tessera.build(sch.mod, target="llvm")

    a, b = (np.random.default_rng(1).random(size).astype(dtype) for size in ((M, K), (K, N)))
    for module in (by_te, by_tir):
        c = tessera.nd.array(np.zeros((M, N), dtype))
        module(tessera.nd.array(a), tessera.nd.array(b), c)
        np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-5)


@pytest.mark.skipif("avx512vnni" not in topi.cpu.machine_of("llvm").features, reason="needs AVX-512 VNNI")
def test_bytes_are_multiplied_four_at_a_time():
    kernel = topi.cpu.micro_kernel("avx512", "uint8", 6, 32, 64)
    assert (kernel.group, kernel.b_dtype, kernel.c_dtype) == (4, "int8", "int32")
    M, N, K = 2 * kernel.mr, 2 * kernel.nr, 2 * kernel.kc
    A, B = te.placeholder((M, K), "uint8", "A"), te.placeholder((K // 4, N, 4), "int8", "B")
    k = te.reduce_axis((0, K), "k")

    def element(i, j):
        return te.sum(A[i, k].astype("int32") * B[k // 4, j, k % 4].astype("int32"), axis=k)

    C = te.compute((M, N), element, name="C")
    s = te.create_schedule(C.op)
    io, jo, ii, ji = s[C].tile(*C.op.axis, kernel.mr, kernel.nr)
    ko, ki = s[C].split(k, kernel.kc)
    s[C].reorder(io, jo, ko, ii, ji, ki)
    s[C].tensorize(ii, kernel.te_intrin())
    module = tessera.build(s, [A, B, C], "llvm")
    assert "vpdpbusd" in module.get_source("asm")
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 256, (M, K), "uint8"), rng.integers(-128, 128, (K // 4, N, 4), "int8")
    c = tessera.nd.array(np.zeros((M, N), "int32"))
    module(tessera.nd.array(a), tessera.nd.array(b), c)
    flat = b.transpose(0, 2, 1).reshape(K, N).astype("int64")
    np.testing.assert_array_equal(c.numpy(), a.astype("int64") @ flat)


# ---- matmuls of any shape --------------------------------------------------------------------------------------------

SHAPES = [
    (1, 1, 1), (1, 64, 64), (64, 1, 64), (64, 64, 1), (7, 5, 3), (13, 31, 17), (14, 32, 256), (15, 33, 257),
    (100, 200, 300), (255, 65, 129), (1000, 3, 20), (3, 1000, 20), (2, 3, 2000), (97, 101, 103), (300, 300, 523),
]  # fmt: skip


def agrees_with_numpy(module, M, N, K):
    rng = np.random.default_rng(M * 7 + N)
    a, b = (rng.standard_normal(size).astype("float32") for size in ((M, K), (K, N)))
    c = tessera.nd.array(np.full((M, N), np.nan, "float32"))
    module(tessera.nd.array(a), tessera.nd.array(b), c)
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", ["llvm -mcpu=x86-64-v4", AVX2, SSE])  # of no one vendor
@pytest.mark.parametrize("make", ["te_gemm", "tir_gemm"])
def test_any_shape_agrees_with_numpy(target, make):
    if not runs_here(target):
        pytest.skip(f"this CPU lacks instructions of {target}")
    for number, shape in enumerate(SHAPES):
        agrees_with_numpy(getattr(gemm, make)(*shape, target, 1 + number % 3), *shape)


def test_what_lies_around_the_matrices_is_neither_read_nor_written():
    """Edges are masked, not rounded up: neighbours of C stay, NaNs beside A and B do not come in."""
    M, N, K = 17, 19, 23
    whole = [np.full(size + 64, np.nan, "float32") for size in (M * K, K * N, M * N)]
    a, b, c = (x[32:-32].reshape(shape) for x, shape in zip(whole, ((M, K), (K, N), (M, N))))
    a[:], b[:] = np.random.rand(M, K), np.random.rand(K, N)
    views = [tessera.nd.from_dlpack(x) for x in (a, b, c)]
    gemm.te_gemm(M, N, K, "llvm", 1)(*views)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    assert np.isnan(whole[2][:32]).all() and np.isnan(whole[2][-32:]).all()


# ---- NEON, run by an emulator ----------------------------------------------------------------------------------------

DRIVER = (
    C_RUNTIME
    + r"""
int gemm(Value*, int*, int, Value*, int*, void*);
int main(void) {
  float *a = malloc(4 * M * K), *b = malloc(4 * K * N), *c = malloc(4 * M * N);
  for (int i = 0; i < M * K; ++i) a[i] = (float)(i * 7 % 13) - 6;
  for (int i = 0; i < K * N; ++i) b[i] = (float)(i * 5 % 11) - 5;
  int64_t shapes[3][2] = {{M, K}, {K, N}, {M, N}};
  void* data[3] = {a, b, c};
  Tensor t[3]; Value args[3], ret; int codes[3] = {7, 7, 7}, code;
  for (int i = 0; i < 3; ++i) {
    t[i] = (Tensor){data[i], {1, 0}, 2, {2, 32, 1}, shapes[i], 0, 0};
    args[i].p = &t[i];
  }
  if (gemm(args, codes, 3, &ret, &code, 0)) return 2;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float want = 0;
      for (int k = 0; k < K; ++k) want += a[i * K + k] * b[k * N + j];
      if (want != c[i * N + j]) return printf("C[%d, %d] is %g, not %g\n", i, j, c[i * N + j], want), 1;
    }
  return 0;
}
"""
)


@pytest.mark.skipif(
    not (shutil.which("aarch64-linux-gnu-gcc") and shutil.which("qemu-aarch64")),
    reason="needs aarch64-linux-gnu-gcc and qemu-aarch64",
)
@pytest.mark.parametrize("make", ["te_gemm", "tir_gemm"])
def test_kernels_of_neon_are_right_to_the_last_bit_of_small_integers(make, tmp_path):
    (tmp_path / "main.c").write_text(DRIVER)
    for M, N, K in [(1, 1, 1), (8, 12, 64), (33, 41, 57), (100, 7, 130)]:
        getattr(gemm, make)(M, N, K, ARM, 1).save(str(tmp_path / "gemm.o"))
        sizes = [f"-DM={M}", f"-DN={N}", f"-DK={K}"]
        compiler = ["aarch64-linux-gnu-gcc", "-O1", "-static", *sizes, "main.c", "gemm.o", "-o", "run", "-lm"]
        subprocess.run(compiler, cwd=tmp_path, check=True)
        done = subprocess.run(["qemu-aarch64", "./run"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (M, N, K, done.stdout, done.stderr)
