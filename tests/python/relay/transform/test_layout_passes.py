"""ConvertLayout, AlterOpLayout and Legalize: layouts travel through a graph."""

import contextlib

import numpy as np
import pytest
import tessera
from pass_checks import check, module, random_inputs, run
from tessera import relay
from tessera.relay import op as relay_op
from tessera.relay.testing.temp_op_attr import TempOpAttr
from tessera.relay.transform import AlterOpLayout, CanonicalizeOps, ConvertLayout, LayoutConfig, Legalize

NHWC = {"nn.conv2d": ["NHWC", "default"]}


def var(name, *shape):
    return relay.var(name, shape=shape)


def conv(x, w, channels=16, size=3, **more):
    return relay.nn.conv2d(x, w, channels=channels, kernel_size=(size, size), padding=size // 2, **more)


def moved(x, source="NCHW", target="NHWC"):
    return relay.layout_transform(x, source, target)


def test_elementwise_operators_and_pooling_follow():
    x, w = var("x", 1, 16, 8, 8), var("w", 16, 16, 3, 3)
    before = relay.nn.max_pool2d(relay.nn.relu(conv(x, w) + x), (2, 2), (2, 2))
    there = moved(x)
    y = conv(there, moved(w, "OIHW", "HWIO"), data_layout="NHWC", kernel_layout="HWIO") + there
    after = moved(relay.nn.max_pool2d(relay.nn.relu(y), (2, 2), (2, 2), layout="NHWC"), "NHWC", "NCHW")
    check(ConvertLayout(NHWC), before, after)


def test_a_bias_is_brought_along():
    x, w, b = var("x", 1, 16, 8, 8), var("w", 16, 16, 3, 3), var("b", 16, 1, 1)
    y = conv(moved(x), moved(w, "OIHW", "HWIO"), data_layout="NHWC", kernel_layout="HWIO")
    after = moved(y + moved(relay.expand_dims(b, 0)), "NHWC", "NCHW")
    check(ConvertLayout(NHWC), conv(x, w) + b, after)


def follow(expr):
    """How many changes of layout ConvertLayout leaves, and that the result is the same."""
    mod = module(expr)
    changed = ConvertLayout(NHWC)(mod)
    inputs = random_inputs(mod)
    for ours, theirs in zip(run(changed, inputs), run(mod, inputs), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    return str(changed).count("layout_transform")


X, W = var("x", 2, 16, 8, 8), var("w", 16, 16, 3, 3)
Y = conv(X, W)
AXES = {
    "mean over space": lambda: relay.mean(Y, axis=[2, 3]),
    "mean over all but channels": lambda: relay.mean(Y, axis=[1], exclude=True),
    "sum over channels, kept": lambda: relay.sum(Y, axis=[1], keepdims=True),
    "concatenation of channels": lambda: relay.concatenate([Y, relay.nn.relu(Y)], 1),
    "split of channels": lambda: relay.split(Y, 4, 1)[2],
    "split at indices": lambda: relay.split(Y, [3, 8], 1)[1],
    "transpose": lambda: relay.transpose(Y, (0, 2, 3, 1)),
    "slice of channels": lambda: relay.strided_slice(Y, [0, 4], [2, 8]),
    "slice of named axes": lambda: relay.strided_slice(Y, [2], [7], [2], axes=[3]),
    "slice by size": lambda: relay.strided_slice(Y, [0, 4, 1], [-1, 8, 3], slice_mode="size"),
    "border": lambda: relay.nn.pad(Y, ((0, 0), (0, 0), (1, 2), (3, 0))),
    "softmax of channels": lambda: relay.nn.softmax(Y, axis=1),
    "squeeze": lambda: relay.squeeze(relay.nn.global_avg_pool2d(Y), [2, 3]),
    "scalar": lambda: Y * relay.const(2.0),
    "batch norm": lambda: relay.nn.batch_norm(Y, *(var(n, 16) for n in "gbmv"))[0],
    "average pool": lambda: relay.nn.avg_pool2d(Y, (2, 2)),
    "adaptive pool": lambda: relay.nn.adaptive_avg_pool2d(Y, (2, 2)),
    "global pool": lambda: relay.nn.global_max_pool2d(Y),
    "resize": lambda: relay.image.resize2d(Y, (4, 4)),
    "clip and cast": lambda: relay.cast(relay.clip(Y, 0.0, 6.0), "float64"),
}


@pytest.mark.parametrize("name", sorted(AXES))
def test_an_operator_follows_by_its_axes(name):
    # the input and the weight go there; at most each result goes back
    assert follow(AXES[name]()) <= 3


def test_what_has_no_rule_gets_the_old_layout_back():
    assert follow(relay.nn.batch_flatten(Y)) == 3
    assert follow(relay.reshape(Y, (2, -1))) == 3


def test_an_index_of_a_greatest_element_counts_in_the_old_order():
    follow(relay.argmax(Y, axis=1))
    follow(relay.argmax(Y))


def test_depthwise_kernels_have_their_own_default():
    x, w = var("x", 1, 16, 8, 8), var("w", 16, 1, 3, 3)
    after = conv(moved(x), moved(w, "OIHW", "HWOI"), groups=16, data_layout="NHWC", kernel_layout="HWOI")
    check(ConvertLayout(NHWC), conv(x, w, groups=16), moved(after, "NHWC", "NCHW"))


def test_layers_can_be_left_alone():
    x, w = var("x", 1, 16, 8, 8), var("w", 16, 16, 3, 3)
    with LayoutConfig(skip_layers=[0]):
        mod = ConvertLayout(NHWC)(module(conv(conv(x, w), w)))
    assert str(mod).count('data_layout="NHWC"') == 1
    assert LayoutConfig.current is None


def test_a_pool_can_be_asked_for():
    x = var("x", 1, 16, 8, 8)
    after = relay.nn.max_pool2d(moved(x), (2, 2), layout="NHWC", out_layout="NHWC")
    check(ConvertLayout({"nn.max_pool2d": ["NHWC"]}), relay.nn.max_pool2d(x, (2, 2)), moved(after, "NHWC", "NCHW"))


@contextlib.contextmanager
def altered_by(rule):
    """Inside, convolutions change their layouts by `rule`."""
    own = relay_op.get("nn.conv2d").get_attr("FTVMAlterOpLayout")
    relay_op.register_alter_op_layout("nn.conv2d", rule, level=15)
    try:
        yield
    finally:
        relay_op.get("nn.conv2d").reset_attr("FTVMAlterOpLayout")
        relay_op.register_alter_op_layout("nn.conv2d", own)


@pytest.fixture
def blocked_layouts():
    """While a test runs, convolutions take their channels in blocks of 8."""

    def alter(attrs, inputs, tinfos, out_type):
        del out_type
        assert len(tinfos) == 2
        if attrs["data_layout"] != "NCHW":
            return None
        named = {str(key): attrs[key] for key in list(attrs.keys())}
        named["data_layout"], named["out_layout"], named["kernel_layout"] = "NCHW8c", "NCHW8c", "OIHW8i8o"
        return relay.op._make.call_op("nn.contrib_conv2d_NCHWc", inputs, named)

    with altered_by(alter):
        yield


def test_blocks_of_channels_travel(blocked_layouts):
    x, w, b = var("x", 1, 16, 8, 8), var("w", 16, 16, 3, 3), var("b", 16)
    y = relay.nn.relu(relay.nn.bias_add(conv(x, w), b) + x)
    y = relay.concatenate([y, conv(y, var("w2", 8, 16, 1, 1), 8, 1)], 1)
    expr = relay.mean(relay.nn.max_pool2d(y, (2, 2)), axis=[2, 3])
    mod = module(expr)
    changed = AlterOpLayout()(CanonicalizeOps()(mod))
    text = str(changed)
    assert text.count("nn.contrib_conv2d_NCHWc") == 2
    assert 'layout="NCHW8c"' in text and 'src_layout="NC8c", dst_layout="NC"' in text
    assert text.count("layout_transform") == 5  # the input, two weights, the bias, the result
    inputs = random_inputs(mod)
    np.testing.assert_allclose(run(changed, inputs)[0], run(mod, inputs)[0], rtol=1e-4)


def test_blocks_that_do_not_fit_are_not_used(blocked_layouts):
    x, w = var("x", 1, 16, 8, 8), var("w", 16, 16, 3, 3)
    mod = module(relay.split(relay.strided_slice(conv(x, w), [0, 4], [1, 16]), [6], 1)[0])
    changed = AlterOpLayout()(mod)
    inputs = random_inputs(mod)
    np.testing.assert_allclose(run(changed, inputs)[0], run(mod, inputs)[0], rtol=1e-4)


def test_legalize_asks_the_operators():
    def legal(attrs, inputs, types):
        del attrs
        return relay.nn.relu(inputs[0]) if len(types) == 2 else None

    relay_op.register_legalize("tanh", legal, level=15)
    try:
        x = var("x", 3)
        check(Legalize(), relay.tanh(x + x), relay.nn.relu(x + x), runs=False)
        check(Legalize("FOther"), relay.tanh(x))
    finally:
        relay_op.get("tanh").reset_attr("FTVMLegalize")


def test_an_alteration_must_be_a_call():
    with altered_by(lambda attrs, inputs, tinfos, out: inputs[0]), pytest.raises(TypeError, match="must give a call"):
        AlterOpLayout()(module(conv(X, W)))


def test_what_one_layer_made_as_nchw_another_may_read_as_nhwc():
    x = relay.var("x", shape=(1, 3, 4, 5))
    first = relay.nn.conv2d(x, relay.var("w0", shape=(6, 3, 1, 1)), channels=6, kernel_size=(1, 1))
    last = relay.nn.conv2d(
        first,
        relay.var("w1", shape=(1, 1, 5, 2)),
        channels=2,
        kernel_size=(1, 1),
        data_layout="NHWC",
        kernel_layout="HWIO",
    )
    mod = tessera.IRModule.from_expr(relay.Function(relay.analysis.free_vars(last), last))
    rng = np.random.default_rng(0)
    arrays = [rng.random(shape, "float32") for shape in ((1, 3, 4, 5), (6, 3, 1, 1), (1, 1, 5, 2))]
    want = np.einsum("nchw,oc->nohw", arrays[0], arrays[1][:, :, 0, 0]) @ arrays[2][0, 0]
    for level in (0, 3):
        with tessera.transform.PassContext(opt_level=level):
            got = relay.create_executor("graph", mod).evaluate()(*arrays).numpy()
        np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("blocks", ["NCHW4c", "NCHW8c"])
@pytest.mark.parametrize("bias", [(1, 2, 1, 1, 4), (1, 1, 1, 1, 4), (1, 1, 1, 1, 1)])
def test_biases_of_blocked_data_follow_other_blocks(blocks, bias):
    text = f"""#[version = "0.0.5"]
    def @main(%x: Tensor[(1, 2, 4, 4, 4), float32], %w: Tensor[(2, 2, 3, 3, 4, 4), float32],
              %b: Tensor[{bias}, float32]) {{
      %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3], data_layout="NCHW4c",
                     kernel_layout="OIHW4i4o");
      nn.relu(add(%0, %b))
    }}"""
    size = blocks[4]

    def alter(attrs, inputs, tinfos, out_type):
        layouts = {"data_layout": blocks, "kernel_layout": f"OIHW{size}i{size}o"}
        return relay.nn.conv2d(*inputs, **{**attrs, **layouts})

    mod = relay.transform.InferType()(tessera.parser.fromtext(text))
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter):
        out = relay.transform.AlterOpLayout()(mod)
    assert f'data_layout="{blocks}"' in out.astext()
    random = np.random.default_rng(0)
    args = [random.random([int(n) for n in p.checked_type.shape]).astype("float32") for p in mod["main"].params]
    with tessera.transform.PassContext(opt_level=0):
        answers = [relay.create_executor("graph", one).evaluate()(*args).numpy() for one in (mod, out)]
    np.testing.assert_allclose(*answers, rtol=1e-5)
