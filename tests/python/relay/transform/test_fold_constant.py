"""FoldConstant: what depends on constants only is computed at compile time."""

import numpy as np
import tessera
from pass_checks import check, constants, module
from tessera import relay
from tessera.relay.transform import FoldConstant, FoldConstantExpr, FuseOps

ABC = np.array([1, 2, 3], "float32")


def x(shape=(3,), dtype="float32", name="x"):
    return relay.var(name, shape=shape, dtype=dtype)


def test_arithmetic_of_constants_becomes_one_constant():
    a = x()
    check(FoldConstant(), a + relay.const(ABC) * relay.const(2.0), a + relay.const(ABC * 2))


def test_all_constants_of_a_function_are_computed():
    a = x()
    mod = module(relay.Tuple([relay.add(a, relay.exp(relay.const(ABC + i))) for i in range(5)]))
    folded = constants(FoldConstant()(mod))
    assert len(folded) == 5
    for i, value in enumerate(folded):
        np.testing.assert_allclose(value, np.exp(ABC + i), rtol=1e-6)


def test_a_long_chain_of_constants_is_one_constant():
    value = relay.const(0.0)
    for _ in range(3000):
        value = value + relay.const(1.0)
    a = x()
    check(FoldConstant(), a + value, a + relay.const(3000.0), runs=False)


def test_fields_of_tuples_are_taken():
    a = x()
    check(FoldConstant(), relay.TupleGetItem(relay.Tuple([a, relay.exp(a)]), 1), relay.exp(a))


def test_a_constant_with_several_results_becomes_a_tuple():
    a = x()
    halves = relay.split(relay.const(np.arange(6, dtype="float32")), 2)
    check(
        FoldConstant(),
        relay.Tuple([halves[1] + a, halves.astuple()]),
        relay.Tuple(
            [
                relay.const(np.array([3, 4, 5], "float32")) + a,
                relay.Tuple([relay.const(np.array([0, 1, 2], "float32")), relay.const(np.array([3, 4, 5], "float32"))]),
            ]
        ),
        runs=False,
    )


def test_a_decided_branch_is_taken_and_folded_again():
    a, b = relay.var("a"), relay.var("b")
    before = relay.Let(
        a,
        relay.const(1.0) + relay.const(1.0),
        relay.Let(b, relay.If(relay.less(a, relay.const(3.0)), a * a, relay.const(0.0)), relay.add(b, x())),
    )
    check(FoldConstant(), before, relay.add(relay.const(4.0), x()), runs=False)


def test_lets_of_constants_go_away_and_others_stay():
    a, c, d = x(), relay.var("c"), relay.var("d")
    before = relay.Let(c, relay.const(1.0) + relay.const(2.0), relay.Let(d, relay.exp(a), relay.add(d, c)))
    check(FoldConstant(), before, relay.Let(d, relay.exp(a), relay.add(d, relay.const(3.0))))


def test_calls_without_arguments_and_large_fills_stay():
    a = x((1024, 1024))
    check(FoldConstant(), relay.add(a, relay.full(relay.const(1.0), (1024, 1024), "float32")), runs=False)
    check(FoldConstant(), relay.add(x(), relay.zeros((3,), "float32")))


def test_primitive_functions_are_left_alone():
    mod = FuseOps(2)(module(x() + (relay.const(1.0) + relay.const(2.0))))
    tessera.ir.assert_structural_equal(FoldConstant()(mod), mod)


def test_an_expression_can_be_folded_alone():
    out = FoldConstantExpr(relay.const(ABC) * relay.const(2.0), tessera.IRModule())
    np.testing.assert_array_equal(out.data.numpy(), ABC * 2)


def test_quantised_constants_are_computed_where_that_is_asked_for():
    quantised = relay.qnn.op.quantize(relay.const(ABC), relay.const(0.5), relay.const(1), out_dtype="int8")
    assert constants(FoldConstant()(module(quantised)))[0].dtype == "float32"
    (value,) = constants(FoldConstant(fold_qnn=True)(module(quantised)))
    np.testing.assert_array_equal(value, np.array([3, 5, 7], "int8"))
    assert value.dtype == "int8"
