"""Code for the host: sources, files, exported libraries, options of the target."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera import te, tir


def vector_add(n=64, lanes=16, dtype="float32"):
    a = te.placeholder((n,), dtype, name="A")
    b = te.placeholder((n,), dtype, name="B")
    c = te.compute((n,), lambda i: a[i] + b[i], name="C")
    s = te.create_schedule(c.op)
    if lanes > 1:
        _, inner = s[c].split(c.op.axis[0], lanes)
        s[c].vectorize(inner)
    return s, [a, b, c]


def check_add(f, n=64):
    a, b = np.random.default_rng(0).standard_normal((2, n)).astype("float32")
    c = tessera.nd.array(np.zeros(n, "float32"))
    f(tessera.nd.array(a), tessera.nd.array(b), c)
    np.testing.assert_array_equal(c.numpy(), a + b)


def test_sources_are_llvm_ir_and_assembly():
    f = tessera.build(*vector_add(), target="llvm", name="add")
    assert "fadd contract <16 x float>" in f.get_source()
    assert f.get_source() == f.get_source("ll")
    assert "add_compute_:" in f.get_source("asm")
    assert f.get_source("s") == f.get_source("asm")
    with pytest.raises(ValueError, match="it may be ll, s or asm"):
        f.get_source("cu")


def test_checks_of_arguments_share_their_way_out():
    f = tessera.build(*vector_add(), target="llvm", name="add")
    checks = f.get_source("ll").split("define internal")[0]
    assert checks.count("br i1") > 20
    assert checks.count("load ptr, ptr @__TVMAPISetLastError") == 1
    good = [tessera.nd.array(np.zeros(64, "float32")) for _ in range(3)]
    for i in range(3):
        for wrong, said in (((32,), "shape"), ((64, 1), "ndim")):
            bad = [*good[:i], tessera.nd.array(np.zeros(wrong, "float32")), *good[i + 1 :]]
            with pytest.raises(tessera.TVMError, match=f"arg.{'ABC'[i]}.{said}"):
                f(*bad)


def test_the_same_program_gives_the_same_bytes(tmp_path):
    files = []
    for i in range(2):
        f = tessera.build(*vector_add(), target="llvm", name="add")
        files.append(tmp_path / f"{i}.o")
        f.save(str(files[-1]))
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("form", ["ll", "bc"])
def test_llvm_files_are_loaded_and_run(tmp_path, form):
    path = str(tmp_path / f"add.{form}")
    tessera.build(*vector_add(), target="llvm", name="add").save(path)
    check_add(tessera.runtime.load_module(path)["add"])


def test_an_object_has_the_function(tmp_path):
    path = tmp_path / "add.o"
    tessera.build(*vector_add(), target="llvm", name="add").save(str(path))
    assert path.read_bytes()[:4] == b"\x7fELF"
    with pytest.raises(ValueError, match="it may be o, s, ll or bc"):
        tessera.build(*vector_add(), target="llvm", name="add").save(str(tmp_path / "add.xyz"))


def test_the_linker_takes_objects_and_not_bitcode(tmp_path):
    path = str(tmp_path / "add.bc")
    tessera.build(*vector_add(), target="llvm", name="add").save(path)
    with pytest.raises(ValueError, match="add.bc is LLVM bitcode, and the built-in linker takes objects"):
        tessera.get_global_func("codegen.link_shared")([path], str(tmp_path / "add.so"), [], b"")


def test_an_exported_library_needs_nothing_and_runs(tmp_path):
    path = str(tmp_path / "add.so")
    tessera.build(*vector_add(), target="llvm", name="add").export_library(path)
    needed = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
    assert "tessera" not in needed and "tvm" not in needed
    library = tessera.runtime.load_module(path)
    check_add(library["add"])
    check_add(library)  # its main function


@pytest.mark.parametrize("form", ["so", "tar"])
def test_imported_modules_travel_with_the_library(tmp_path, form):
    helper = tessera.build(*vector_add(), target="llvm", name="helper")
    main = tessera.build(*vector_add(), target="llvm", name="add")
    main.import_module(helper)
    path = str(tmp_path / f"both.{form}")
    main.export_library(path)
    library = tessera.runtime.load_module(path)
    check_add(library["add"])
    check_add(library.get_function("helper", query_imports=True))


def test_a_library_says_which_instructions_it_needs(tmp_path):
    path = str(tmp_path / "add.so")
    tessera.build(*vector_add(), target="llvm -mcpu=skylake-avx512", name="add").export_library(path)
    (text,) = tessera.get_global_func("runtime.cpu_needs")(path)
    needed, made_for = str(text).split(" for ")
    features = needed.split(",")
    assert made_for == "skylake-avx512"
    assert "avx512f" in features and "fma" in features and "avx512bf16" not in features


def test_a_library_for_a_greater_cpu_is_rejected_by_name(tmp_path):
    path = tmp_path / "add.so"
    tessera.build(*vector_add(), target="llvm -mcpu=x86-64-v2", name="add").export_library(str(path))
    check_add(tessera.runtime.load_module(str(path))["add"])
    flags = Path("/proc/cpuinfo").read_text().split()
    missing = next(name for name in ("fma4", "xop", "amx_int8") if name not in flags).replace("_", "-")
    forged = tmp_path / "forged.so"
    forged.write_bytes(path.read_bytes().replace(b"sse3,ssse3,", missing.encode().ljust(10, b",") + b","))
    tessera.get_global_func("runtime.SealFile")(str(forged))
    with pytest.raises(tessera.TVMError, match=f"forged.so was compiled for x86-64-v2 and needs .*: {missing}.*mcpu"):
        tessera.runtime.load_module(str(forged))


def test_code_for_another_machine_is_written_but_not_run():
    f = tessera.build(*vector_add(lanes=4), target="llvm -mtriple=aarch64-linux-gnu", name="add")
    assert "fadd\tv" in f.get_source("asm")
    with pytest.raises(tessera.TVMError, match="cannot run on this machine"):
        f["add"]


def test_options_of_the_target_reach_the_code():
    s, args = vector_add()
    assert "fadd fast <16" in tessera.build(s, args, target="llvm -fast-math").get_source()
    assert "fadd nnan contract <16" in tessera.build(s, args, target="llvm -fast-math-nnan").get_source()
    assert "zmm" in tessera.build(s, args, target="llvm -mcpu=skylake-avx512").get_source("asm")
    assert "zmm" not in tessera.build(s, args, target="llvm -mcpu=haswell").get_source("asm")
    with pytest.raises(ValueError, match='mcpu "pentium-99" is not a CPU'):
        tessera.build(s, args, target="llvm -mcpu=pentium-99")


def test_sums_in_a_workspace_stay_in_registers():
    n = 256
    a = te.placeholder((n, n), name="A")
    b = te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    packed = te.compute((n // 64, n, 64), lambda x, y, z: b[y, x * 64 + z], name="packed")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * packed[j // 64, k, te.indexmod(j, 64)], axis=k), name="C")
    s = te.create_schedule(c.op)
    sums = s.cache_write(c, "global")
    _, jo, _, ji = s[c].tile(*c.op.axis, 4, 64)  # 1024 bytes of sums: too much for the stack
    s[c].vectorize(ji)
    s[sums].compute_at(s[c], jo)
    i, j = s[sums].op.axis
    s[sums].reorder(s[sums].op.reduce_axis[0], i, j)
    jo, ji = s[sums].split(j, 16)
    s[sums].vectorize(ji)
    s[sums].unroll(jo)
    s[sums].unroll(i)
    f = tessera.build(s, [a, b, c], "llvm -mcpu=skylake-avx512")
    text = f.get_source()
    assert "__TVMBackendAllocWorkspace" in text
    assert text.count("phi <16 x float>") == 16


def test_the_registers_of_a_kernel_are_no_workspace():
    """Memory of scope "local" stays on the stack, and from there goes to registers, up to 16 kB."""
    builder, lanes, count = tir.ir_builder.create(), 16, 28
    x = tir.decl_buffer((count * lanes,), "float32", "x")
    sums = builder.allocate("float32x16", (count,), name="sums", scope="local")
    for i in range(count):
        sums[i] = x.vload([i * lanes], "float32x16")
    with builder.for_range(0, 100, name="k"):
        for i in range(count):
            sums[i] = sums[i] * sums[i]
    for i in range(count):
        builder.emit(x.vstore([i * lanes], sums[i]))
    text = tessera.build(tir.PrimFunc([x], builder.get()), target="llvm -mcpu=skylake-avx512").get_source()
    assert "AllocWorkspace" not in text and text.count("phi <16 x float>") == count


@pytest.mark.parametrize("n", [1, 15, 16, 17, 31])
def test_a_padded_copy_is_done_by_masked_vectors(n):
    """if_then_else between memory and a constant, lane by lane: what is off is not touched."""
    a = te.placeholder((n,), name="A")
    padded = te.compute((48,), lambda i: te.if_then_else(te.all(i >= 8, i < n + 8), a[i - 8], 7.0), name="padded")
    s = te.create_schedule(padded.op)
    s[padded].vectorize(s[padded].split(padded.op.axis[0], 16)[1])
    f = tessera.build(s, [a, padded], "llvm")
    assert "@llvm.masked.load.v16f32" in f.get_source()
    guarded = np.full(n + 2, np.nan, "float32")
    guarded[1:-1] = np.arange(n)
    out = tessera.nd.array(np.zeros(48, "float32"))
    f(tessera.nd.from_dlpack(guarded[1:-1]), out)
    want = np.full(48, 7.0, "float32")
    want[8 : 8 + n] = np.arange(n)
    np.testing.assert_array_equal(out.numpy(), want)


def test_a_guard_whose_lanes_share_a_bound_is_masked_too():
    """i*16 + j < 1000 is asked as i*2 + j//8 < 125."""
    a = te.placeholder((1000,), name="A")
    b = te.compute((1000,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[0], 48)
    s[b].vectorize(s[b].split(inner, 16)[1])
    f = tessera.build(s, [a, b], "llvm")
    assert "@llvm.masked.store.v16f32" in f.get_source()
    data, out = np.arange(1000, dtype="float32"), tessera.nd.array(np.zeros(1000, "float32"))
    f(tessera.nd.array(data), out)
    np.testing.assert_array_equal(out.numpy(), data + 1)


def test_threads_compile_at_the_same_time():
    with ThreadPoolExecutor(4) as pool:
        for f in pool.map(lambda i: tessera.build(*vector_add(), target="llvm", name=f"add{i}")[f"add{i}"], range(12)):
            check_add(f)


def test_facts_about_llvm():
    from tessera.target import codegen

    assert codegen.llvm_version_major() == 19
    number = codegen.llvm_lookup_intrinsic_id("llvm.fma")
    assert number > 0 and codegen.llvm_get_intrinsic_name(number) == "llvm.fma"
    assert codegen.llvm_lookup_intrinsic_id("llvm.no.such.thing") == 0


def test_a_function_outlives_the_name_of_its_module():
    f = tessera.build(*vector_add(), target="llvm", name="add")["add"]
    check_add(f)


def test_intrinsics_of_llvm_by_name():
    a = te.placeholder((8,), name="A")
    c = te.compute(
        (8,),
        lambda i: tessera.tir.call_llvm_pure_intrin(
            "float32", "llvm.fma", tessera.tir.const(3, "uint32"), a[i], a[i], a[i]
        ),
    )
    s = te.create_schedule(c.op)
    f = tessera.build(s, [a, c], "llvm")
    x = np.arange(8, dtype="float32")
    out = tessera.nd.array(np.zeros(8, "float32"))
    f(tessera.nd.array(x), out)
    np.testing.assert_array_equal(out.numpy(), x * x + x)


FUNCTIONS = {
    "exp": np.exp, "log": lambda x: np.log(np.abs(x)), "tanh": np.tanh, "sqrt": lambda x: np.sqrt(np.abs(x)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "sin": np.sin, "cos": np.cos, "floor": np.floor, "round": None,
    "erf": None, "log1p": lambda x: np.log1p(np.abs(x)), "rsqrt": lambda x: 1 / np.sqrt(np.abs(x)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_of_vectors(name, dtype):
    n = 48
    a = te.placeholder((n,), dtype, name="A")
    positive = name in ("log", "sqrt", "log1p", "rsqrt")
    function = getattr(te, name, None) or getattr(tessera.tir, name)
    c = te.compute((n,), lambda i: function(tessera.tir.abs(a[i]) if positive else a[i]), name="C")
    s = te.create_schedule(c.op)
    _, inner = s[c].split(c.op.axis[0], 16)
    s[c].vectorize(inner)
    f = tessera.build(s, [a, c], "llvm")
    x = (np.random.default_rng(1).standard_normal(n) * 2).astype(dtype)
    out = tessera.nd.array(np.zeros(n, dtype))
    f(tessera.nd.array(x), out)
    wide = x.astype("float64")
    if name == "erf":
        import math

        expected = np.array([math.erf(v) for v in wide])
    elif name == "round":
        expected = np.copysign(np.floor(np.abs(wide) + 0.5), wide)
    else:
        expected = FUNCTIONS[name](wide)
    tolerance = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-14}[dtype]
    np.testing.assert_allclose(out.numpy(), expected.astype(dtype), rtol=tolerance, atol=tolerance / 10)


@pytest.mark.parametrize("lanes", [1, 4, 8, 16, 32, 6])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=haswell"])
def test_exp_reaches_denormal_numbers_and_both_ends(target, dtype, lanes):
    """2^n is one instruction where there is one for as many lanes, else made in two steps from its bits."""
    low, high = (-104, 89) if dtype == "float32" else (-746, 710)
    values = [-np.inf, np.inf, np.nan, 0.0, 1.0, -1.0, low * 0.85, low * 0.9, low * 0.95, low - 1, high - 0.5, high + 1]
    x = np.resize(np.array(values, dtype), 12 * lanes * 4)
    A = te.placeholder(x.shape, dtype, name="A")
    B = te.compute(A.shape, lambda i: te.exp(A[i]), name="B")
    s = te.create_schedule(B.op)
    if lanes > 1:
        s[B].vectorize(s[B].split(B.op.axis[0], lanes)[1])
    module = tessera.build(s, [A, B], target)
    out = tessera.nd.array(np.zeros_like(x))
    module(tessera.nd.array(x), out)
    with np.errstate(over="ignore", under="ignore"):
        want = np.exp(x)
    # A denormal result has few bits left: it may be one unit of the smallest number off.
    smallest = np.finfo(dtype).smallest_subnormal
    np.testing.assert_allclose(out.numpy(), want, rtol=4 * np.finfo(dtype).eps, atol=2 * smallest)


def test_avx512_scales_by_a_power_of_two_in_one_instruction():
    A = te.placeholder((64,), name="A")
    B = te.compute(A.shape, lambda i: te.exp(A[i]), name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(s[B].split(B.op.axis[0], 16)[1])
    text = tessera.build(s, [A, B], "llvm -mcpu=skylake-avx512").get_source("asm")
    assert "vscalefps" in text and "vpslld" not in text


@pytest.mark.parametrize("behaviour, name", [(7, "PIC Level"), (8, "PIC Level"), (7, "PIE Level"), (1, "wchar_size")])
def test_code_that_another_compiler_made_is_imported_whatever_its_flags(behaviour, name):
    twice = f"""
      define float @twice(float %x) {{
        %y = fadd float %x, %x
        ret float %y
      }}
      !llvm.module.flags = !{{!0}}
      !0 = !{{i32 {behaviour}, !"{name}", i32 1}}
    """
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: tir.call_extern("float32", "twice", a[i]), name="b")
    schedule = te.create_schedule(b.op)
    schedule[b].pragma(b.op.axis[0], "import_llvm", twice)
    out = tessera.nd.empty((4,))
    tessera.build(schedule, [a, b], "llvm")(tessera.nd.array(np.arange(4, dtype="float32")), out)
    np.testing.assert_array_equal(out.numpy(), [0, 2, 4, 6])
