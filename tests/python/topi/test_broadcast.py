"""Functions of two operands, against NumPy."""

import numpy as np
import pytest
import tessera
from tessera import te, tir, topi

SHAPES = [((4,), (4,)), ((3, 4), (4,)), ((3, 1), (1, 5)), ((2, 3, 4), (3, 1)), ((), (3,)), ((1,), (1,))]


def random_array(shape, dtype, rng):
    if dtype == "bool":
        return rng.random(shape) > 0.5
    if dtype.startswith("float"):
        return (rng.random(shape) * 4 + 0.5).astype(dtype)
    return rng.integers(1, 9, shape).astype(dtype)


CASES = [
    ("add", np.add, ["float32", "float64", "int32", "int64", "uint8"]),
    ("subtract", np.subtract, ["float32", "int32"]),
    ("multiply", np.multiply, ["float32", "int16", "int64"]),
    ("divide", lambda a, b: a / b if a.dtype.kind == "f" else (a / b).astype(a.dtype), ["float32", "int32"]),
    ("floor_divide", np.floor_divide, ["float32", "int32"]),
    ("mod", np.fmod, ["int32", "int64"]),
    ("floor_mod", np.mod, ["int32", "float32"]),
    ("maximum", np.maximum, ["float32", "int8", "uint8"]),
    ("minimum", np.minimum, ["float32", "int32"]),
    ("power", np.power, ["float32", "float64"]),
    ("left_shift", np.left_shift, ["int32"]),
    ("right_shift", np.right_shift, ["int32"]),
    ("greater", np.greater, ["float32", "int32"]),
    ("less_equal", np.less_equal, ["float64", "int32"]),
    ("equal", np.equal, ["int32"]),
    ("not_equal", np.not_equal, ["int32"]),
    ("logical_and", np.logical_and, ["bool"]),
    ("logical_or", np.logical_or, ["bool"]),
    ("logical_xor", np.logical_xor, ["bool"]),
    ("bitwise_and", np.bitwise_and, ["int32", "uint8"]),
    ("bitwise_or", np.bitwise_or, ["int32"]),
    ("bitwise_xor", np.bitwise_xor, ["int64"]),
]


@pytest.mark.parametrize("name, reference, dtypes", CASES, ids=[c[0] for c in CASES])
def test_agrees_with_numpy(name, reference, dtypes, run):
    rng = np.random.default_rng(1)
    for dtype in dtypes:
        for shape_a, shape_b in SHAPES:
            a, b = random_array(shape_a, dtype, rng), random_array(shape_b, dtype, rng)
            A = te.placeholder(shape_a, dtype, name="A")
            B = te.placeholder(shape_b, dtype, name="B")
            got = run(getattr(topi, name)(A, B), [A, B], [np.asarray(a), np.asarray(b)])
            np.testing.assert_allclose(got, reference(a, b), rtol=2e-6)


def test_symbolic_extent_broadcasts_when_it_is_one():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.placeholder((6,), name="B")
    C = topi.add(A, B)
    function = tessera.build(te.create_schedule(C.op), [A, B, C], "llvm")
    b = np.arange(6, dtype="float32")
    for a in (np.arange(6, dtype="float32"), np.ones(1, "float32")):
        out = tessera.nd.empty((6,))
        function(tessera.nd.array(a), tessera.nd.array(b), out)
        np.testing.assert_array_equal(out.numpy(), a + b)


def test_shapes_that_do_not_fit_are_rejected():
    with pytest.raises(ValueError, match=r"\(3,\)|cannot be broadcast together: 3 and 4 differ"):
        topi.add(te.placeholder((3,)), te.placeholder((4,)))


def test_two_numbers_give_a_number():
    assert isinstance(topi.add(te.var("x"), 1), tir.PrimExpr)


def test_operators_work_on_tensors(run):
    A, B = te.placeholder((2, 3), name="A"), te.placeholder((3,), name="B")
    a, b = np.ones((2, 3), "float32"), np.arange(3, dtype="float32")
    np.testing.assert_array_equal(run(A + B * 2.0, [A, B], [a, b]), a + b * 2)


def test_broadcast_to(run):
    A = te.placeholder((3, 1), name="A")
    a = np.arange(3, dtype="float32").reshape(3, 1)
    np.testing.assert_array_equal(run(topi.broadcast_to(A, (2, 3, 4)), [A], [a]), np.broadcast_to(a, (2, 3, 4)))


def test_an_element_and_a_tensor_without_dimensions_are_a_tensor():
    A, B = te.placeholder((), name="A"), te.placeholder((4, 4), name="B")
    assert isinstance(B[0, 1] + A, te.Tensor) and isinstance(A * B[2, 2], te.Tensor)
    C = te.compute((4,), lambda i: B[i, 0] + A)  # an element of a compute stays in it
    assert [tensor.op.name for tensor in C.op.input_tensors] == ["B", "A"]


def test_elements_are_cast_as_expressions():
    A, i = te.placeholder((4,), "int32", name="A"), te.var("i")
    element = topi.cast(A[i], "float32")
    assert isinstance(element, tir.Cast) and element.dtype == "float32" and element.value.producer.same_as(A)
