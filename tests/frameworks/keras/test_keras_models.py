"""Models of keras.applications against Keras: `make test-frameworks FRAMEWORK=keras`.

Weights are those of a seed; batch norms take their statistics from a forward pass, so that activations stay in range.
"""

import keras
import numpy as np
import pytest
from tessera import relay

MODELS = [
    ("ResNet50", 64),
    ("ResNet50V2", 64),
    ("VGG16", 32),
    ("MobileNet", 64),
    ("MobileNetV2", 64),
    ("MobileNetV3Small", 64),
    ("DenseNet121", 64),
    ("EfficientNetB0", 64),
    ("InceptionV3", 96),
    ("Xception", 96),
]


def model_of(name, size):
    keras.utils.set_random_seed(0)
    model = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=10)
    norms = [layer for layer in model.layers if isinstance(layer, keras.layers.BatchNormalization)]
    for norm in norms:
        norm.momentum = 0.0
    model(np.random.default_rng(1).random((8, size, size, 3), dtype="float32"), training=True)
    return model


@pytest.mark.parametrize("name, size", MODELS, ids=[name for name, _ in MODELS])
def test_a_model_answers_as_in_keras(name, size):
    model = model_of(name, size)
    image = np.random.default_rng(0).random((1, size, size, 3), dtype="float32")
    want = model.predict(image, verbose=0)
    mod, params = relay.frontend.from_keras(model, layout="NHWC")
    got = relay.create_executor("graph", mod, params=params).evaluate()(image).numpy()
    assert got.shape == want.shape and want.std() > 0
    assert np.abs(got - want).max() <= 1e-4 * np.abs(want).max()


@pytest.mark.parametrize("name, size", MODELS[:1], ids=[MODELS[0][0]])
@pytest.mark.parametrize("end", ["keras", "h5"])
def test_a_file_of_a_model_whose_layers_have_names(tmp_path, name, size, end):
    model = model_of(name, size)
    model.save(tmp_path / f"model.{end}")
    _, params = relay.frontend.from_keras(tmp_path / f"model.{end}", layout="NHWC")
    _, want = relay.frontend.from_keras(model, layout="NHWC")
    assert sorted(map(str, params)) == sorted(map(str, want))
    for key, value in want.items():
        np.testing.assert_array_equal(params[key].numpy(), value.numpy())
