"""Corners of operators in functions against TensorFlow: `make test-frameworks FRAMEWORK=tensorflow`."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
from tessera import relay


def numbers(*shape):
    return np.random.default_rng(0).uniform(-1, 1, shape).astype("float32")


def growing(x):
    """An array that each step makes longer."""
    steps = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    for i in range(3):
        steps = steps.write(i, x[i] * i)
    return steps.stack(), steps.size()


def overlapping(x):
    boxes = tf.constant([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3.0]])
    return tf.image.non_max_suppression_with_scores(boxes, tf.abs(x[0, :3]), 3, 0.3, 0.01, 0.5)


FUNCTIONS = {
    "a list that grows": growing,
    "boxes that overlap, softly": overlapping,
    "rows of no segment": lambda x: (
        tf.math.unsorted_segment_sum(x, [1, -1, 0], 2),
        tf.math.unsorted_segment_max(x, [-1, -1, 2], 3),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_answers_as_in_tensorflow(name):
    x = numbers(3, 4)
    function = tf.function(FUNCTIONS[name], input_signature=[tf.TensorSpec(x.shape, x.dtype, name="x")])
    frozen = convert_variables_to_constants_v2(function.get_concrete_function(), lower_control_flow=False)
    outputs = [tensor.name for tensor in frozen.outputs]
    mod, params = relay.frontend.from_tensorflow(frozen.graph.as_graph_def(), shape={"x": x.shape}, outputs=outputs)
    got = relay.create_executor("vm", mod).evaluate()(*([x] if mod["main"].params else []), **params)
    for out, want in zip(got, tf.nest.flatten(function(x)), strict=True):
        assert out.shape == want.shape
        np.testing.assert_allclose(out.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)
