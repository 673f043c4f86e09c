"""Axes, pads, depths and the like that are inputs of the model: `from_onnx` makes one program for all their values."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from tessera import relay  # noqa: E402

rng = np.random.default_rng(0)


def real(*shape):
    return rng.standard_normal(shape).astype("float32")


def model_of(op, inputs, shapes=None, opset=18, domain="", outputs=("y",), kind=TensorProto.FLOAT, **attributes):
    node = helper.make_node(op, list(inputs), list(outputs), domain=domain, **attributes)
    types = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), (shapes or {}).get(name, value.shape)
        )
        for name, value in inputs.items()
    ]
    results = [helper.make_tensor_value_info(name, kind, None) for name in outputs]
    sets = [helper.make_opsetid("", opset), *([helper.make_opsetid(domain, 1)] if domain else [])]
    return helper.make_model(helper.make_graph([node], "g", types, results), opset_imports=sets)


def program_of(model, **options):
    mod, _ = relay.frontend.from_onnx(model, **options)
    return relay.create_executor("vm", mod=mod, target="llvm").evaluate()


def check(op, *runs, shapes=None, **options):
    """One program for all runs, each against the standard's own evaluator."""
    model = model_of(op, runs[0], shapes, **options)
    program, reference = program_of(model), ReferenceEvaluator(model)
    for inputs in runs:
        got, (want,) = program(*inputs.values()).numpy(), reference.run(None, inputs)
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, 1e-5, 1e-6)


def test_squeeze_and_unsqueeze():
    x = real(1, 3, 1, 2)
    check("Squeeze", {"x": x, "axes": np.array([0, 2])}, {"x": x, "axes": np.array([-2, 0])})
    check("Unsqueeze", {"x": real(3, 2), "axes": np.array([0, 3])}, {"x": real(3, 2), "axes": np.array([-1, 1])})


def test_slice_with_all_its_numbers():
    x = real(6, 7, 8)
    check(
        "Slice",
        {"x": x, "s": np.array([1, 0]), "e": np.array([5, 6]), "a": np.array([0, 2]), "t": np.array([2, 1])},
        {"x": x, "s": np.array([-1, 2]), "e": np.array([-7, 7]), "a": np.array([-1, 1]), "t": np.array([-2, 3])},
    )


def test_one_hot():
    x, values = np.array([[0, 3], [-1, 2]]), np.array([0.5, 2], "float32")
    check("OneHot", {"x": x, "d": np.array([4]), "v": values}, {"x": x, "d": np.array([7]), "v": values}, axis=1)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pads(mode):
    x = real(4, 5)
    first, second = np.array([1, 2, 3, 1]), np.array([0, 3, 2, 0])
    check("Pad", {"x": x, "p": first}, {"x": x, "p": second}, mode=mode, opset=19)


def test_pads_of_axes():
    x, value, axes = real(4, 5), np.array(2, "float32"), np.array([-1])
    check("Pad", *({"x": x, "p": p, "v": value, "a": axes} for p in (np.array([1, 2]), np.array([3, 0]))))


def test_eye_and_old_softmax_of_dynamic_shapes():
    check("EyeLike", {"x": real(3, 4)}, {"x": real(2, 6)}, shapes={"x": ("n", "m")}, k=1)
    for op in ("Softmax", "LogSoftmax"):
        runs = [{"x": real(2, 3, 4)}, {"x": real(1, 5, 2)}]
        mod = model_of(op, runs[0], {"x": ("a", "b", "c")}, opset=11, axis=1)
        program = program_of(mod)
        for inputs in runs:
            flat = inputs["x"].reshape(inputs["x"].shape[0], -1)
            power = np.exp(flat - flat.max(1, keepdims=True))
            want = power / power.sum(1, keepdims=True)
            want = np.log(want) if op == "LogSoftmax" else want
            np.testing.assert_allclose(program(inputs["x"]).numpy(), want.reshape(inputs["x"].shape), 1e-4, 1e-5)


# ---- operators ---------------------------------------------------------------------------------------------------


def test_random_numbers_like_a_tensor():
    for op, low, high in (("RandomUniformLike", 0, 1), ("RandomNormalLike", -6, 6)):
        program = program_of(model_of(op, {"x": real(40, 50)}, dtype=TensorProto.FLOAT))
        out = program(real(40, 50)).numpy()
        assert out.shape == (40, 50) and low <= out.min() and out.max() <= high and out.std() > 0.2


