"""te.gradient against finite differences."""

import numpy as np
import pytest
import tessera
from tessera import te, tir, topi
from tessera.testing import check_numerical_grads

D = "float64"


def run(tensors, inputs, values):
    """What the tensors are for these values of the inputs."""
    schedule = te.create_schedule([tensor.op for tensor in tensors])
    function = tessera.build(schedule, [*inputs, *tensors], "llvm")
    shapes = [[int(extent) for extent in tensor.shape] for tensor in tensors]
    results = [tessera.nd.array(np.full(shape, np.nan, tensor.dtype)) for shape, tensor in zip(shapes, tensors)]
    function(*[tessera.nd.array(value) for value in values], *results)
    return [result.numpy() for result in results]


def check(output, inputs, low=-1.0, high=1.0, seed=0):
    """The gradients of a weighted sum of the output's elements, and the whole Jacobians."""
    rng = np.random.RandomState(seed)
    values = [rng.uniform(low, high, [int(n) for n in tensor.shape]) for tensor in inputs]
    shape = [int(n) for n in output.shape]
    weights = rng.uniform(-1, 1, shape)
    head = te.placeholder(shape, D, name="head")
    grads = run(te.gradient(output, inputs, head), [*inputs, head], [*values, weights])

    schedule = te.create_schedule(output.op)
    forward = tessera.build(schedule, [*inputs, output], "llvm")

    def scalar(*arrays):
        out = tessera.nd.array(np.zeros(shape))
        forward(*[tessera.nd.array(np.asarray(a)) for a in arrays], out)
        return (out.numpy() * weights).sum()

    check_numerical_grads(scalar, values, grads)
    for grad, jacobian in zip(grads, run(te.gradient(output, inputs), inputs, values)):
        together = np.tensordot(weights, jacobian, axes=len(shape))
        np.testing.assert_allclose(together, grad, rtol=1e-7, atol=1e-9)


def placeholders(*shapes):
    return [te.placeholder(shape, D, name="ABCDE"[i]) for i, shape in enumerate(shapes)]


UNARY = ["exp", "sigmoid", "tanh", "erf", "sin", "cos", "tan", "sinh", "cosh", "atan", "asinh", "abs"]
POSITIVE = ["log", "sqrt", "rsqrt", "log2", "log10", "acosh"]


@pytest.mark.parametrize("name", UNARY + POSITIVE + ["asin", "acos", "atanh"])
def test_functions_of_one_number(name):
    (A,) = placeholders((7,))
    low, high = {"acosh": (1.5, 3)}.get(name, (0.2, 3) if name in POSITIVE else (-0.8, 0.8))
    check(te.compute((7,), lambda i: getattr(te, name)(A[i]) * 2.0), [A], low, high)


@pytest.mark.parametrize("name", ["exp2", "exp10", "log1p"])
def test_functions_that_only_tir_has(name):
    (A,) = placeholders((5,))
    check(te.compute((5,), lambda i: getattr(tir, name)(A[i])), [A], 0.2, 1.5)


def test_arithmetic_of_two_tensors():
    A, B = placeholders((4, 3), (4, 3))
    check(te.compute((4, 3), lambda i, j: A[i, j] * B[i, j] - A[i, j] / (B[i, j] + 3.0) + 1.0), [A, B])
    check(te.compute((4, 3), lambda i, j: te.power(A[i, j], B[i, j])), [A, B], 0.3, 2)
    check(te.compute((4, 3), lambda i, j: te.max(A[i, j], B[i, j]) - te.min(A[i, j] * 2.0, B[i, j])), [A, B])


def test_choices_and_steps():
    A, B = placeholders((5,), (5,))
    check(te.compute((5,), lambda i: te.if_then_else(i < 2, A[i] * 3.0, B[i] * B[i])), [A, B])
    check(te.compute((5,), lambda i: tir.Select(A[i] > 0.1, A[i] * A[i], B[i]) + te.floor(A[i] * 4.0)), [A, B])
    check(te.compute((5,), lambda i: A[i].astype("float32").astype(D) * 2.0 + i.astype(D)), [A])


