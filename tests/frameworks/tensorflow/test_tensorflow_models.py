"""SavedModels with control flow against TensorFlow: `make test-frameworks FRAMEWORK=tensorflow`."""

import numpy as np
import pytest
import tensorflow as tf
import tessera


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("float32")


class Steps(tf.Module):
    """A state for each step of a sequence of any length, kept in a tensor list."""

    def __init__(self):
        super().__init__()
        self.w = tf.Variable(numbers(4, 4, seed=1), name="w")

    @tf.function(input_signature=[tf.TensorSpec((None, 3, 4), tf.float32, name="x")])
    def run(self, x):
        count = tf.shape(x)[0]
        steps, state = tf.TensorArray(tf.float32, size=count), tf.zeros((3, 4))
        for i in tf.range(count):
            state = tf.tanh(tf.matmul(state, self.w) + x[i])
            steps = steps.write(i, state)
        return {"all": steps.stack(), "last": state}


class Branches(tf.Module):
    """Branches in branches, which the data decides on, with weights of their own."""

    def __init__(self):
        super().__init__()
        self.a, self.b = (tf.Variable(numbers(4, 4, seed=seed), name=f"w{seed}") for seed in (2, 3))

    @tf.function(input_signature=[tf.TensorSpec((2, 4), tf.float32, name="x")])
    def run(self, x):
        if tf.reduce_sum(x) > 0.0:
            y = tf.matmul(x, self.a)
            if tf.reduce_max(y) > 1.0:
                y = y / tf.reduce_max(y)
        else:
            y = tf.nn.relu(tf.matmul(x, self.b))
        return {"y": y}


class Roots(tf.Module):
    """Newton's steps until they are small enough, each with a loop of its own for a power."""

    @tf.function(input_signature=[tf.TensorSpec((5,), tf.float32, name="x"), tf.TensorSpec((), tf.int32, name="n")])
    def run(self, x, n):
        root, count = tf.ones_like(x), 0
        change = tf.constant(1.0)
        while tf.logical_and(change > 1e-6, count < 50):
            power = tf.ones_like(x)
            for _ in tf.range(n - 1):
                power = power * root
            better = root - (power * root - x) / (tf.cast(n, tf.float32) * power)
            change, root, count = tf.reduce_max(tf.abs(better - root)), better, count + 1
        return {"root": root}


CASES = {
    "a loop, long": (Steps, [numbers(7, 3, 4)]),
    "a loop, short": (Steps, [numbers(2, 3, 4)]),
    "a branch": (Branches, [np.abs(numbers(2, 4)) + 1]),
    "a branch, small": (Branches, [np.abs(numbers(2, 4)) * 1e-3]),
    "the other branch": (Branches, [-np.abs(numbers(2, 4))]),
    "loops in loops": (Roots, [np.abs(numbers(5)) + 1, np.int32(3)]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_saved_model_answers_as_in_tensorflow(tmp_path, name):
    kind, inputs = CASES[name]
    model = kind()
    tf.saved_model.save(model, tmp_path / "model", signatures={"serving_default": model.run})
    want = model.run(*inputs)
    compiled = tessera.compile(tmp_path / "model")
    names = [one.name.removeprefix("serving_default_") for one in compiled.inputs]
    order = ["x", "n"]
    got = compiled(*[inputs[order.index(one)] for one in names])
    assert len(got) == len(want)
    for out, key in zip(got, sorted(want)):
        expected = want[key].numpy()
        assert out.shape == expected.shape
        np.testing.assert_allclose(out.numpy(), expected, rtol=0, atol=1e-4 * np.abs(expected).max())
