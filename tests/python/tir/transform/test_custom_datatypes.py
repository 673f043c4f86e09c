"""Element types that users name, and say how to compute with."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
import tessera as tvm
from tessera import relay, te, tir
from tessera.target import datatype
from tessera.tir import transform as X

FLOAT = "custom[half_exact]32"  # a float32 that is kept as its bits
CODE = 201

EXTERN = """
#include <stdint.h>
#include <string.h>
static float number(uint32_t word) { float x; memcpy(&x, &word, 4); return x; }
static uint32_t word(float x) { uint32_t w; memcpy(&w, &x, 4); return w; }
uint32_t TestCustomFromFloat(float x) { return word(x) ^ 0xdeadbeefu; }
float TestCustomToFloat(uint32_t a) { return number(a ^ 0xdeadbeefu); }
uint32_t TestCustomAdd(uint32_t a, uint32_t b) { return TestCustomFromFloat(TestCustomToFloat(a) + TestCustomToFloat(b)); }
uint32_t TestCustomMul(uint32_t a, uint32_t b) { return TestCustomFromFloat(TestCustomToFloat(a) * TestCustomToFloat(b)); }
uint32_t TestCustomMax(uint32_t a, uint32_t b) { return TestCustomToFloat(a) > TestCustomToFloat(b) ? a : b; }
uint32_t TestCustomConstant(double x) { return TestCustomFromFloat((float)x); }
uint32_t TestCustomSmallest(void) { return TestCustomFromFloat(-3e38f); }
"""


@pytest.fixture(scope="module")
def masked(tmp_path_factory):
    """The type whose words are those of float32, each bit of a mask turned round: whatever is not lowered is seen."""
    if not shutil.which("gcc"):
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("custom")
    (folder / "type.c").write_text(EXTERN)
    library = folder / "libtype.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", str(library), str(folder / "type.c")], check=True)
    ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    datatype.register("masked", 200)
    extern = datatype.create_lower_func
    datatype.register_op(extern({(32, 32): "TestCustomFromFloat"}), "Cast", "llvm", "float", "masked")
    datatype.register_op(extern({(32, 32): "TestCustomToFloat"}), "Cast", "llvm", "masked", "float")
    for name in ("Add", "Mul", "Max"):
        datatype.register_op(extern({32: "TestCustom" + name}), name, "llvm", "masked")
    datatype.register_op(extern({32: "TestCustomConstant"}), "FloatImm", "llvm", "masked")
    choose, call = "tir.if_then_else", "tir.call_pure_extern"
    datatype.register_op(datatype.lower_ite, "Call", "llvm", "masked", intrinsic_name=choose)
    datatype.register_op(datatype.lower_call_pure_extern, "Call", "llvm", "masked", intrinsic_name=call)
    smallest = datatype.create_min_lower_func({32: "TestCustomSmallest"}, "masked")
    datatype.register_min_func(smallest, "masked")
    return "custom[masked]32"


def converted(value, dtype):
    x = relay.var("x", shape=value.shape, dtype=value.dtype)
    mod = tvm.IRModule.from_expr(relay.Function([x], x.astype(dtype)))
    return relay.create_executor("graph", mod).evaluate()(value)


def test_a_type_has_a_name_and_a_code():
    datatype.register("half_exact", CODE)
    datatype.register("half_exact", CODE)  # again is fine
    assert datatype.get_type_name(CODE) == "half_exact"
    assert datatype.get_type_code("half_exact") == CODE
    assert datatype.get_type_registered(CODE)
    assert not datatype.get_type_registered(250)
    kind = tvm.DataType(FLOAT + "x4")
    assert (kind.type_code, kind.bits, kind.lanes, str(kind)) == (CODE, 32, 4, FLOAT + "x4")


def test_a_code_and_a_name_are_given_once():
    datatype.register("half_exact", CODE)
    with pytest.raises(ValueError, match="the code 201 belongs to custom type half_exact already"):
        datatype.register("other", CODE)
    with pytest.raises(ValueError, match="custom type half_exact has the code 201 already"):
        datatype.register("half_exact", 202)
    with pytest.raises(ValueError, match="codes from 129 to 255 are free"):
        datatype.register("low", 3)
    with pytest.raises(ValueError, match="no custom type is named nobody"):
        tvm.DataType("custom[nobody]32")


def test_numbers_beside_a_custom_value_become_custom():
    datatype.register("half_exact", CODE)
    x = tir.Var("x", FLOAT)
    assert (x + 1).dtype == FLOAT
    assert (x * tir.Var("y", "float32")).b.dtype == FLOAT
    assert isinstance((x + 1).b, tir.FloatImm)


def test_what_is_computed_is_said_by_registered_functions():
    """The function sees its node with the operands lowered, and gives the word."""
    datatype.register("half_exact", CODE)
    seen = []

    def add(op):
        seen.append((op.dtype, op.a.dtype, op.b.dtype))
        return tir.call_intrin("uint32", "tir.bitwise_xor", op.a, op.b)

    datatype.register_op(add, "Add", "llvm", "half_exact")
    A = tir.decl_buffer((8,), FLOAT, name="A")
    param = tir.Var("a", "handle")
    store = tir.BufferStore(A, tir.BufferLoad(A, [1]) + tir.BufferLoad(A, [2]), [0])
    func = tir.PrimFunc([param], store, buffer_map={param: A})
    func = func.with_attr("target", tvm.target.Target("llvm")).with_attr("global_symbol", "main")
    done = X.LowerCustomDatatypes()(tvm.IRModule({"main": func}))["main"]
    assert seen == [(FLOAT, "uint32", "uint32")]
    assert done.buffer_map[done.params[0]].dtype == "uint32"
    assert str(done.body.value.op.name) == "tir.bitwise_xor"


def test_an_operator_that_nobody_registered_is_named():
    datatype.register("half_exact", CODE)
    A = te.placeholder((8,), FLOAT, name="A")
    B = te.compute((8,), lambda i: A[i] - A[i], name="B")
    with pytest.raises(NotImplementedError, match=r"register \"tvm.datatype.lower.llvm.Sub.half_exact\""):
        tvm.build(te.create_schedule(B.op), [A, B], "llvm")


def test_a_lowering_of_the_wrong_type_is_rejected():
    datatype.register("half_exact", CODE)
    datatype.register_op(lambda op: tir.const(1.0, "float32"), "Mod", "llvm", "half_exact")
    A = te.placeholder((8,), FLOAT, name="A")
    B = te.compute((8,), lambda i: tir.Mod(A[i], A[i]), name="B")
    with pytest.raises(TypeError, match="gave an expression of type float32 where uint32 stands for"):
        tvm.build(te.create_schedule(B.op), [A, B], "llvm")


def test_a_te_program_calls_the_extern_functions(masked):
    A = te.placeholder((40,), name="A")
    B = te.placeholder((40,), name="B")
    a = te.compute((40,), lambda i: A[i].astype(masked), name="a")
    c = te.compute((40,), lambda i: tir.if_then_else(i < 8, a[i] * B[i].astype(masked) + 1.5, a[i]), name="c")
    k = te.reduce_axis((0, 5), name="k")
    m = te.compute((8,), lambda i: te.max(c[i * 5 + k], axis=k), name="m")
    D = te.compute((8,), lambda i: m[i].astype("float32"), name="D")
    s = te.create_schedule(D.op)
    s[c].vectorize(s[c].split(c.op.axis[0], 4)[1])  # becomes a plain loop: extern functions take single values
    f = tvm.build(s, [A, B, D], "llvm")
    x, y = np.random.rand(2, 40).astype("float32")
    d = tvm.nd.empty((8,))
    f(tvm.nd.array(x), tvm.nd.array(y), d)
    expected = np.where(np.arange(40) < 8, x * y + np.float32(1.5), x).reshape(8, 5).max(1)
    np.testing.assert_allclose(d.numpy(), expected, rtol=1e-6)


def test_a_relay_model_computes_with_custom_tensors(masked):
    x = relay.var("x", shape=(1, 3, 8, 8), dtype=masked)
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.max_pool2d(relay.nn.relu(x), (2, 2), (2, 2))))
    data = np.random.randn(1, 3, 8, 8).astype("float32")
    given = converted(tvm.nd.array(data), masked)
    assert given.dtype == masked
    out = relay.create_executor("graph", mod).evaluate()(given)
    expected = np.maximum(data, 0).reshape(1, 3, 4, 2, 4, 2).max((3, 5))
    np.testing.assert_array_equal(converted(out, "float32").numpy(), expected)


PROGRAM = """#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32], %n: Tensor[(4), int32]) -> (Tensor[(4), float32], Tensor[(4), int32]) {
  let %y: Tensor[(4), float32] = add(multiply(%x, 2f), %x);
  (maximum(%y, 1.5f), %n)
}"""


def test_a_program_changes_its_data_type():
    mod = relay.frontend.ChangeDatatype("float32", "float64")(tvm.parser.fromtext(PROGRAM))
    types = [param.type_annotation.dtype for param in mod["main"].params]
    assert types == ["float64", "int32"]
    x, n = np.array([-1.0, 0.25, 0.5, 3.0]), np.arange(4, dtype="int32")
    found, same = relay.create_executor("graph", mod).evaluate()(x, n)
    assert found.dtype == "float64" and same.dtype == "int32"
    np.testing.assert_allclose(found.numpy(), np.maximum(3 * x, 1.5))


def test_a_program_computes_in_a_type_of_the_user_s(masked):
    mod = relay.frontend.ChangeDatatype("float32", masked)(tvm.parser.fromtext(PROGRAM))
    x, n = np.array([-1.0, 0.25, 0.5, 3.0], "float32"), np.arange(4, dtype="int32")
    found, _ = relay.create_executor("graph", mod).evaluate()(converted(x, masked), n)
    np.testing.assert_allclose(converted(found, "float32").numpy(), np.maximum(3 * x, 1.5))
