"""SimplifyInference: what only differs while training becomes arithmetic."""

import numpy as np
import pytest
import tessera
from pass_checks import check, module, random_inputs, run
from tessera import relay
from tessera.relay.transform import SimplifyInference


def var(name, *shape):
    return relay.var(name, shape=shape)


def test_dropout_gives_its_input():
    x = var("x", 2, 3)
    check(SimplifyInference(), relay.nn.dropout(x), x)


@pytest.mark.parametrize(("axis", "shape"), [(1, (2, 4, 3, 3)), (3, (2, 3, 3, 4)), (-1, (2, 4))])
@pytest.mark.parametrize(("scale", "center"), [(True, True), (False, True), (True, False)])
def test_batch_norm_is_a_product_and_a_sum(axis, shape, scale, center):
    x, gamma, beta, mean, variance = var("x", *shape), *(var(name, 4) for name in "gbmv")
    norm = relay.nn.batch_norm(x, gamma, beta, mean, variance, axis=axis, epsilon=0.01, center=center, scale=scale)[0]
    mod = SimplifyInference()(module(norm))
    values = random_inputs(module(norm))
    spread = [-1 if i == axis % len(shape) else 1 for i in range(len(shape))]
    wanted = (values["x"] - values["m"].reshape(spread)) / np.sqrt(values["v"].reshape(spread) + 0.01)
    wanted = wanted * values["g"].reshape(spread) if scale else wanted
    wanted = wanted + values["b"].reshape(spread) if center else wanted
    np.testing.assert_allclose(run(mod, values)[0], wanted, rtol=1e-4, atol=1e-5)


def reference(x, gamma, beta, axes, spread, eps=1e-5):
    centred = x - x.mean(axis=axes, keepdims=True)
    return centred / np.sqrt(x.var(axis=axes, keepdims=True) + eps) * gamma.reshape(spread) + beta.reshape(spread)


def test_layer_and_instance_norm():
    x, gamma, beta = var("x", 2, 4, 3, 5), var("g", 5), var("b", 5)
    expr = relay.nn.layer_norm(x, gamma, beta)
    values = random_inputs(module(expr))
    wanted = reference(values["x"], values["g"], values["b"], (3,), (1, 1, 1, 5))
    np.testing.assert_allclose(run(SimplifyInference()(module(expr)), values)[0], wanted, rtol=1e-4, atol=1e-5)

    gamma, beta = var("g", 4), var("b", 4)
    expr = relay.nn.instance_norm(x, gamma, beta)
    values = random_inputs(module(expr))
    wanted = reference(values["x"], values["g"], values["b"], (2, 3), (1, 4, 1, 1))
    np.testing.assert_allclose(run(SimplifyInference()(module(expr)), values)[0], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axis", [1, 3])
def test_group_norm_reduces_over_its_channels_and_space(axis):
    shape = (2, 4, 3, 3) if axis == 1 else (2, 3, 3, 4)
    x, gamma, beta = var("x", *shape), var("g", 4), var("b", 4)
    expr = relay.nn.group_norm(x, gamma, beta, 2, axis=axis)
    values = random_inputs(module(expr))
    data = np.moveaxis(values["x"], axis, 1).reshape(2, 2, 2, 3, 3)
    normal = (data - data.mean((2, 3, 4), keepdims=True)) / np.sqrt(data.var((2, 3, 4), keepdims=True) + 1e-5)
    normal = normal.reshape(2, 4, 3, 3) * values["g"].reshape(4, 1, 1) + values["b"].reshape(4, 1, 1)
    got = run(SimplifyInference()(module(expr)), values)[0]
    np.testing.assert_allclose(got, np.moveaxis(normal, 1, axis), rtol=1e-4, atol=1e-5)


def test_l2_normalize():
    x = var("x", 2, 3)
    squares = relay.sum(x * x, axis=[1], keepdims=True)
    check(
        SimplifyInference(),
        relay.nn.l2_normalize(x, 0.001, [1]),
        x / relay.sqrt(relay.maximum(squares, relay.const(0.001))),
    )


def test_running_statistics_of_batch_norm_stay():
    x, gamma, beta, mean, variance = var("x", 2, 4), *(var(name, 4) for name in "gbmv")
    norm = relay.nn.batch_norm(x, gamma, beta, mean, variance)
    mod = SimplifyInference()(module(norm[1]))
    assert "nn.batch_norm" in str(mod)
    tessera.ir.assert_structural_equal(mod, module(norm[1]))
