"""The C target: source that gcc compiles, and that computes what LLVM's machine code computes."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
import tessera
from tessera import te, tir
from tessera.contrib import utils
from tessera.script import tir as T

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]


def through_c(mod, **kwargs):
    """The module compiled by gcc and loaded."""
    folder = utils.tempdir()
    path = folder.relpath("lib.so")
    mod.export_library(path, **kwargs)
    return tessera.runtime.load_module(path)


def named(functions):
    mod = {}
    for name, (args, _) in functions.items():
        mod[tessera.ir.GlobalVar(name)] = te.create_prim_func(args).with_attr("global_symbol", name)
    return tessera.IRModule(mod)


def samples(dtype, size, seed):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, size).astype(bool)
    if "int" in dtype:
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, size, dtype=dtype, endpoint=True)
    return (rng.standard_normal(size) * 8).astype(dtype)


def check_as_llvm(functions, exact=True):
    """Builds all functions for both targets; the answers on random data have to be the same."""
    mod = named(functions)
    machine = tessera.build(mod, target="llvm")
    source = through_c(tessera.build(mod, target="c"))
    for seed, (name, (args, ulp)) in enumerate(functions.items()):
        given = [samples(str(a.dtype), [int(n) for n in a.shape], seed * 10 + i) for i, a in enumerate(args[:-1])]
        out = args[-1]
        answers = []
        for module in (machine, source):
            result = tessera.nd.array(np.zeros([int(n) for n in out.shape], str(out.dtype)))
            module[name](*map(tessera.nd.array, given), result)
            answers.append(result.numpy())
        if ulp == 0:
            np.testing.assert_array_equal(answers[1], answers[0], err_msg=name)
        else:
            tolerance = ulp * np.finfo(str(out.dtype)).eps
            np.testing.assert_allclose(answers[1], answers[0], rtol=tolerance, atol=tolerance, err_msg=name)


def unary(dtype, function, size=37):
    a = te.placeholder((size,), dtype, name="a")
    return [a, te.compute((size,), lambda i: function(a[i]), name="out")]


def binary(dtype, function, size=37):
    a, b = te.placeholder((size,), dtype, name="a"), te.placeholder((size,), dtype, name="b")
    return [a, b, te.compute((size,), lambda i: function(a[i], b[i]), name="out")]


def test_integers_wrap_and_divide_as_in_machine_code():
    operations = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "min": te.min,
        "max": te.max,
        "truncdiv": tir.truncdiv,
        "truncmod": tir.truncmod,
        "floordiv": tir.floordiv,
        "floormod": tir.floormod,
        "by_zero": lambda a, b: tir.floordiv(a, b - b),
        "by_minus_one": lambda a, b: tir.truncdiv(a, (b - b) - tir.const(1, a.dtype)),
        "by_seven": lambda a, b: tir.floordiv(a, tir.const(7, a.dtype)) + tir.floormod(b, tir.const(7, a.dtype)),
        "bits": lambda a, b: (a & b) | (a ^ ~b),
        "shifts": lambda a, b: (a << tir.const(3, a.dtype)) + (b >> tir.const(2, a.dtype)),
        "select": lambda a, b: tir.Select(a < b, a, b + a),
    }
    check_as_llvm({f"{n}_{t}": (binary(t, f), 0) for n, f in operations.items() for t in INTS})


def test_floats_are_rounded_as_in_machine_code():
    operations = {
        "add": lambda a, b: a + b,
        "mul_sub": lambda a, b: (a - b) * b,
        "div": lambda a, b: a / b,
        "min": te.min,
        "max": te.max,
        "select": lambda a, b: tir.if_then_else(a < b, a, b),
        "mod": lambda a, b: tir.Mod(a, b),
    }
    functions = {f"{n}_{t}": (binary(t, f), 0) for n, f in operations.items() for t in FLOATS}
    check_as_llvm(functions)


def test_real_functions_agree_with_machine_code():
    names = ["exp", "log", "sqrt", "tanh", "sigmoid", "erf", "sin", "cos", "floor", "ceil", "round", "trunc"]
    names += ["nearbyint", "abs", "rsqrt", "log2", "exp10", "atan", "cosh", "asinh"]
    functions = {}
    for name in names:
        function = getattr(te, name, None) or getattr(tir, name)
        positive = name in ("log", "sqrt", "rsqrt", "log2")
        body = (lambda f: lambda x: f(te.abs(x) + tir.const(0.5, x.dtype)))(function) if positive else function
        for dtype in FLOATS:
            functions[f"{name}_{dtype}"] = (unary(dtype, body), 8)
    functions["pow_float32"] = (binary("float32", lambda a, b: te.power(te.abs(a) + 0.5, b * 0.25)), 16)
    check_as_llvm(functions)


def test_casts_between_all_types_agree():
    types = [*INTS, *FLOATS, "bool"]
    functions = {}
    for source in types:
        for target in types:
            if source == target or (source in FLOATS and "int" in target):
                continue  # a float out of range casts to some value: below
            functions[f"{source}_to_{target}"] = (unary(source, lambda x, t=target: x.astype(t)), 0)
    for source in FLOATS:
        functions[f"{source}_to_int32"] = (unary(source, lambda x: x.astype("int32")), 0)
        functions[f"{source}_to_int8"] = (unary(source, lambda x: (x * tir.const(0.5, x.dtype)).astype("int8")), 0)
    check_as_llvm(functions)


def test_bools_are_bytes():
    check_as_llvm(
        {
            "logic": (binary("bool", lambda a, b: tir.any(tir.all(a, tir.Not(b)), a)), 0),
            "compare": (binary("float32", lambda a, b: a < b), 0),
        }
    )


def test_bfloat16_is_rounded_to_nearest_even():
    args = binary("bfloat16", lambda a, b: a * b + a)
    mod = named({"f": (args, 0)})
    a = np.random.default_rng(0).integers(0x3C00, 0x4200, 37).astype("uint16")
    b = np.random.default_rng(1).integers(0x3C00, 0x4200, 37).astype("uint16")
    answers = []
    for module in (tessera.build(mod, target="llvm"), through_c(tessera.build(mod, target="c"))):
        arrays = [tessera.nd.empty((37,), "bfloat16").copyfrom(x) for x in (a, b, np.zeros(37, "uint16"))]
        module["f"](*arrays)
        answers.append(arrays[2].numpy())
    np.testing.assert_array_equal(answers[0], answers[1])


@pytest.mark.parametrize("lanes", [2, 3, 4, 16])
def test_vector_loops_agree(lanes):
    functions = {}
    modules = {}
    for dtype in ("float32", "int8", "float16", "uint16"):
        a, b, c = binary(dtype, lambda a, b: tir.Select(a < b, a + b, a * tir.const(2, a.dtype)), lanes * 5)
        s = te.create_schedule(c.op)
        _, inner = s[c].split(c.op.axis[0], factor=lanes)
        s[c].vectorize(inner)
        functions[dtype] = (a, b, c)
        modules[dtype] = tessera.lower(s, [a, b, c], name=dtype)
    mod = tessera.IRModule({})
    for lowered in modules.values():
        mod.update(lowered)
    machine, source = tessera.build(mod, target="llvm"), through_c(tessera.build(mod, target="c"))
    for dtype in functions:
        a, b = samples(dtype, lanes * 5, 1), samples(dtype, lanes * 5, 2)
        outs = [tessera.nd.array(np.zeros(lanes * 5, dtype)) for _ in range(2)]
        for module, out in zip((machine, source), outs):
            module[dtype](tessera.nd.array(a), tessera.nd.array(b), out)
        np.testing.assert_array_equal(outs[0].numpy(), outs[1].numpy())


def matmul_schedule(n=64):
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    io, jo, ii, ji = s[c].tile(i, j, 8, 16)
    s[c].reorder(io, jo, k, ii, ji)
    s[c].vectorize(ji)
    s[c].parallel(io)
    return s, [a, b, c]


def test_a_parallel_tiled_matmul_runs():
    s, args = matmul_schedule()
    lib = through_c(tessera.build(s, args, "c", name="matmul"))
    a, b = (np.random.default_rng(i).random((64, 64), "float32") for i in range(2))
    out = tessera.nd.array(np.zeros((64, 64), "float32"))
    lib["matmul"](tessera.nd.array(a), tessera.nd.array(b), out)
    np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-5)
    lib(tessera.nd.array(a), tessera.nd.array(b), out)  # the module stands for its only function


def test_wrong_arguments_are_rejected_by_name():
    lib = through_c(tessera.build(named({"f": (unary("float32", lambda x: x + 1.0), 0)}), target="c"))
    good = tessera.nd.array(np.zeros(37, "float32"))
    with pytest.raises(tessera.TVMError, match="num_args should be 2"):
        lib["f"](good)
    with pytest.raises(tessera.TVMError, match="dtype is expected to be float32"):
        lib["f"](tessera.nd.array(np.zeros(37, "int32")), good)
    with pytest.raises(tessera.TVMError, match=r"shape\[0\]"):
        lib["f"](tessera.nd.array(np.zeros(36, "float32")), good)


def test_packed_functions_are_called_by_name():
    seen = []

    @tessera.register_func("test.c_target.note", override=True)
    def note(x, text, tensor):
        seen.append((x, text, tensor.shape))
        return 7

    a = te.placeholder((4,), "int32", name="a")
    out = te.extern(
        (4,),
        [a],
        lambda ins, outs: tir.call_packed("test.c_target.note", 5, "text", ins[0]),
        dtype="int32",
        name="out",
    )
    s = te.create_schedule(out.op)
    lib = through_c(tessera.build(s, [a, out], "c", name="f"))
    lib["f"](tessera.nd.array(np.arange(4, dtype="int32")), tessera.nd.array(np.zeros(4, "int32")))
    assert seen == [(5, "text", (4,))]


def test_an_error_in_a_packed_function_comes_out_as_itself():
    class Odd(Exception):
        pass

    @tessera.register_func("test.c_target.fail", override=True)
    def fail():
        raise Odd("by the callback")

    out = te.extern((4,), [], lambda ins, outs: tir.call_packed("test.c_target.fail"), dtype="int32", name="out")
    lib = through_c(tessera.build(te.create_schedule(out.op), [out], "c", name="f"))
    with pytest.raises(Odd, match="by the callback"):
        lib["f"](tessera.nd.array(np.zeros(4, "int32")))


def test_the_module_is_source_until_it_is_exported():
    mod = tessera.build(named({"f": (unary("float32", lambda x: x + 1.0), 0)}), target="c")
    assert mod.type_key == "c" and mod.format == "c" and mod.is_dso_exportable
    assert list(mod["get_func_names"]()) == ["f"]
    assert "int32_t f(void* args" in mod.get_source()
    with pytest.raises(tessera.TVMError, match="export_library"):
        mod["f"]
    folder = utils.tempdir()
    mod.save(folder.relpath("x.c"))
    with open(folder.relpath("x.c")) as file:
        assert file.read() == mod.get_source()


@pytest.mark.parametrize("command", [["gcc", "-std=c99"], ["gcc", "-std=gnu17"], ["g++", "-x", "c++"]])
def test_the_source_compiles_as_c_and_as_cplusplus_without_warnings(command):
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    s, args = matmul_schedule(32)
    mod = tessera.IRModule({})
    mod.update(tessera.lower(s, args, name="matmul"))
    mod.update(tessera.lower(named({"half": (binary("float16", lambda a, b: te.exp(a) / b), 0)})))
    folder = utils.tempdir()
    tessera.build(mod, target="c").save(folder.relpath("x.c"))
    flags = ["-Wall", "-Werror", "-Wno-unused-variable", "-Wno-unused-but-set-variable", "-O1", "-c", "-fPIC"]
    done = subprocess.run(
        [*command, *flags, folder.relpath("x.c"), "-o", folder.relpath("x.o")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_plain_c_program_can_call_the_source():
    """-DTVM_LINK_RUNTIME calls the runtime's functions by name: here they are two functions of the test."""
    mod = tessera.build(named({"twice": (unary("float32", lambda x: x * 2.0, 5), 0)}), target="c")
    folder = utils.tempdir()
    mod.save(folder.relpath("x.c"))
    with open(folder.relpath("runtime.c"), "w") as file:
        file.write("const char* last; void TVMAPISetLastError(const char* m) { last = m; }\n")
    path = folder.relpath("plain.so")
    command = [
        "gcc",
        "-shared",
        "-fPIC",
        "-DTVM_LINK_RUNTIME",
        "-o",
        path,
        folder.relpath("x.c"),
        folder.relpath("runtime.c"),
    ]
    subprocess.run(command, check=True)
    lib = ctypes.CDLL(path)
    assert lib.twice(None, None, 0, None, None, None) == -1
    assert b"num_args" in ctypes.c_char_p.in_dll(lib, "last").value


