"""Quantisation after training: which layers, by which scales, and how near the answers stay."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.contrib.graph_executor import GraphModule
from tessera.relay import quantize as qtz
from tessera.relay.quantize._annotate import simulated_quantize
from tessera.relay.quantize._calibrate import find_threshold_by_kl, find_threshold_by_percentile


def model(layers=3):
    """Convolutions with batch normalisation and relu, pooling, and a linear layer; and parameters by chance."""
    x = relay.var("data", shape=(1, 8, 16, 16))
    out = x
    rng = np.random.default_rng(0)
    for i in range(layers):
        out = relay.nn.conv2d(out, relay.var(f"w{i}"), channels=8, kernel_size=(3, 3), padding=(1, 1))
        names = [relay.var(f"{name}{i}") for name in ("gamma", "beta", "mean", "variance")]
        out = relay.nn.relu(relay.nn.batch_norm(out, *names)[0])
    out = relay.nn.dense(relay.nn.batch_flatten(relay.nn.avg_pool2d(out, (4, 4), (4, 4))), relay.var("fc"), units=10)
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function(relay.analysis.free_vars(out), out)))
    params = {}
    for param in mod["main"].params[1:]:
        shape = [int(extent) for extent in param.checked_type.shape]
        value = rng.normal(0, 0.2, shape) if len(shape) > 1 else rng.uniform(0.5, 1.5, shape)
        params[param.name_hint] = value.astype("float32")
    return mod, params


def run(mod, data, params=None):
    with tessera.transform.PassContext(opt_level=3):
        library = relay.build(mod, "llvm", params=params)
    runner = GraphModule(library["default"](tessera.cpu()))
    runner.set_input("data", data)
    runner.run()
    return runner.get_output(0).numpy()


def layers(mod, name):
    """Types of data and result of each call of an operator, in order."""
    found = []

    def visit(node):
        if isinstance(node, relay.Call) and getattr(node.op, "name", "") == name:
            found.append((node.args[0].checked_type.dtype, node.args[1].checked_type.dtype, node.checked_type.dtype))

    relay.analysis.post_order_visit(mod["main"], visit)
    return found


def data(seed=1):
    return np.random.default_rng(seed).normal(0, 1, (1, 8, 16, 16)).astype("float32")


def signal_to_noise(wanted, found):
    return 10 * np.log10((wanted**2).sum() / ((wanted - found) ** 2).sum())


INTEGERS, UNSIGNED, FLOATS = ("int8", "int8", "int32"), ("uint8", "int8", "int32"), ("float32",) * 3


def test_the_first_convolution_and_linear_layers_are_skipped_by_default():
    mod, params = model()
    out = qtz.quantize(mod, params)
    assert layers(out, "nn.conv2d") == [FLOATS, INTEGERS, INTEGERS] and layers(out, "nn.dense") == [FLOATS]


def test_options_say_which_layers():
    mod, params = model()
    with qtz.qconfig(skip_conv_layers=[1, 2], skip_dense_layer=False):
        out = qtz.quantize(mod, params)
    assert layers(out, "nn.conv2d") == [INTEGERS, FLOATS, FLOATS] and layers(out, "nn.dense") == [INTEGERS]
    with qtz.qconfig(skip_conv_layers=None, debug_enabled_ops=["nn.dense"], skip_dense_layer=False):
        out = qtz.quantize(mod, params)
    assert layers(out, "nn.conv2d") == [FLOATS] * 3 and layers(out, "nn.dense") == [INTEGERS]


@pytest.mark.parametrize(
    "options, decibels",
    [
        ({"calibrate_mode": "kl_divergence", "weight_scale": "max"}, 25),
        ({"calibrate_mode": "percentile", "weight_scale": "max"}, 30),
        ({"calibrate_mode": "global_scale", "global_scale": 8.0}, 30),
        ({"calibrate_mode": "percentile", "rounding": "TONEAREST"}, 30),
    ],
)
def test_answers_stay_near(options, decibels):
    mod, params = model()
    wanted = run(mod, data(), params)
    with qtz.qconfig(skip_conv_layers=[], skip_dense_layer=False, **options):
        out = qtz.quantize(mod, params, dataset=[{"data": data(seed)} for seed in (2, 3)])
    is_calibrated = options["calibrate_mode"] != "global_scale"  # what a relu gives is seen to have no sign
    assert layers(out, "nn.conv2d") == [INTEGERS] + [UNSIGNED if is_calibrated else INTEGERS] * 2
    assert signal_to_noise(wanted, run(out, data())) > decibels


def test_a_simulation_gives_the_numbers_of_the_integers():
    mod, params = model()
    with qtz.qconfig(skip_conv_layers=[]):
        integers = qtz.quantize(mod, params)
    with qtz.qconfig(skip_conv_layers=[], do_simulation=True):
        floats = qtz.quantize(mod, params)
    assert layers(floats, "nn.conv2d") == [FLOATS] * 3
    np.testing.assert_allclose(run(integers, data()), run(floats, data()), 1e-3, 1e-3)


def test_what_two_layers_read_is_quantised_once():
    x = relay.var("data", shape=(1, 8, 8, 8))
    weights = [relay.const(np.full((8, 8, 1, 1), v, "float32")) for v in (0.5, 0.25)]
    parts = [relay.nn.conv2d(x, w, channels=8, kernel_size=(1, 1)) for w in weights]
    with qtz.qconfig(skip_conv_layers=[]):
        out = qtz.quantize(tessera.IRModule.from_expr(relay.Function([x], relay.add(*parts))))
    assert str(out["main"]).count("clip") == 1


@pytest.mark.parametrize("layout, kernel", [("NCHW", "OIHW"), ("NHWC", "HWIO")])
def test_each_channel_of_a_weight_has_its_scale(layout, kernel):
    rng = np.random.default_rng(4)
    weight = rng.normal(0, 1, (8, 6, 3, 3)) * np.logspace(-3, 1, 8).reshape(8, 1, 1, 1)
    weight = weight.transpose(["OIHW".index(axis) for axis in kernel]).astype("float32")
    x = relay.var("data", shape=(1, 6, 9, 9) if layout == "NCHW" else (1, 9, 9, 6))
    conv = relay.nn.conv2d(
        x, relay.const(weight), channels=8, kernel_size=(3, 3), data_layout=layout, kernel_layout=kernel
    )
    mod = tessera.IRModule.from_expr(relay.Function([x], conv))
    values = rng.normal(0, 1, [int(n) for n in x.type_annotation.shape]).astype("float32")
    with qtz.qconfig(skip_conv_layers=[], calibrate_mode="percentile", weight_scale="max"):
        out = qtz.quantize(mod, dataset=[{"data": values}])
    wanted, found = (np.moveaxis(run(each, values), layout.index("C"), 0) for each in (mod, out))
    assert all(
        signal_to_noise(a, b) > 30 for a, b in zip(wanted, found)
    )  # also of the channel that is 10,000 times smaller


def test_depthwise_convolutions_stay_in_floats_unless_asked_for():
    x = relay.var("data", shape=(1, 8, 6, 6))
    weight = relay.const(np.random.default_rng(0).normal(0, 1, (8, 1, 3, 3)).astype("float32"))
    mod = tessera.IRModule.from_expr(
        relay.Function([x], relay.nn.conv2d(x, weight, channels=8, kernel_size=(3, 3), groups=8))
    )
    for skips in (True, False):
        with qtz.qconfig(skip_conv_layers=[], skip_depthwise_layers=skips):
            assert layers(qtz.quantize(mod), "nn.conv2d") == [FLOATS if skips else INTEGERS]


def sensitive_model():
    """Two convolutions of 16 channels; one channel between them is 10,000 times as large as the others, and is not read."""
    rng = np.random.default_rng(5)
    first, second = (rng.normal(0, 0.3, (16, 16, 1, 1)).astype("float32") for _ in range(2))
    second[:, 0] = 0
    factors = np.ones((16, 1, 1), "float32")
    factors[0] = 1e4
    x = relay.var("data", shape=(1, 16, 8, 8))
    y = relay.nn.conv2d(x, relay.const(first), channels=16, kernel_size=(1, 1)) * relay.const(factors)
    # relu of a sum keeps the factors from being folded into the weights
    y = relay.nn.relu(y + relay.const(np.full((16, 8, 8), 0.1, "float32")))
    y = relay.nn.conv2d(y, relay.const(second), channels=16, kernel_size=(1, 1))
    samples = [rng.normal(0, 1, (1, 16, 8, 8)).astype("float32") for _ in range(3)]
    return tessera.IRModule.from_expr(relay.Function([x], y)), samples


@pytest.mark.parametrize("simulates", [False, True])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_the_layer_that_loses_most_stays_in_a_wider_type(dtype, simulates):
    mod, samples = sensitive_model()
    dataset = [{"data": sample} for sample in samples]
    options = {
        "skip_conv_layers": [],
        "calibrate_mode": "percentile",
        "weight_scale": "max",
        "do_simulation": simulates,
    }
    found = {}
    for wanted in (None, 23.0):
        with qtz.qconfig(**options, min_snr=wanted, sensitive_dtype=dtype, sensitive_budget=0.5):
            out = qtz.quantize(mod, dataset=dataset)
        found[wanted] = signal_to_noise(run(mod, samples[0]), run(out, samples[0]))
    kept = (dtype, dtype, "float32")
    assert layers(out, "nn.conv2d") == [FLOATS if simulates else INTEGERS, kept]
    assert found[None] < 10 and found[23.0] > 23


def test_a_depthwise_layer_reads_what_a_kept_layer_gives_in_its_type():
    mod, samples = sensitive_model()
    main = mod["main"]
    weight = relay.const(np.random.default_rng(6).normal(0, 1, (16, 1, 3, 3)).astype("float32"))
    body = relay.nn.conv2d(relay.nn.relu(main.body), weight, channels=16, kernel_size=(3, 3), groups=16)
    mod = tessera.IRModule.from_expr(relay.Function(main.params, body))
    options = {"skip_conv_layers": [], "calibrate_mode": "percentile", "weight_scale": "max", "sensitive_budget": 0.5}
    with qtz.qconfig(**options, min_snr=23.0):
        out = qtz.quantize(mod, dataset=[{"data": sample} for sample in samples])
    assert layers(out, "nn.conv2d") == [INTEGERS, ("bfloat16", "bfloat16", "float32"), FLOATS]
    data = out["main"].body.args[0]
    assert (data.op.name, data.args[0].op.name, data.args[0].checked_type.dtype) == ("cast", "cast", "bfloat16")
    assert signal_to_noise(run(mod, samples[0]), run(out, samples[0])) > 23


def test_no_layer_is_kept_beyond_the_budget():
    mod, samples = sensitive_model()
    options = {"skip_conv_layers": [], "calibrate_mode": "percentile", "sensitive_budget": 0.4}  # each layer is a half
    with qtz.qconfig(**options):
        out = qtz.quantize(mod, dataset=[{"data": sample} for sample in samples])
    assert layers(out, "nn.conv2d") == [INTEGERS, UNSIGNED]


def marks(mod):
    return [kind for kind in (1, 2) for _ in range(str(mod["main"]).count(f"kind={kind},"))]


def test_steps_one_by_one():
    mod, params = model()
    with qtz.qconfig(skip_conv_layers=[0], calibrate_mode="percentile"):
        plain = relay.transform.InferType()(qtz.prerequisite_optimize(mod, params))
        marked = relay.transform.InferType()(qtz.annotate()(plain))
        assert marks(marked) == [1, 1, 2, 2]
        assert len(marked["main"].params) == 1 + 4 * 3  # scales and ranges are parameters until they are known
        with pytest.raises(ValueError, match="calibrate comes before realize"):
            qtz.realize()(marked)
        dataset = [{"data": data(seed)} for seed in (2, 3)]
        stats = list(qtz.collect_stats(marked, dataset))
        for one, chunked in zip(stats, qtz.collect_stats(marked, dataset, chunk_by=1)):
            np.testing.assert_array_equal(one, chunked)
        assert len(stats) == 2 and stats[0].size == 2 * 8 * 16 * 16
        scaled = qtz.calibrate(dataset)(marked)
        assert len(scaled["main"].params) == 1 and marks(scaled) == [1, 1, 2, 2]
        out = relay.transform.InferType()(qtz.realize()(relay.transform.InferType()(scaled)))
    assert marks(out) == [] and layers(out, "nn.conv2d") == [FLOATS, UNSIGNED, UNSIGNED]
    np.testing.assert_allclose(run(scaled, data()), run(out, data()), 1e-3, 1e-3)


def test_chunks_of_layers_give_the_same_scales():
    mod, params = model()
    texts = []
    for chunk in (-1, 1, 2):
        with qtz.qconfig(skip_conv_layers=[], calibrate_mode="percentile", calibrate_chunk_by=chunk):
            texts.append(tessera.ir.structural_hash(qtz.quantize(mod, params, dataset=[{"data": data(2)}])))
    assert len(set(texts)) == 1


@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
@pytest.mark.parametrize("scale_shape", [(), (1, 3, 1)])
def test_simulated_quantisation(scale_shape, rounding):
    rng = np.random.default_rng(0)
    x = rng.normal(0, 40, (2, 3, 50)).astype("float32")
    x.ravel()[:4] = (0.5, 1.5, -0.5, -1.5)
    scale = (
        np.full(scale_shape, 0.5, "float32") if scale_shape == () else np.array([1, 0.5, 2], "float32").reshape(1, 3, 1)
    )
    with qtz.qconfig(rounding=rounding):
        call = simulated_quantize(
            relay.var("data", shape=x.shape), relay.const(scale), *map(relay.const, (-7.0, 9.0)), 1
        )
    found = run(tessera.IRModule.from_expr(relay.Function(relay.analysis.free_vars(call), call)), x)
    steps = np.floor(x / scale + 0.5) if rounding == "UPWARD" else np.rint(x / scale)
    np.testing.assert_array_equal(found, np.clip(steps, -7, 9) * scale)


def test_thresholds():
    values = np.concatenate([np.random.default_rng(0).normal(0, 1, 100000), [50.0]])
    assert find_threshold_by_kl(values) < 10 and find_threshold_by_percentile(values) < 10
    even = np.random.default_rng(0).uniform(-3, 3, 100000)
    assert 2.5 < find_threshold_by_kl(even) <= 3.01
    assert find_threshold_by_kl(np.zeros(4)) == 1.0


def test_configurations():
    assert qtz.current_qconfig().global_scale == 8.0
    with qtz.qconfig(global_scale=4.0) as config:
        assert qtz.current_qconfig() is config and config.get_nbit_by_kind(qtz.QAnnotateKind.WEIGHT) == 8
        with qtz.qconfig(nbit_input=6):
            assert qtz.current_qconfig().nbit_input == 6 and qtz.current_qconfig().global_scale == 8.0
    with pytest.raises(AttributeError, match="cannot set attribute"):
        config.nbit_input = 4
    with pytest.raises(ValueError, match="has no option nbits"):
        qtz.qconfig(nbits=3)
    with pytest.raises(ValueError, match="calibrate_mode is one of global_scale, kl_divergence, percentile"):
        qtz.qconfig(calibrate_mode="other")
    with pytest.raises(ValueError, match="needs a dataset"), qtz.qconfig(calibrate_mode="percentile"):
        qtz.quantize(*model())