def test_a_value_bound_by_let():
    (A,) = placeholders((5,))
    x = tir.Var("x", D)
    check(te.compute((5,), lambda i: tir.Let(x, A[i] * A[i], x * x + A[i])), [A])


def test_the_same_tensor_read_at_several_indices():
    (A,) = placeholders((8,))
    check(te.compute((6,), lambda i: A[i] * A[i + 1] + A[i + 2] * A[i]), [A])


def test_matmul_and_a_chain_of_layers():
    A, B, C = placeholders((3, 5), (5, 4), (4, 2))
    k, l = te.reduce_axis((0, 5), "k"), te.reduce_axis((0, 4), "l")
    hidden = te.compute((3, 4), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="hidden")
    active = te.compute((3, 4), lambda i, j: te.tanh(hidden[i, j]), name="active")
    check(te.compute((3, 2), lambda i, j: te.sum(active[i, l] * C[l, j], axis=l), name="out"), [A, B, C])


def test_only_axes_that_are_not_determined_are_summed_over():
    A, B = placeholders((3, 5), (5, 4))
    k = te.reduce_axis((0, 5), "k")
    C = te.compute((3, 4), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    head = te.placeholder((3, 4), D, name="head")
    by_a, by_b = te.gradient(C, [A, B], head)
    assert [int(axis.dom.extent) for axis in by_a.op.reduce_axis] == [4]
    assert [int(axis.dom.extent) for axis in by_b.op.reduce_axis] == [3]
    assert "if_then_else" not in str(by_a.op.body) and "if_then_else" not in str(by_b.op.body)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
def test_convolution(stride, dilation):
    A, W = placeholders((2, 11), (3, 2, 3))
    c, r = te.reduce_axis((0, 2), "c"), te.reduce_axis((0, 3), "r")
    width = (11 - 2 * dilation - 1) // stride + 1
    check(
        te.compute(
            (3, width), lambda o, x: te.sum(A[c, x * stride + r * dilation] * W[o, c, r], axis=[c, r]), name="conv"
        ),
        [A, W],
    )


def test_padding_reversal_and_transposition():
    (A,) = placeholders((4, 3))
    padded = te.compute((6, 3), lambda i, j: te.if_then_else(te.all(i >= 1, i < 5), A[i - 1, j] * A[i - 1, j], 0.0))
    check(te.compute((3, 6), lambda i, j: padded[5 - j, i] * 2.0), [A])


def test_indices_that_cannot_be_solved_stay_conditions():
    (A,) = placeholders((12,))
    check(te.compute((3, 4), lambda i, j: A[i * 4 + j] * A[i * 4 + j]), [A])
    check(te.compute((12,), lambda i: A[te.floordiv(i, 3)] + A[te.floormod(i * 5, 12)] * 2.0), [A])
    (B,) = placeholders((4, 3))
    check(te.compute((12,), lambda i: te.exp(B[te.floordiv(i, 3), te.floormod(i, 3)])), [B])


@pytest.mark.parametrize("reducer", [te.max, te.min, "prod"])
def test_reductions_that_are_no_sums(reducer):
    A, B = placeholders((3, 4), (3,))
    k = te.reduce_axis((0, 4), "k")
    reducer = te.comm_reducer(lambda x, y: x * y, lambda t: tir.const(1, t)) if reducer == "prod" else reducer
    check(te.compute((3,), lambda i: reducer(A[i, k] * B[i] + 0.1, axis=k)), [A, B], 0.5, 1.5)
    check(te.compute((4,), lambda j: reducer(A[te.floormod(j + k, 3), k], axis=k)), [A], 0.5, 1.5)


def test_a_reduction_with_a_condition():
    (A,) = placeholders((5, 5))
    k = te.reduce_axis((0, 5), "k")
    check(te.compute((5,), lambda i: te.sum(A[i, k] * A[k, i], axis=k, where=k <= i)), [A])


def test_scalars_and_broadcasts():
    A, s = placeholders((4, 3), ())
    check(te.compute((4, 3), lambda i, j: A[i, j] * s() + s()), [A, s])
    check(topi.add(topi.sum(topi.multiply(A, A), axis=1), s), [A, s])
    check(te.compute((), lambda: s() * s()), [s])


def test_gradient_by_a_tensor_in_the_middle():
    (A,) = placeholders((4,))
    middle = te.compute((4,), lambda i: te.exp(A[i]), name="middle")
    out = te.compute((4,), lambda i: middle[i] * middle[i] * A[i], name="out")
    head = te.placeholder((4,), D, name="head")
    by_middle, by_a = te.gradient(out, [middle, A], head)
    x = np.linspace(-1, 1, 4)
    got = run([by_middle, by_a], [A, head], [x, np.ones(4)])
    np.testing.assert_allclose(got[0], 2 * np.exp(x) * x, rtol=1e-9)
    np.testing.assert_allclose(got[1], np.exp(2 * x) * (1 + 2 * x), rtol=1e-9)


def test_axes_of_the_head_before_those_of_the_output_are_kept():
    (A,) = placeholders((4, 3))
    k = te.reduce_axis((0, 4), "k")
    out = te.compute((3,), lambda j: te.sum(A[k, j] * A[k, j], axis=k))
    head = te.placeholder((2, 5, 3), D, name="head")
    (grad,) = te.gradient(out, A, head)
    assert [int(n) for n in grad.shape] == [2, 5, 4, 3]
    rng = np.random.RandomState(0)
    a, h = rng.randn(4, 3), rng.randn(2, 5, 3)
    np.testing.assert_allclose(run([grad], [A, head], [a, h])[0], h[:, :, None, :] * 2 * a, rtol=1e-9)


def test_the_output_by_itself_is_the_identity_and_others_are_zero():
    A, B = placeholders((2, 3), (4,))
    out = te.compute((2, 3), lambda i, j: A[i, j] * 2.0)
    own, other = te.gradient(out, [out, B])
    got = run([own, other], [A, B], [np.ones((2, 3)), np.ones(4)])
    np.testing.assert_array_equal(got[0].reshape(6, 6), np.eye(6))
    assert got[1].shape == (2, 3, 4) and not got[1].any()


def test_symbolic_shapes():
    n = te.var("n")
    A = te.placeholder((n,), D, name="A")
    B = te.compute((n,), lambda i: A[i] * A[i] * A[i])
    head = te.placeholder((n,), D, name="head")
    (grad,) = te.gradient(B, A, head)
    function = tessera.build(te.create_schedule(grad.op), [A, head, grad], "llvm")
    x = np.linspace(-1, 1, 9)
    out = tessera.nd.array(np.zeros(9))
    function(tessera.nd.array(x), tessera.nd.array(np.ones(9)), out)
    np.testing.assert_allclose(out.numpy(), 3 * x * x, rtol=1e-9)


def test_what_has_no_derivative_is_rejected():
    (A,) = placeholders((4,))
    with pytest.raises(NotImplementedError, match=r"no rule for the derivative of .*fmod"):
        te.gradient(te.compute((4,), lambda i: te.fmod(A[i], 2.0)), [A])
    outside = te.extern((4,), [A], lambda ins, outs: tir.call_packed("x", ins[0], outs[0]), name="outside", dtype=D)
    with pytest.raises(NotImplementedError, match="outside is a ExternOp; only computes can be differentiated"):
        te.gradient(te.compute((4,), lambda i: outside[i]), [A])
    with pytest.raises(TypeError, match="only floats have derivatives"):
        te.gradient(te.compute((4,), lambda i: i), [A])
    with pytest.raises(ValueError, match="the head has 0 axes"):
        te.gradient(te.compute((4,), lambda i: A[i]), [A], te.placeholder((), D))