def test_constants_are_written_bit_for_bit():
    size = 17
    data = np.random.default_rng(3).standard_normal(size).astype("float32")
    data[:3] = [np.nan, np.inf, -0.0]
    a = tir.decl_buffer((size,), "float32", name="A")
    k = tir.decl_buffer((size,), "float32", name="K")
    i = tir.Var("i", "int32")
    loop = tir.For(i, 0, size, tir.ForKind.SERIAL, tir.BufferStore(a, tir.BufferLoad(k, [i]), [i]))
    body = tir.AllocateConst(k.data, "float32", [size], tessera.nd.array(data), loop)
    handle = tir.Var("a", "handle")
    func = tir.PrimFunc([handle], body, buffer_map={handle: a}).with_attr("global_symbol", "f")
    lib = through_c(tessera.build(func, target="c", name="f"))
    out = tessera.nd.array(np.zeros(size, "float32"))
    lib["f"](out)
    assert out.numpy().tobytes() == data.tobytes()


def test_c_may_be_the_host_of_c():
    s, args = matmul_schedule(32)
    mod = tessera.build(s, args, tessera.target.Target("c", host="c"), name="f")
    assert mod.type_key == "c"


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_zeros_follow_the_numbers_of_a_constant(target, tmp_path):
    @T.prim_func
    def func(A: T.Buffer[(6,), "int8"]):
        P = T.allocate_const([7, 9], "int8", [6])
        C = T.buffer_decl([6], "int8", data=P)
        for i in T.serial(6):
            A[i] = C[i]

    path = str(tmp_path / "lib.so")
    tessera.build(func, target=target, name="func").export_library(path)
    out = tessera.nd.array(np.ones(6, "int8"))
    tessera.runtime.load_module(path)["func"](out)
    assert list(out.numpy()) == [7, 9, 0, 0, 0, 0]
    assert target == "llvm" or "words[6]" in tessera.build(func, target=target).get_source()


