"""The operator nn.recurrent: its types, its messages, and its kernels on targets that have no rule for it."""

import shutil

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.contrib import graph_executor
from tessera.error import TVMError

USUAL = {"rnn": ["tanh"], "gru": ["sigmoid", "tanh"], "lstm": ["sigmoid", "tanh", "tanh"]}
GATES = {"rnn": 1, "gru": 3, "lstm": 4}


def layer(kind, direction="forward", dtype="float32", steps=3, batch=2, hidden=5, block=4, **changes):
    """A call of the operator on variables, with what it needs."""
    ways, blocks = 2 if direction == "bidirectional" else 1, -(-hidden // block)
    resets = kind == "gru" and not changes.get("linear_before_reset")
    given = {
        "data": relay.var("data", shape=(steps, batch, ways * blocks * GATES[kind] * block), dtype=dtype),
        "weight": relay.var("weight", shape=(ways, blocks, hidden, GATES[kind] - resets, block), dtype=dtype),
        "lengths": relay.var("lengths", shape=(batch,), dtype="int32"),
    } | changes.pop("given", {})
    if resets:
        given["reset_weight"] = relay.var("reset_weight", shape=(ways, blocks, hidden, 1, block), dtype=dtype)
    count = len(USUAL[kind]) * ways
    attrs = {"inputs": list(given), "activations": USUAL[kind] * ways, "activation_alpha": [0.0] * count}
    attrs |= {"activation_beta": [0.0] * count, "cell": kind, "direction": direction} | changes
    out = relay.nn.recurrent(relay.Tuple(list(given.values())), **attrs)
    return tvm.IRModule.from_expr(relay.Function(list(given.values()), out))


def run(mod, target, values, path):
    with tvm.transform.PassContext(opt_level=3):
        relay.build(mod, target).export_library(str(path))
    module = graph_executor.GraphModule(tvm.runtime.load_module(str(path))["default"](tvm.cpu()))
    for name, value in values.items():
        module.set_input(name, value)
    module.run()
    return [module.get_output(i).numpy() for i in range(module.get_num_outputs())]


@pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler")
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
@pytest.mark.parametrize("cell", USUAL)
def test_every_target_computes_the_same(cell, direction, tmp_path):
    mod = layer(cell, direction)
    values = values_of(mod)
    ours, others = (run(mod, target, values, tmp_path / f"{target}.so") for target in ("llvm", "c"))
    for one, other in zip(ours, others, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler")
@pytest.mark.parametrize("hidden, block", [(5, 4), (8, 4), (5, 16), (32, 16)])
def test_weights_of_int8_are_computed_alike_on_every_target(hidden, block, tmp_path):
    rng = np.random.default_rng(0)
    blocks, groups = -(-hidden // block), -(-hidden // 4)
    columns = (1, blocks, 4, block)
    weight = rng.integers(-128, 128, (1, blocks, groups, 4, block, 4)).astype("int8")
    weight[:, :, np.arange(groups * 4).reshape(groups, 1, 1, 4).repeat(4, 1).repeat(block, 2) >= hidden] = 0
    values = {
        "data": rng.standard_normal((3, 2, blocks * 4 * block)).astype("float32"),
        "weight": weight.reshape(1, blocks, groups, 4, 4 * block),
        "lengths": np.array([3, 1], "int32"),
        "weight_scale": rng.uniform(0.001, 0.004, columns).astype("float32"),
        "weight_sums": rng.integers(-9, 9, columns).astype("int32"),
        "weight_zero": rng.integers(-9, 9, columns).astype("int32"),
    }
    given = {name: relay.var(name, shape=value.shape, dtype=str(value.dtype)) for name, value in values.items()}
    mod = layer("lstm", given=given, hidden=hidden, block=block, hidden_size=hidden)
    ours, others = (run(mod, target, values, tmp_path / f"{target}.so") for target in ("llvm", "c"))
    for one, other in zip(ours, others, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def values_of(mod, dtype="float32"):
    """Random arguments of a module's function; lengths end inside of three steps."""
    rng = np.random.default_rng(0)
    main = relay.transform.InferType()(mod)["main"]
    out = {p.name_hint: rng.standard_normal([int(n) for n in p.checked_type.shape]).astype(dtype) for p in main.params}
    return out | {"lengths": np.array([3, 1], "int32")}


@pytest.mark.skipif(not tvm.opencl(0).exist, reason="no OpenCL device; pocl-opencl-icd is one")
@pytest.mark.parametrize("cell", USUAL)
@pytest.mark.parametrize("steps", [3, 70])  # written out step by step, and in one thread
def test_a_gpu_computes_the_same(cell, steps):
    mod = layer(cell, "bidirectional", steps=steps)
    values, results = values_of(mod), []
    for target, device in (("llvm", tvm.cpu()), ("opencl", tvm.opencl())):
        with tvm.transform.PassContext(opt_level=3):
            module = graph_executor.GraphModule(relay.build(mod, target)["default"](device))
        module.run(**values)
        results.append([module.get_output(i).numpy() for i in range(module.get_num_outputs())])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "cell, changes", [("rnn", {}), ("gru", {}), ("gru", {"linear_before_reset": True}), ("lstm", {})]
)
def test_its_gradient_is_that_of_finite_differences(cell, changes):
    mod = layer(cell, "reverse", "float64", steps=2, hidden=3, block=2, clip=2.0, **changes)
    values, main = values_of(mod, "float64") | {"lengths": np.array([2, 1], "int32")}, mod["main"]
    outputs = [relay.TupleGetItem(main.body, i) for i in range(3 if cell == "lstm" else 2)]
    total = relay.sum(outputs[0])
    for output in outputs[1:]:
        total = total + relay.sum(output * output)
    function = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(main.params, total)))["main"]
    backward = relay.transform.gradient(function, mode="first_order")
    with tvm.transform.PassContext(opt_level=0):  # what it is written out in fuses to large kernels
        forward, run = (
            graph_executor.GraphModule(relay.build(tvm.IRModule.from_expr(one), "llvm")["default"](tvm.cpu()))
            for one in (function, backward)
        )
    run.run(**values)
    for i, (name, value) in enumerate(values.items()):
        if name == "lengths":
            continue
        gradient, flat, step = run.get_output(1 + i).numpy().reshape(-1), value.reshape(-1), 1e-5
        for at in np.random.default_rng(1).choice(flat.size, 8):
            kept, sides = flat[at], []
            for moved in (kept + step, kept - step):
                flat[at] = moved
                forward.run(**values)
                sides.append(float(forward.get_output(0).numpy()))
            flat[at] = kept
            np.testing.assert_allclose(gradient[at], (sides[0] - sides[1]) / (2 * step), rtol=1e-4, atol=1e-6)


def test_dynamic_steps_have_no_gradient():
    data = relay.var("data", shape=(relay.Any(), 2, 32), dtype="float32")
    mod = relay.transform.InferType()(layer("lstm", given={"data": data}, hidden=8))
    call = mod["main"].body
    with pytest.raises(TVMError, match="a gradient only for a number of steps that is known"):
        call.op.get_attr("FPrimalGradient")(call, relay.Tuple([relay.TupleGetItem(call, i) for i in range(3)]))


def test_its_text_is_read_back():
    mod = relay.transform.InferType()(layer("gru", linear_before_reset=True, clip=0.5))
    assert tvm.ir.structural_equal(mod, relay.transform.InferType()(tvm.parser.parse(mod.astext())))


def test_the_results_of_dynamic_data_have_its_extents():
    data = relay.var("data", shape=(relay.Any(), relay.Any(), 32), dtype="float32")
    mod = relay.transform.InferType()(layer("lstm", given={"data": data}, hidden=8))
    assert str(mod["main"].ret_type).startswith("(Tensor[(?, 1, ?, 8), float32], Tensor[(1, ?, 8), float32]")


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"cell": "lstm2"}, 'cell must be rnn, gru or lstm, but is "lstm2"'),
        ({"direction": "sideways"}, 'direction must be forward, reverse or bidirectional, but is "sideways"'),
        (
            {"activations": ["tanh", "tanh", "cosh"]},
            '"cosh" is no activation of recurrent layers; there are affine, elu,',
        ),
        ({"activations": ["tanh"]}, "this layer has 3 activations, each with an alpha and a beta"),
        ({"inputs": ["data", "weight", "sizes"]}, '"sizes" is no input; there are data, weight,'),
        ({"inputs": ["data", "weight"]}, "`inputs` must name all 3 tensors of the call, data and weight among them"),
        (
            {"given": {"lengths": relay.var("lengths", shape=(3,), dtype="int32")}},
            r"lengths must have the shape \(?\[?2",
        ),
        ({"given": {"lengths": relay.var("lengths", shape=(2,))}}, "lengths must be integers"),
        ({"given": {"weight": relay.var("weight", shape=(1, 2, 5, 3, 4))}}, r"weight must be \(1, ceildiv"),
        ({"given": {"data": relay.var("data", shape=(3, 2, 8))}}, "data must have the shape"),
        (
            {"given": {"weight": relay.var("weight", shape=(1, 2, 2, 4, 16), dtype="int8")}},
            r"weight must be \(1, ceildiv",
        ),
        (
            {"given": {"weight": relay.var("weight", shape=(1, 2, 2, 4, 16), dtype="int8")}, "hidden_size": 5},
            "weight_scale and weight_sums are for int8 weights",
        ),
        ({"given": {"data": relay.var("data", shape=(3, 2, 32), dtype="float16")}}, "data must be float32"),
    ],
)
def test_what_does_not_fit_is_said(changes, message):
    with pytest.raises(TVMError, match=message):
        relay.transform.InferType()(layer("lstm", **changes))
