"""Dynamic leading axes (a batch, rows of a text) whose iterations are independent: the kernel of fixed extents in a loop."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.runtime import vm

ANY = relay.Any()
RNG = np.random.default_rng(11)


def values(*shape):
    return RNG.standard_normal(shape).astype("float32")


def compiled(params, body):
    mod = tvm.IRModule.from_expr(relay.Function(params, body))
    with tvm.transform.PassContext(opt_level=3):
        return relay.vm.compile(mod, "llvm")


def run(executable, *inputs):
    return vm.VirtualMachine(executable, tvm.cpu()).run(*(tvm.nd.array(x) for x in inputs)).numpy()


def fixed(make, *inputs):
    params = [relay.var(f"x{i}", shape=x.shape) for i, x in enumerate(inputs)]
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(tvm.IRModule.from_expr(relay.Function(params, make(*params))), "llvm")
    return tvm.Model(lib).run(*inputs)[0].numpy()


def conv(outs, size, **options):
    weight = relay.const(values(outs, 16, size, size))
    return lambda x: relay.nn.relu(relay.nn.conv2d(x, weight, channels=outs, kernel_size=(size, size), **options))


IMAGES = {
    "Winograd's convolution": (conv(32, 3, padding=(1, 1, 1, 1)), (16, 28, 28)),
    "a convolution of stride 2": (conv(16, 3, padding=(1, 1, 1, 1), strides=(2, 2)), (16, 9, 11)),
    "1x1": (conv(48, 1), (16, 7, 7)),
    "a maximum of windows": (lambda x: relay.nn.max_pool2d(x, (3, 3), (2, 2), padding=(1, 1, 1, 1)), (16, 15, 17)),
    "an average of windows": (lambda x: relay.nn.avg_pool2d(x, (3, 3), (2, 2), padding=(1, 1, 1, 1)), (16, 15, 17)),
    "global average": (relay.nn.global_avg_pool2d, (20, 7, 9)),
    "a transposition": (lambda x: relay.transpose(x, (0, 2, 3, 1)), (20, 13, 9)),
    "padding": (lambda x: relay.nn.pad(x, ((0, 0), (0, 0), (1, 2), (3, 1))), (6, 9, 11)),
    "softmax of channels": (lambda x: relay.nn.softmax(x, axis=1), (20, 5, 7)),
    "a concatenation": (lambda x: relay.concatenate([x, relay.nn.relu(x)], axis=1), (9, 5, 7)),
    "a reshape": (lambda x: relay.reshape(relay.exp(x), (-1, 20 * 35)), (20, 5, 7)),
}


@pytest.mark.parametrize("name", IMAGES)
def test_images_of_a_dynamic_batch_are_those_of_a_fixed_one(name):
    make, shape = IMAGES[name]
    x = relay.var("x", shape=(ANY, *shape))
    program = compiled([x], make(x))
    for batch in (1, 2, 5):
        data = values(batch, *shape)
        np.testing.assert_allclose(run(program, data), fixed(make, data), rtol=1e-4, atol=1e-4)


def test_a_residual_of_the_same_batch_is_part_of_the_kernel():
    convolve = conv(16, 3, padding=(1, 1, 1, 1))
    make = lambda x: relay.nn.relu(convolve(x) + x)
    x = relay.var("x", shape=(ANY, 16, 14, 14))
    program = compiled([x], make(x))
    for batch in (1, 3):
        data = values(batch, 16, 14, 14)
        np.testing.assert_allclose(run(program, data), fixed(make, data), rtol=1e-4, atol=1e-4)


def layer_norm(x):
    scale, shift = relay.const(np.linspace(0.5, 2, 40, dtype="float32")), relay.const(np.ones(40, "float32"))
    mean = relay.mean(x, axis=-1, keepdims=True)
    rest = x - mean
    variance = relay.mean(rest * rest, axis=-1, keepdims=True)
    return rest / relay.sqrt(variance + relay.const(1e-5)) * scale + shift


ROWS = {
    "layer norm": layer_norm,
    "softmax": lambda x: relay.nn.softmax(x, axis=-1),
    "log softmax": lambda x: relay.nn.log_softmax(x, axis=-1),
    "mean": lambda x: relay.mean(x, axis=-1),
    "maximum": lambda x: relay.max(x, axis=-1, keepdims=True),
    "argmax": lambda x: relay.cast(relay.argmax(x, axis=-1), "float32"),
    "root mean square": lambda x: x / relay.sqrt(relay.mean(x * x, axis=-1, keepdims=True) + relay.const(1e-5)),
    "GELU": lambda x: x * (relay.erf(x / relay.const(1.4142135)) + relay.const(1.0)) * relay.const(0.5),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_dynamic_batch_and_length_are_those_of_fixed_ones(name):
    make = ROWS[name]
    x = relay.var("x", shape=(ANY, ANY, 40))
    program = compiled([x], make(x))
    for batch, length in ((1, 1), (2, 3), (1, 130), (7, 1)):
        data = values(batch, length, 40)
        np.testing.assert_allclose(run(program, data), fixed(make, data), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["softmax", "log softmax", "mean", "maximum", "argmax", "root mean square", "GELU"])
def test_rows_of_any_length_are_those_of_a_fixed_one(name):
    make = ROWS[name]
    x = relay.var("x", shape=(2, ANY, ANY))
    program = compiled([x], make(x))
    for rows, length in ((1, 1), (3, 7), (2, 16), (5, 17), (4, 100), (1, 1025)):
        data = values(2, rows, length)
        np.testing.assert_allclose(run(program, data), fixed(make, data), rtol=1e-5, atol=1e-5)


def test_operands_without_the_batch_serve_all_of_it():
    x, mask = relay.var("x", shape=(ANY, ANY, 64)), relay.var("m", shape=(1, ANY, 64))
    program = compiled([x, mask], relay.nn.softmax(x + mask, axis=-1))
    for batch, length in ((1, 4), (3, 5)):
        data, left_out = values(batch, length, 64), values(1, length, 64)
        want = fixed(lambda a, b: relay.nn.softmax(a + b, axis=-1), data, left_out)
        np.testing.assert_allclose(run(program, data, left_out), want, rtol=1e-5, atol=1e-6)


def test_rows_of_a_matmul_stay_together():
    """A weight that only the batch shares is read once for all of it."""
    x = relay.var("x", shape=(ANY, 256))
    weight = values(512, 256)
    program = compiled([x], relay.nn.dense(x, relay.const(weight)))
    for batch in (1, 4, 33):
        data = values(batch, 256)
        np.testing.assert_allclose(run(program, data), data @ weight.T, rtol=1e-4, atol=1e-3)


def test_an_axis_that_is_reduced_is_no_leading_one():
    x = relay.var("x", shape=(ANY, 300))
    program = compiled([x], relay.sum(x, axis=0) + relay.max(x, axis=0))
    data = values(7, 300)
    np.testing.assert_allclose(run(program, data), data.sum(axis=0) + data.max(axis=0), rtol=1e-4, atol=1e-5)


def test_elements_of_other_iterations_are_seen():
    x = relay.var("x", shape=(ANY, 300))
    program = compiled([x], relay.reverse(relay.exp(x), axis=0) + x)
    data = values(6, 300)
    np.testing.assert_allclose(run(program, data), np.exp(data)[::-1] + data, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("axes", [(0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_transpositions_of_dynamic_extents(axes):
    """By tiles where both axes have room for one, element by element where not."""
    x = relay.var("x", shape=(ANY, ANY, ANY))
    program = compiled([x], relay.transpose(x, axes))
    for shape in ((1, 1, 1), (2, 15, 16), (3, 16, 16), (5, 17, 40), (2, 64, 3), (33, 20, 21)):
        data = values(*shape)
        np.testing.assert_array_equal(run(program, data), data.transpose(axes))


def test_heads_of_dynamic_batch_and_length_are_transposed_and_viewed_as_one_batch():
    x = relay.var("x", shape=(ANY, 12, ANY, 64))
    program = compiled([x], relay.reshape(relay.transpose(x, (0, 1, 3, 2)), (-3, -2)))
    for batch, length in ((1, 1), (2, 17), (1, 128)):
        data = values(batch, 12, length, 64)
        np.testing.assert_array_equal(run(program, data), data.transpose(0, 1, 3, 2).reshape(batch * 12, 64, length))


def test_the_average_of_all_pixels_of_a_dynamic_batch_goes_by_rows():
    x = relay.var("x", shape=(ANY, 6, 9, 11))
    program = compiled([x], relay.mean(x, axis=(2, 3), keepdims=True))
    for batch in (1, 4):
        data = values(batch, 6, 9, 11)
        np.testing.assert_allclose(run(program, data), data.mean(axis=(2, 3), keepdims=True), rtol=1e-5, atol=1e-6)
