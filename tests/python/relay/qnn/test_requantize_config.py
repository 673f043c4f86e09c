"""How requantisation is lowered: by a context, and by the target."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.relay import qnn, transform

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(5), int32]) {
  qnn.requantize(%x, 0.5f, 0, 1f, 0, axis=-1, rounding="None", compute_dtype="None", out_dtype="int8")
}"""
DATA = np.array([-3, -1, 1, 3, 5], "int32")


def lowered(**config):
    with qnn.op.requantize_config(**config):
        return qnn.transform.CanonicalizeOps()(transform.InferType()(tvm.parser.fromtext(TEXT)))


@pytest.mark.parametrize("compute_dtype", ["int64", "float32"])
@pytest.mark.parametrize("rounding, wanted", [("UPWARD", [-1, 0, 1, 2, 3]), ("TONEAREST", [-2, -1, 1, 2, 3])])
def test_a_context_says_how_halves_are_rounded(rounding, wanted, compute_dtype):
    mod = lowered(rounding=rounding, compute_dtype=compute_dtype)
    assert ("float32" in mod.astext()) == (compute_dtype == "float32")
    np.testing.assert_array_equal(relay.create_executor("graph", mod).evaluate()(DATA).numpy(), wanted)


def test_contexts_nest_and_end():
    with qnn.op.requantize_config(rounding="TONEAREST"):
        assert "float32" in lowered(compute_dtype="float32").astext()
        assert qnn.op.current_requantize_config().rounding == "TONEAREST"
    assert qnn.op.current_requantize_config().rounding == "None"
    with pytest.raises(ValueError, match="rounding is UPWARD or TONEAREST"):
        qnn.op.requantize_config(rounding="DOWN")


LAYERS = {
    "qnn.conv2d": """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 5, 5), DATA], %w: Tensor[(8, 4, 3, 3), WEIGHT]) {
  qnn.conv2d(%x, %w, 1, 2, 1f, 1f, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3], out_dtype="int32")
}""",
    "qnn.dense": """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 16), DATA], %w: Tensor[(8, 16), WEIGHT]) {
  qnn.dense(%x, %w, 1, 2, 1f, 1f, units=8, out_dtype="int32")
}""",
}
VNNI = "llvm -mcpu=cascadelake"
DOTPROD = "llvm -device=arm_cpu -mtriple=aarch64-linux-gnu -mattr=+v8.2a,+dotprod"
PLAIN = "llvm"


def legal(mod, target):
    with tvm.target.Target(target):
        return qnn.transform.Legalize()(mod)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("data, weight", [("uint8", "uint8"), ("int8", "int8"), ("uint8", "int8")])
def test_layers_multiply_what_the_target_multiplies(layer, data, weight):
    mod = transform.InferType()(tvm.parser.fromtext(LAYERS[layer].replace("DATA", data).replace("WEIGHT", weight)))
    for target, stays in ((VNNI, (data, weight) == ("uint8", "int8")), (DOTPROD, data == weight)):
        out = legal(mod, target)
        assert layer in out.astext() and tvm.ir.structural_equal(mod, out) == stays
    assert "qnn" not in legal(mod, PLAIN).astext() and "int16" in legal(mod, PLAIN).astext()
    random = np.random.default_rng(0)
    args = [
        random.integers(-100 if kind == "int8" else 0, 100, [int(n) for n in param.checked_type.shape]).astype(kind)
        for param, kind in zip(mod["main"].params, (data, weight))
    ]
    answers = [
        relay.create_executor("graph", one).evaluate()(*args).numpy()
        for one in (mod, legal(mod, VNNI), legal(mod, DOTPROD), legal(mod, PLAIN))
    ]
    for answer in answers[1:]:
        np.testing.assert_array_equal(answer, answers[0])
