"""Partitioned models: inputs quantised, integers computed and outputs dequantised in functions of their own."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.relay import quantize as qtz

rng = np.random.default_rng(0)


def weights(*shape):
    return rng.normal(0, 0.3, shape).astype("float32")


def text(signature, body):
    return relay.transform.InferType()(
        tessera.parser.fromtext(f'#[version = "0.0.5"]\ndef @main({signature}) {{\n{body}\n}}')
    )


IMAGE = "Tensor[(1, 4, 16, 16), float32]"
CONV = "padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]"
WEIGHT = "Tensor[(4, 4, 3, 3), float32]"

#: Models whose middle is of integers alone.
INTEGRAL = {
    "a convolution": text(f"%x: {IMAGE}, %w: {WEIGHT}", f"nn.conv2d(%x, %w, {CONV})"),
    "a chain": text(
        f"%x: {IMAGE}, %w: {WEIGHT}, %v: {WEIGHT}",
        f"""%0 = nn.conv2d(%x, %w, {CONV});
        %1 = clip(nn.relu(add(%0, meta[relay.Constant][0])), a_min=0f, a_max=6f);
        nn.conv2d(nn.max_pool2d(%1, pool_size=[2, 2], strides=[2, 2]), %v, {CONV})""".replace(
            "meta[relay.Constant][0]", "0.25f"
        ),
    ),
    "a sum of two inputs": text(
        f"%x: {IMAGE}, %w: {WEIGHT}, %y: {IMAGE}, %v: {WEIGHT}",
        f"add(nn.conv2d(%x, %w, {CONV}), nn.conv2d(%y, %v, {CONV}))",
    ),
}
#: Models that have floats before, between or behind the integers.
MIXED = {
    "before": text(f"%x: {IMAGE}, %w: {WEIGHT}", f"nn.conv2d(exp(%x), %w, {CONV})"),
    "between": text(
        f"%x: {IMAGE}, %w: {WEIGHT}, %v: {WEIGHT}",
        f"nn.conv2d(tanh(nn.conv2d(%x, %w, {CONV})), %v, {CONV})",
    ),
    "behind": text(f"%x: {IMAGE}, %w: {WEIGHT}", f"nn.softmax(nn.conv2d(%x, %w, {CONV}))"),
    "around": text(f"%x: {IMAGE}, %w: {WEIGHT}", f"add(exp(%x), nn.conv2d(%x, %w, {CONV}))"),
}


def params_of(mod):
    return {p.name_hint: weights(*map(int, p.checked_type.shape)) for p in mod["main"].params if p.name_hint in "wv"}


def evaluate(mod):
    inputs = np.random.default_rng(1)
    args = [inputs.uniform(-1, 1, [int(n) for n in p.checked_type.shape]) for p in mod["main"].params]
    run = relay.create_executor("vm", device=tessera.cpu(), target="llvm", mod=mod).evaluate()
    return run(*(arg.astype("float32") for arg in args)).numpy()


def quantized(mod, params, mode, **options):
    with qtz.qconfig(skip_conv_layers=[], partition_conversions=mode, **options):
        return relay.transform.InferType()(qtz.quantize(mod, params))


def names(mod):
    return {variable.name_hint for variable in mod.get_global_vars()}


@pytest.mark.parametrize("name", [*INTEGRAL, *MIXED])
def test_a_partitioned_model_gives_the_same_results(name):
    mod = {**INTEGRAL, **MIXED}[name]
    params = params_of(mod)
    whole, parts = quantized(mod, params, "disabled"), quantized(mod, params, "enabled")
    assert names(whole) == {"main"}
    assert names(parts) == {"main", "quantize_inputs", "quantized_main", "dequantize_outputs"}
    np.testing.assert_allclose(evaluate(parts), evaluate(whole), 1e-5, 1e-5)


@pytest.mark.parametrize("name", INTEGRAL)
def test_the_middle_is_fully_integral(name):
    mod = INTEGRAL[name]
    params = params_of(mod)
    parts = quantized(mod, params, "fully_integral")
    middle = parts["quantized_main"]
    assert set(relay.analysis.all_dtypes(middle)) <= {"int8", "int32"}
    assert {p.checked_type.dtype for p in middle.params} == {"int8"}
    bound = relay.build_module.bind_params_by_name(mod["main"], params)
    wanted = evaluate(relay.transform.InferType()(tessera.IRModule.from_expr(bound)))
    found = evaluate(parts)
    assert 10 * np.log10((wanted**2).sum() / ((wanted - found) ** 2).sum()) > 20


@pytest.mark.parametrize("name", MIXED)
def test_floats_beside_the_integers_are_an_error_where_there_may_be_none(name):
    mod = MIXED[name]
    message = "not fully integral" if name == "between" else "not quantised reads an input or gives an output|not fully"
    with pytest.raises(AssertionError, match=message):
        quantized(mod, params_of(mod), "fully_integral")


def test_ends_of_parts_are_marked_between_layers():
    mod = INTEGRAL["a chain"]
    plain = qtz.prerequisite_optimize(mod, params_of(mod))
    marked = relay.transform.InferType()(qtz.partition()(plain))
    shown = str(marked["main"])
    assert shown.count("annotation.cast_hint") == shown.count("annotation.stop_fusion") == 1
    assert shown.index("nn.max_pool2d") < shown.index("annotation.cast_hint") < shown.rindex("nn.conv2d")
    with qtz.qconfig(skip_conv_layers=[]):
        assert "annotation.cast_hint" not in str(qtz.annotate()(marked)["main"])


def test_operators_get_rules_of_users():
    seen = []

    def rule(call, args, context):
        seen.append(isinstance(args[0], qtz.QPartitionExpr))
        return relay.tanh(args[0].realize()) if seen[-1] else None

    before = dict(qtz._partition._RULES)
    try:
        qtz.register_partition_function("tanh", rule)
        mod = MIXED["between"]
        shown = str(qtz.partition()(qtz.prerequisite_optimize(mod, params_of(mod)))["main"])
    finally:
        qtz._partition._RULES.clear()
        qtz._partition._RULES.update(before)
    assert seen == [True] and shown.count("annotation.stop_fusion") == 1
