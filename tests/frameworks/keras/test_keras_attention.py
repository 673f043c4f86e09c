"""Attention of several heads and indices of tensors, from objects and from files."""

import keras
import numpy as np
import pytest
import tessera
from keras import layers
from tessera import relay


@pytest.mark.parametrize("causal", [False, True])
def test_an_encoder_answers_as_in_keras(tmp_path, causal):
    keras.utils.set_random_seed(0)
    tokens, memory = keras.Input((7,), dtype="int32", name="tokens"), keras.Input((5, 12), name="memory")
    x = layers.Embedding(11, 16)(tokens)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 6)(x, x, use_causal_mask=causal))
    x = x + layers.MultiHeadAttention(2, 5, value_dim=3, use_bias=False)(x, memory)
    model = keras.Model([tokens, memory], [x[:, 0], x[:, 1:6:2, -3], x])
    for layer in model.layers:
        layer.set_weights([np.random.default_rng(1).normal(size=value.shape) for value in layer.get_weights()])
    path = tmp_path / "encoder.keras"
    model.save(path)
    rng = np.random.default_rng(0)
    data = rng.integers(0, 11, (1, 7)).astype("int32"), rng.normal(size=(1, 5, 12)).astype("float32")
    want = [np.asarray(value) for value in model(list(data))]
    for given in (model, path):
        mod, params = relay.frontend.from_keras(given, {"tokens": (1, 7), "memory": (1, 5, 12)})
        got = relay.create_executor("graph", mod, tessera.cpu(), "llvm").evaluate()(*data, **params)
        for ours, theirs in zip(got, want, strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-4, atol=1e-4)
