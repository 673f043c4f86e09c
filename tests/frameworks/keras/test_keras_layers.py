"""Layers beyond the list of docs/operators_by_framework.md, and attention in files of Keras 2, against Keras."""

import keras
import numpy as np
import pytest
from keras import layers
from tessera import relay

RANDOM = np.random.default_rng(0)


def check(model, x, given=None):
    want = np.asarray(model(x))
    mod, params = relay.frontend.from_keras(model if given is None else given, layout="NHWC")
    got = relay.create_executor("graph", mod).evaluate()(x, **params).numpy()
    assert got.shape == want.shape and np.abs(got - want).max() <= 1e-5 * np.abs(want).max()


@pytest.mark.parametrize(
    "layer",
    [
        layers.RMSNormalization(),
        layers.GroupNormalization(3),
        layers.GroupNormalization(-1, center=False),
        layers.UnitNormalization(),
        layers.UnitNormalization(axis=[1, 2]),
        layers.Softmax((1, 2)),
    ],
    ids=lambda layer: layer.name,
)
def test_a_layer_answers_as_in_keras(layer):
    inputs = keras.Input((4, 5, 6), batch_size=2)
    model = keras.Model(inputs, layer(inputs))
    for weight in model.weights:
        weight.assign(RANDOM.uniform(0.5, 1, weight.shape))
    check(model, RANDOM.uniform(-1, 1, (2, 4, 5, 6)).astype("float32"))


@pytest.mark.parametrize("form", ["model", "h5", "keras"])
def test_attention_of_keras_2(form, tmp_path):
    """Keys and values of other sizes, so that no weight stands for another."""
    old = pytest.importorskip("tf_keras")
    inputs = old.Input((6, 8), batch_size=2)
    values = old.layers.Dense(5)(inputs)
    out = old.layers.MultiHeadAttention(2, 3, value_dim=4)(inputs, values, key=old.layers.Dense(7)(inputs))
    model = old.Model(inputs, out)
    if form != "model":
        model.save(tmp_path / f"model.{form}")
    x = RANDOM.uniform(-1, 1, (2, 6, 8)).astype("float32")
    check(model, x, None if form == "model" else tmp_path / f"model.{form}")