def reinterpreted(narrow, wide, lanes):
    """A in words, and those words back in lanes."""
    builder = tir.ir_builder.create()
    a = tir.decl_buffer((4 * lanes,), narrow, name="A")
    b, c = tir.decl_buffer((4,), wide, name="B"), tir.decl_buffer((4 * lanes,), narrow, name="C")
    with builder.for_range(0, 4, name="i") as i:
        word = tir.call_intrin(wide, "tir.reinterpret", a.vload([i * lanes], f"{narrow}x{lanes}"))
        builder.emit(b.vstore([i], word))
        parts = tir.call_intrin(f"{narrow}x{lanes}", "tir.reinterpret", b.vload([i], wide))
        builder.emit(c.vstore([i * lanes], parts))
    return tir.PrimFunc([a, b, c], builder.get()).with_attr("global_symbol", "f")


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize(
    "narrow, wide", [("int8", "int32"), ("uint8", "int32"), ("int16", "uint64"), ("int8", "int64")]
)
def test_lanes_are_reinterpreted_as_a_wider_word_and_back(narrow, wide, target, tmp_path):
    lanes = np.dtype(wide).itemsize // np.dtype(narrow).itemsize
    path = str(tmp_path / "lib.so")
    tessera.build(reinterpreted(narrow, wide, lanes), target=target, name="f").export_library(path)
    given = samples(narrow, 4 * lanes, 3)
    words, parts = tessera.nd.array(np.zeros(4, wide)), tessera.nd.array(np.zeros(4 * lanes, narrow))
    tessera.runtime.load_module(path)["f"](tessera.nd.array(given), words, parts)
    np.testing.assert_array_equal(words.numpy(), given.view(wide))
    np.testing.assert_array_equal(parts.numpy(), given)
