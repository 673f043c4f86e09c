"""Models of keras.applications as TFLite has them, against its interpreter: `make test-frameworks FRAMEWORK=tflite`."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.lite.python import schema_py_generated as schema
from tensorflow.lite.tools import flatbuffer_utils
from tessera import relay

MODELS = {"MobileNet": 64, "MobileNetV2": 64, "ResNet50": 64}


def images(size):
    return np.random.default_rng(0).random((4, size, size, 3), dtype="float32")


def converter_of(name):
    """Batch norms have statistics of a forward pass, so that activations stay in range."""
    keras.utils.set_random_seed(0)
    size = MODELS[name]
    model = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=10)
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = 0.0
    model(images(size), training=True)
    return tf.lite.TFLiteConverter.from_keras_model(model)


def converted_to_integers(name):
    converter = converter_of(name)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([image[None]] for image in images(MODELS[name]))
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    return converter.convert()


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
    content, x = converter_of(name).convert(), images(MODELS[name])[:1]
    got, want = compiled(content, x), interpreted(content, x)
    assert want.std() > 0 and np.abs(got - want).max() <= 1e-4 * np.abs(want).max()


OPERATORS = {value: key for key, value in vars(schema.BuiltinOperator).items() if isinstance(value, int)}
MOVES = ("PACK", "RESHAPE", "SHAPE", "STRIDED_SLICE")


def operators_of(content, x):
    """Each operator that computes: its name, a model of it alone, the inputs of that and its result within the model."""
    resolver = tf.lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    whole = tf.lite.Interpreter(
        model_content=content, experimental_op_resolver_type=resolver, experimental_preserve_all_tensors=True
    )
    whole.allocate_tensors()
    info = whole.get_input_details()[0]
    scale, zero = info["quantization"]
    whole.set_tensor(info["index"], np.clip(np.round(x / scale) + zero, -128, 127).astype("int8"))
    whole.invoke()
    model = flatbuffer_utils.read_model_from_bytearray(bytearray(content))
    graph, model.signatureDefs = model.subgraphs[0], None
    for operator in graph.operators:
        code = model.operatorCodes[operator.opcodeIndex]
        name = OPERATORS[max(code.builtinCode, code.deprecatedBuiltinCode)]
        if name in MOVES:
            continue
        given = [int(i) for i in operator.inputs if i >= 0 and model.buffers[graph.tensors[i].buffer].data is None]
        graph.operators, graph.inputs = [operator], list(dict.fromkeys(given))
        graph.outputs = [int(operator.outputs[0])]
        alone = bytes(flatbuffer_utils.convert_object_to_bytearray(model))
        yield name, alone, [whole.get_tensor(i) for i in graph.inputs], whole.get_tensor(graph.outputs[0])


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_integers(name):
    """Operator by operator: one element of the input a step away moves scores of these models by tens of steps."""
    apart, of = {}, {}
    for operator, alone, inputs, want in operators_of(converted_to_integers(name), images(MODELS[name])[:1]):
        mod, params = relay.frontend.from_tflite(alone)
        got = relay.create_executor("graph", mod, params=params).evaluate()(*inputs).numpy()
        difference = np.abs(got.astype("int32") - want)
        assert difference.max() <= 1, operator
        apart[operator] = apart.get(operator, 0) + np.count_nonzero(difference)
        of[operator] = of.get(operator, 0) + difference.size
    shares = {operator: apart[operator] / of[operator] for operator in of}
    # The interpreter rounds a convolution's sums twice, and adds a half to means before it rounds them.
    assert all(share <= (0.3 if operator == "MEAN" else 0.01) for operator, share in shares.items()), shares
