"""FuseRows: normalisations along the last axis are one kernel, however they are written."""

import numpy as np
import pytest
from kernel_checks import rules, run
from tessera import relay
from tessera.relay import const


def layer_norm_operator(x, gamma, beta):
    return relay.nn.layer_norm(x, gamma, beta, epsilon=1e-5)


def layer_norm_as_exported(x, gamma, beta):
    rest = x - relay.mean(x, axis=-1, keepdims=True)
    variance = relay.mean(relay.power(rest, const(2.0)), axis=-1, keepdims=True)
    return rest / relay.sqrt(variance + const(1e-5)) * gamma + beta


def rms_norm(x, gamma, beta):
    return x * relay.rsqrt(relay.mean(x * x, axis=-1, keepdims=True) + const(1e-5)) * gamma + beta


def softmax_in_parts(x, gamma, beta):
    power = relay.exp(x - relay.max(x, axis=-1, keepdims=True))
    return power / relay.sum(power, axis=-1, keepdims=True) * gamma + beta


def normal(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def shares(x):
    power = np.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


FORMS = {
    "operator": (layer_norm_operator, normal),
    "exported": (layer_norm_as_exported, normal),
    "rms": (rms_norm, lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)),
    "softmax": (softmax_in_parts, shares),
}


def program(form, shape):
    x = relay.var("x", shape=shape)
    gamma, beta = (relay.var(name, shape=shape[-1:]) for name in ("gamma", "beta"))
    rng = np.random.default_rng(3)
    values = [rng.standard_normal(size).astype("float32") for size in (shape, shape[-1:], shape[-1:])]
    build, reference = FORMS[form]
    answer = reference(values[0].astype("float64")) * values[1] + values[2]
    return relay.Function([x, gamma, beta], build(x, gamma, beta)), values, answer


@pytest.mark.parametrize("shape", [(4, 64), (2, 3, 768), (7, 33), (1, 5, 1000), (1, 17)], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_a_normalisation_is_one_kernel_and_right(form, shape):
    function, values, answer = program(form, shape)
    assert rules(function) == ["rows"]
    np.testing.assert_allclose(run(function, values), answer, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("cpu", ["haswell", "x86-64"])
def test_lesser_cpus_agree(cpu):
    function, values, answer = program("exported", (5, 100))
    np.testing.assert_allclose(run(function, values, f"llvm -mcpu={cpu}"), answer, rtol=2e-5, atol=2e-6)


def test_the_number_of_cores_does_not_change_a_bit():
    function, values, _ = program("operator", (300, 96))
    one = run(function, values, "llvm -num-cores=1")
    assert np.array_equal(run(function, values, "llvm -num-cores=8"), one)


def test_a_sum_after_a_product_stays_with_the_product():
    x, w, residual = (relay.var(name, shape=(64, 64)) for name in ("x", "w", "residual"))
    gamma, beta = (relay.var(name, shape=(64,)) for name in ("gamma", "beta"))
    total = relay.nn.dense(x, w) + residual
    function = relay.Function([x, w, residual, gamma, beta], layer_norm_as_exported(total, gamma, beta))
    assert sorted(rules(function)) == ["matmul", "rows"]
    rng = np.random.default_rng(3)
    values = [rng.standard_normal(size).astype("float32") for size in ((64, 64),) * 3 + ((64,),) * 2]
    wide = [value.astype("float64") for value in values]
    answer = normal(wide[0] @ wide[1].T + wide[2]) * wide[3] + wide[4]
    np.testing.assert_allclose(run(function, values), answer, rtol=2e-4, atol=2e-5)


def test_statistics_that_are_asked_for_are_kept():
    x = relay.var("x", shape=(4, 64))
    middle = relay.mean(x, axis=-1, keepdims=True)
    function = relay.Function([x], relay.Tuple([x - middle, middle]))
    value = np.random.default_rng(3).standard_normal((4, 64)).astype("float32")
    np.testing.assert_allclose(run(function, [value]), value - value.mean(-1, keepdims=True), rtol=1e-5, atol=1e-6)


def test_a_long_chain_of_functions_is_searched_quickly():
    x = relay.var("x", shape=(4, 64))
    out = x
    for _ in range(3000):
        out = relay.negative(out)
    function = relay.Function([x], out - relay.mean(out, axis=-1, keepdims=True))
    assert "rows" in rules(function)


def over_channels(value, axis):
    """One of each channel, beside four dimensions."""
    return value.reshape([-1 if i == axis else 1 for i in range(4)])


@pytest.mark.parametrize("shape", [(2, 3, 8, 8), (1, 5, 7, 9), (2, 4, 1, 33), (1, 1, 13, 17)], ids=str)
def test_instance_normalisation_is_one_kernel_and_right(shape):
    x = relay.var("x", shape=shape)
    gamma, beta = (relay.var(name, shape=shape[1:2]) for name in ("gamma", "beta"))
    function = relay.Function([x, gamma, beta], relay.nn.instance_norm(x, gamma, beta))
    assert rules(function).count("rows") == 1
    rng = np.random.default_rng(3)
    values = [rng.standard_normal(size).astype("float32") for size in (shape, shape[1:2], shape[1:2])]
    wide = values[0].astype("float64")
    rest = wide - wide.mean((2, 3), keepdims=True)
    answer = rest / np.sqrt(wide.var((2, 3), keepdims=True) + 1e-5)
    answer = answer * over_channels(values[1], 1) + over_channels(values[2], 1)
    np.testing.assert_allclose(run(function, values), answer, rtol=2e-5, atol=2e-6)


def test_group_normalisation_is_right():
    shape, groups = (2, 6, 5, 7), 3
    x = relay.var("x", shape=shape)
    gamma, beta = (relay.var(name, shape=(6,)) for name in ("gamma", "beta"))
    function = relay.Function([x, gamma, beta], relay.nn.group_norm(x, gamma, beta, num_groups=groups))
    assert "rows" in rules(function)
    rng = np.random.default_rng(3)
    values = [rng.standard_normal(size).astype("float32") for size in (shape, (6,), (6,))]
    wide = values[0].astype("float64").reshape(2, groups, -1)
    answer = ((wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)).reshape(shape)
    answer = answer * over_channels(values[1], 1) + over_channels(values[2], 1)
    np.testing.assert_allclose(run(function, values), answer, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["mean", "sum", "max", "variance"])
def test_reductions_over_several_last_axes_are_right(name, keepdims):
    x = relay.var("x", shape=(3, 4, 7, 9))
    function = relay.Function([x], getattr(relay, name)(x, axis=[2, 3], keepdims=keepdims))
    value = np.random.default_rng(4).standard_normal((3, 4, 7, 9)).astype("float32")
    reference = {"mean": np.mean, "sum": np.sum, "max": np.max, "variance": np.var}[name]
    answer = reference(value.astype("float64"), axis=(2, 3), keepdims=keepdims)
    np.testing.assert_allclose(run(function, [value]), answer, rtol=2e-5, atol=2e-5)
