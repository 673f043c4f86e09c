"""Passes of one rule: CanonicalizeOps, CanonicalizeCast, FastMath, SplitArgs, DefuseOps, LabelOps."""

import numpy as np
import pytest
import tessera
from pass_checks import check, module
from tessera import relay
from tessera.relay import transform


def var(name, *shape, dtype="float32"):
    return relay.var(name, shape=shape, dtype=dtype)


def test_bias_add_becomes_an_addition():
    x, b = var("x", 1, 4, 3, 3), var("b", 4)
    check(transform.CanonicalizeOps(), relay.nn.bias_add(x, b), relay.add(x, relay.expand_dims(b, 1, 2)))
    x = var("x", 2, 4)
    check(transform.CanonicalizeOps(), relay.nn.bias_add(x, b, axis=-1), relay.add(x, b))


def test_each_user_of_a_widening_cast_gets_its_own():
    x, p, q = var("x", 3, dtype="int8"), var("p", 3, dtype="int32"), var("q", 3, dtype="int32")
    wide = relay.cast(x, "int32")
    check(
        transform.CanonicalizeCast(),
        relay.Tuple([wide + p, wide + q]),
        relay.Tuple([relay.cast(x, "int32") + p, relay.cast(x, "int32") + q]),
    )


def test_a_narrowing_cast_stays_shared():
    x, p, q = var("x", 3, dtype="int32"), var("p", 3, dtype="int8"), var("q", 3, dtype="int8")
    narrow = relay.cast(x, "int8")
    check(transform.CanonicalizeCast(), relay.Tuple([narrow + p, narrow + q]))


def test_fast_math_takes_the_quick_functions():
    x = var("x", 3)

    def call(name):
        return relay.Call(tessera.ir.Op.get(name), [x])

    check(
        transform.FastMath(),
        relay.Tuple([call(name) for name in ("exp", "tanh", "erf", "sigmoid")]),
        relay.Tuple([call(name) for name in ("fast_exp", "fast_tanh", "fast_erf", "sigmoid")]),
        rtol=1e-3,
    )


def test_functions_of_other_types_stay_exact():
    x = var("x", 3, dtype="float64")
    check(transform.FastMath(), relay.exp(x))


def test_a_long_concatenation_is_made_in_steps():
    parts = [var(f"a{i}", 2, 2) for i in range(6)]
    stop = relay.annotation.stop_fusion
    pairs = [stop(relay.concatenate(parts[i : i + 2], 1)) for i in (0, 2, 4)]
    check(transform.SplitArgs(3), relay.concatenate(parts, 1), relay.concatenate(pairs, 1))
    check(transform.SplitArgs(0), relay.concatenate(parts, 1))
    check(transform.SplitArgs(7), relay.concatenate(parts, 1))


def test_a_long_concatenation_of_dynamic_extents_is_made_in_steps():
    split = transform._ffi_api.SplitOpenJoins
    stop = relay.annotation.stop_fusion
    parts = [var(f"a{i}", relay.Any(), 2) for i in range(25)]
    groups = [stop(relay.concatenate(parts[i : i + 12], 0)) for i in (0, 12)]
    check(split(), relay.concatenate(parts, 0), relay.concatenate([*groups, parts[24]], 0), runs=False)
    check(split(), relay.concatenate(parts[:12], 0), runs=False)
    fixed_width = [var(f"a{i}", relay.Any(), 2) for i in range(25)]
    check(split(), relay.concatenate(fixed_width, 1), runs=False)  # each begins at a known index
    lengths = [i % 4 for i in range(25)]
    values = {f"a{i}": np.full((n, 2), i, "float32") for i, n in enumerate(lengths)}
    got = tessera.Model(relay.build(module(relay.concatenate(parts, 0)), "llvm")).run(values)[0].numpy()
    np.testing.assert_array_equal(got, np.concatenate(list(values.values())))
    fixed = [var(f"a{i}", 2, 2) for i in range(25)]
    check(split(), relay.concatenate(fixed, 0))


def test_a_limit_below_three_is_rejected():
    with pytest.raises(ValueError, match="at least 3 tensors"):
        transform.SplitArgs(2)(module(relay.concatenate([var("a", 2), var("b", 2)], 0)))


def test_defuse_is_the_inverse_of_fuse():
    x, w = var("x", 1, 4, 6, 6), var("w", 8, 4, 3, 3)
    y = relay.nn.relu(relay.nn.conv2d(x, w))
    check([transform.FuseOps(2), transform.DefuseOps()], relay.Tuple([relay.exp(y), relay.concatenate([y, y], 1)]))


def test_labels_tell_different_functions_apart():
    x = var("x", 4)
    body = relay.Tuple([relay.exp(x), relay.exp(relay.copy(x)), relay.tanh(x)])
    fused = transform.FuseOps(0)(module(body))
    labels = []

    def note(expr):
        if isinstance(expr, relay.Function) and expr.attrs and "Primitive" in expr.attrs:
            labels.append((expr.body.op.name, str(expr.attrs["hash"])))

    relay.analysis.post_order_visit(transform.LabelOps()(fused)["main"], note)
    hashes = {name: {h for n, h in labels if n == name} for name, _ in labels}
    assert len(hashes["exp"]) == 1 and len(hashes["tanh"]) == 1
    assert hashes["exp"] != hashes["tanh"]
    assert all(len(h) == 16 for _, h in labels)


