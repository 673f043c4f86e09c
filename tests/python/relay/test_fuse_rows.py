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
def test_lesser_processors_agree(cpu):
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
    assert sorted(rules(function)) == ["", "rows"]
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
