"""JoinReducedAxes: reductions over several last axes of what lies in memory go over one."""

import numpy as np
import pytest
import tessera
from kernel_checks import rules, run
from pass_checks import check
from tessera import relay

JOIN = tessera.get_global_func("relay._transform.JoinReducedAxes")


def test_axes_that_are_left_out():
    x = relay.var("x", shape=(2, 3, 4, 5))
    check(JOIN(), relay.max(x, axis=[2, 3]), relay.max(relay.reshape(x, (2, 3, -1)), axis=[2]))


def test_axes_that_are_kept():
    x = relay.var("x", shape=(2, 3, 4, 5))
    after = relay.reshape(relay.mean(relay.reshape(x, (2, -1)), axis=[1]), (2, 1, 1, 1))
    check(JOIN(), relay.mean(x, axis=[-1, 1, 2], keepdims=True), after)


def test_pools_over_whole_images():
    x = relay.var("x", shape=(2, 3, 4, 5))
    after = relay.reshape(relay.mean(relay.reshape(x, (2, 3, -1)), axis=[2]), (2, 3, 1, 1))
    check(JOIN(), relay.nn.global_avg_pool2d(x), after)


def test_functions_of_elements_come_along():
    x = relay.var("x", shape=(2, 3, 4, 5), dtype="float16")
    before = relay.sum(relay.exp(relay.cast(x, "float32")), axis=[2, 3])
    check(JOIN(), before, relay.sum(relay.exp(relay.cast(relay.reshape(x, (2, 3, -1)), "float32")), axis=[2]))


@pytest.mark.parametrize(
    "reduce",
    [
        lambda x: relay.sum(x, axis=[3]),
        lambda x: relay.sum(x, axis=[1, 2]),
        lambda x: relay.sum(x, axis=[0, 1, 2, 3]),
        lambda x: relay.sum(x + relay.ones((4, 5), "float32"), axis=[2, 3]),
        lambda x: relay.nn.global_max_pool2d(x, layout="NHWC"),
    ],
)
def test_others_stay(reduce):
    check(JOIN(), reduce(relay.var("x", shape=(2, 3, 4, 5))))


def test_tensors_of_one_value_stay_as_they_are():
    value = relay.var("value", shape=())
    check(
        JOIN(), relay.sum(relay.full(value, (64, 200), "float32")), relay.sum(relay.full(value, (64, 200), "float32"))
    )


@pytest.mark.parametrize(
    "create", [relay.zeros, relay.ones, lambda shape, dtype: relay.full(relay.const(1.0), shape, dtype)]
)
@pytest.mark.parametrize("shape", [(5,), (64, 100)])
@pytest.mark.parametrize("opt_level", [0, 3])
def test_tensors_of_a_shape_that_is_an_argument_are_reduced(create, shape, opt_level):
    extents = relay.var("extents", shape=(len(shape),), dtype="int64")
    value = float(create is not relay.zeros)
    for axes in (None, list(range(len(shape)))):
        body = relay.sum(relay.exp(create(extents, "float32")), axis=axes)
        mod = tessera.IRModule.from_expr(relay.Function([extents], body))
        with tessera.transform.PassContext(opt_level=opt_level):
            got = relay.create_executor("vm", mod, tessera.cpu(), "llvm").evaluate()(np.array(shape, "int64"))
        np.testing.assert_allclose(got.numpy(), np.prod(shape) * np.exp(value), rtol=1e-4)


def test_normalisations_stay_one_kernel():
    x = relay.var("x", shape=(2, 8, 7, 7))
    rest = x - relay.mean(x, axis=[2, 3], keepdims=True)
    function = relay.Function([x], rest * relay.rsqrt(relay.mean(rest * rest, axis=[2, 3], keepdims=True)))
    assert rules(function) == ["rows"]


@pytest.mark.parametrize("name", ["mean", "sum", "max", "min", "prod"])
def test_results_are_the_same(name):
    data = np.random.RandomState(0).uniform(0.9, 1.1, (3, 5, 6, 11)).astype("float32")
    x = relay.var("x", shape=data.shape)
    got = run(relay.Function([x], getattr(relay, name)(x, axis=[2, 3])), [data])
    np.testing.assert_allclose(got, getattr(np, name)(data, axis=(2, 3)), rtol=1e-5)


def test_all_axes_go_by_rows_and_then_over_their_results():
    x = relay.var("x", shape=(100, 30, 20))
    rows = relay.max(relay.reshape(x, (15, -1)), axis=[1])
    after = relay.reshape(relay.max(relay.reshape(rows, (1, -1)), axis=[1]), ())
    check(JOIN(), relay.max(x, axis=[0, 1, 2]), after)
    check(JOIN(), relay.max(x), after)


def test_few_elements_are_one_loop():
    x = relay.var("x", shape=(10, 20))
    check(JOIN(), relay.sum(x, axis=[0, 1]), relay.sum(x, axis=[0, 1]))