def test_a_convolution_between_space_and_batch_is_a_dilated_one():
    x, w = var("x", 1, 8, 8, 4), var("w", 3, 3, 4, 1)
    how = {
        "groups": 4,
        "channels": 4,
        "kernel_size": (3, 3),
        "data_layout": "NHWC",
        "kernel_layout": "HWOI",
    }
    for pads, crops, padding in [
        ([[2, 2], [2, 2]], [[0, 0], [0, 0]], (2, 2, 2, 2)),
        ([[2, 2], [2, 4]], [[1, 1], [0, 2]], (1, 2, 1, 2)),
    ]:
        small = relay.nn.conv2d(relay.nn.space_to_batch_nd(x, [2, 2], pads), w, **how)
        before = relay.nn.batch_to_space_nd(small, [2, 2], crops)
        after = relay.nn.conv2d(x, w, padding=padding, dilation=(2, 2), **how)
        check(transform.FlattenAtrousConv(), before, after)


def test_a_border_of_another_value_is_no_dilated_convolution():
    x, w = var("x", 1, 8, 8, 4), var("w", 3, 3, 4, 1)
    how = {"groups": 4, "channels": 4, "kernel_size": (3, 3), "data_layout": "NHWC", "kernel_layout": "HWOI"}
    small = relay.nn.conv2d(relay.nn.space_to_batch_nd(x, [2, 2], [[2, 2], [2, 2]], pad_value=1), w, **how)
    check(transform.FlattenAtrousConv(), relay.nn.batch_to_space_nd(small, [2, 2], [[0, 0], [0, 0]]))


def test_an_explicit_border_becomes_padding():
    x, w = var("x", 1, 4, 6, 6), var("w", 8, 4, 3, 3)
    wide = ((0, 0), (0, 0), (1, 2), (0, 1))
    fold = transform.FoldExplicitPadding()
    assert fold.info.name == " FoldExplicitPadding"
    check(
        fold,
        relay.nn.conv2d(relay.nn.pad(x, wide), w, padding=(1, 1)),
        relay.nn.conv2d(x, w, padding=(2, 1, 3, 2)),
    )
    check(
        fold,
        relay.nn.avg_pool2d(relay.nn.pad(x, wide), (3, 3)),
        relay.nn.avg_pool2d(x, (3, 3), padding=(1, 0, 2, 1), count_include_pad=True),
    )
    lowest = -3.4028234663852886e38
    check(
        fold,
        relay.nn.max_pool2d(relay.nn.pad(x, wide, lowest), (3, 3)),
        relay.nn.max_pool2d(x, (3, 3), padding=(1, 0, 2, 1)),
    )


def test_borders_that_padding_cannot_say_stay():
    x, w = var("x", 1, 4, 6, 6), var("w", 8, 6, 3, 3)
    fold = transform.FoldExplicitPadding()
    check(fold, relay.nn.conv2d(relay.nn.pad(x, ((0, 0), (1, 1), (0, 0), (0, 0))), w))
    w = var("w", 8, 4, 3, 3)
    check(fold, relay.nn.conv2d(relay.nn.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), 1.0), w))
    check(fold, relay.nn.conv2d(relay.nn.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), pad_mode="edge"), w))
    check(fold, relay.nn.max_pool2d(relay.nn.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3)))


def test_the_lowest_float_is_no_border_of_windows_that_see_no_data():
    x, lowest = var("x", 1, 1, 2, 2), -3.4028234663852886e38
    check(
        transform.FoldExplicitPadding(),
        relay.nn.max_pool2d(relay.nn.pad(x, ((0, 0), (0, 0), (3, 3), (3, 3)), lowest), (2, 2)),
    )


def test_a_border_of_a_quantised_convolution_is_its_zero_point():
    x, w = relay.var("x", shape=(1, 3, 4, 4), dtype="int8"), relay.var("w", shape=(2, 3, 3, 3), dtype="int8")
    wide = ((0, 0), (0, 0), (1, 1), (1, 1))

    def layer(data, padding=(0, 0)):
        zeros = [relay.const(value, "int32") for value in (10, 1)]
        scales = [relay.const(1.0), relay.const(1.0)]
        return relay.qnn.op.conv2d(data, w, *zeros, *scales, (3, 3), 2, padding=padding)

    def padded(value):
        return layer(relay.nn.pad(x, wide, relay.const(value, "int8")))

    check(transform.FoldExplicitPadding(), padded(10), layer(x, (1, 1)))
    check(transform.FoldExplicitPadding(), padded(0))


def test_a_cropping_border_stays():
    x, w = var("x", 1, 4, 6, 6), var("w", 8, 4, 3, 3)
    check(
        transform.FoldExplicitPadding(),
        relay.nn.conv2d(relay.nn.pad(x, ((0, 0), (0, 0), (-1, 1), (0, 0))), w, padding=(1, 1)),
    )


def test_annotated_expressions_know_their_position_in_the_printed_text():
    x = var("x", 2, 3)
    mod = module(relay.nn.relu(x + relay.const(np.ones((2, 3), "float32"))))
    spanned = transform.AnnotateSpans()(mod)
    assert tessera.ir.structural_equal(transform.InferType()(spanned), transform.InferType()(mod))
    for call in (spanned["main"].body, spanned["main"].body.args[0]):
        assert str(call.span.source_name.name) == "GeneratedSource" and 3 <= call.span.line <= 4
    assert mod["main"].body.span is None