def test_a_seed_may_be_an_integer():
    outs = []
    for seed in (3, 3.0, 4):
        node = helper.make_node("RandomUniform", [], ["y"], shape=[5], seed=seed)
        graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [5])])
        outs.append(program_of(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]))().numpy())
    assert (outs[0] == outs[1]).all() and (outs[0] != outs[2]).any()


def test_multinomial_draws_by_the_probabilities():
    logits = np.log(np.array([[0.5, 0.25, 0.25, 1e-9], [1e-9, 1e-9, 1e-9, 1.0]], "float32"))
    model = model_of("Multinomial", {"x": logits}, sample_size=2000, seed=1.0, kind=TensorProto.INT32)
    out = program_of(model)(logits).numpy()
    assert out.shape == (2, 2000) and out.dtype == np.int32 and (out[1] == 3).all()
    assert abs((out[0] == 0).mean() - 0.5) < 0.05 and (out[0] < 3).all()


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_matmul_of_16_bit_integers(dtype):
    low = -30000 if dtype == "int16" else 0
    a, b = (rng.integers(low, 30000, shape).astype(dtype) for shape in ((2, 3), (3, 4)))
    model = model_of("MatMulInteger16", {"a": a, "b": b}, domain="com.microsoft", kind=TensorProto.INT32)
    wide = "int32" if dtype == "int16" else "uint32"
    np.testing.assert_array_equal(program_of(model)(a, b).numpy(), a.astype(wide) @ b.astype(wide))


def test_regions_in_half_pixels_with_as_many_samples_as_they_cover():
    x, images = real(2, 3, 12, 12), np.array([0, 1, 1])
    rois = np.array([[0, 0, 7, 9], [2.3, 1.1, 2.7, 1.5], [1, 2, 11, 11.5]], "float32")
    inputs = {"x": x, "rois": rois, "i": images}
    options = {"output_height": 3, "output_width": 2, "sampling_ratio": 0, "spatial_scale": 1.0}
    check("RoiAlign", inputs, coordinate_transformation_mode="half_pixel", opset=16, **options)


def test_linear_regressor_uses_the_first_columns():
    x = real(3, 5)
    model = model_of(
        "LinearRegressor", {"x": x}, domain="ai.onnx.ml", coefficients=[1.0, 2.0, 3.0], intercepts=[0.5], targets=1
    )
    np.testing.assert_allclose(program_of(model)(x).numpy(), x[:, :3] @ [[1], [2], [3]] + 0.5, 1e-5)


# ---- from_onnx ---------------------------------------------------------------------------------------------------


def test_a_given_shape_wins_over_the_file():
    model = model_of("Relu", {"x": real(2, 3)})
    mod, _ = relay.frontend.from_onnx(model, {"x": (4, 5, 6)})
    assert [int(extent) for extent in mod["main"].params[0].type_annotation.shape] == [4, 5, 6]


def test_a_shape_of_an_input_that_is_not_there():
    with pytest.raises(AssertionError, match="shapes are given for z, which the model does not take; its inputs are x"):
        relay.frontend.from_onnx(model_of("Relu", {"x": real(2, 3)}), {"z": (2, 3)})


@pytest.mark.parametrize("transposes", [True, False])
def test_the_form_of_batched_matmuls(transposes):
    a, b = real(2, 3, 4), real(2, 4, 5)
    model = model_of("MatMul", {"a": a, "b": b})
    mod, _ = relay.frontend.from_onnx(model, convert_config={"use_nt_batch_matmul": transposes})
    assert ("transpose(" in str(mod)) == transposes
    out = relay.create_executor("graph", mod=mod, target="llvm").evaluate()(a, b).numpy()
    np.testing.assert_allclose(out, a @ b, 1e-4, 1e-5)


def test_converters_of_single_operators():
    from tessera.relay.frontend import onnx as importer

    x = relay.var("x", shape=(2, 4))
    parts = importer.Split.get_converter(13)([x, relay.const([1, 3], "int64")], {"axis": 1, "num_outputs": 2}, {})
    assert len(parts) == 2
    out = importer.Softmax.get_converter(13)([x], {"axis": -1}, {})
    assert out.op.name == "nn.softmax"
    assert importer.get_pad_pair(5, 3, 2, "SAME_LOWER") == [1, 1] and importer.get_pad_pair(6, 3, 2, "VALID") == [0, 1]
    inputs = importer.onnx_input([x])
    assert inputs[0] is x and inputs[3] is None
    info = helper.make_tensor_value_info("v", TensorProto.INT64, ("n", 3))
    name, shape, dtype, names = importer.get_info(info)
    assert (name, dtype, names, shape[1]) == ("v", "int64", ["n", 3], 3)
