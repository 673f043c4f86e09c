"""Models of keras.applications as TFLite has them, against its interpreter: `make test-frameworks FRAMEWORK=tflite`."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from tessera import relay

MODELS = {"MobileNet": 64, "MobileNetV2": 64, "ResNet50": 64}


def images(size):
    return np.random.default_rng(0).random((4, size, size, 3), dtype="float32")


def converted(name):
    """The model as a file. Batch norms have statistics of a forward pass, so that activations stay in range."""
    keras.utils.set_random_seed(0)
    size = MODELS[name]
    model = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=10)
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = 0.0
    model(images(size), training=True)
    return tf.lite.TFLiteConverter.from_keras_model(model).convert()


def interpreted(content, x):
    resolver = tf.lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = tf.lite.Interpreter(model_content=content, experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def compiled(content, x):
    mod, params = relay.frontend.from_tflite(content)
    return relay.create_executor("graph", mod, params=params).evaluate()(x).numpy()


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_real_numbers(name):
    content, x = converted(name), images(MODELS[name])[:1]
    got, want = compiled(content, x), interpreted(content, x)
    assert want.std() > 0 and np.abs(got - want).max() <= 1e-4 * np.abs(want).max()
