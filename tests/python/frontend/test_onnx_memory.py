"""ONNX models that a program holds in memory: their initializers are copied once, and mean what a file's do."""

import numpy as np
import pytest
from tessera import relay

onnx = pytest.importorskip("onnx")


def _model(nodes, initializers, shape):
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, shape)
    return onnx.helper.make_model(onnx.helper.make_graph(nodes, "memory", [], [y], initializers))


def _answer(mod):
    return relay.create_executor("graph", mod).evaluate()().numpy()


@pytest.mark.parametrize("dtype", ["FLOAT", "FLOAT16", "BFLOAT16", "INT64", "UINT8", "INT4", "DOUBLE"])
def test_large_initializers_of_a_model_in_memory_are_those_of_its_file(dtype, tmp_path):
    values = np.random.default_rng(0).integers(0, 7, (96, 100))
    kind = getattr(onnx.TensorProto, dtype)
    typed = values.astype(onnx.helper.tensor_dtype_to_np_dtype(kind))
    weight = onnx.numpy_helper.from_array(typed, "weight")
    assert len(weight.raw_data) > 4096
    model = _model([onnx.helper.make_node("Cast", ["weight"], ["y"], to=onnx.TensorProto.FLOAT)], [weight], [96, 100])
    onnx.save(model, tmp_path / "model.onnx")
    for given in (model, model.SerializeToString(), bytearray(model.SerializeToString()), tmp_path / "model.onnx"):
        mod, _ = relay.frontend.from_onnx(given)
        np.testing.assert_array_equal(_answer(mod), values)


def test_a_model_in_memory_may_change_after_it_is_imported():
    weight = onnx.numpy_helper.from_array(np.ones((64, 64), "float32"), "weight")
    model = _model([onnx.helper.make_node("Identity", ["weight"], ["y"])], [weight], [64, 64])
    mod, _ = relay.frontend.from_onnx(model)
    model.graph.initializer[0].raw_data = bytes(4 * 64 * 64)
    np.testing.assert_array_equal(_answer(mod), np.ones((64, 64)))


def test_initializers_of_a_model_in_memory_have_as_many_bytes_as_their_shape_asks_for():
    weight = onnx.numpy_helper.from_array(np.ones((64, 64), "float32"), "weight")
    weight.dims[0] = 65
    model = _model([onnx.helper.make_node("Identity", ["weight"], ["y"])], [weight], [65, 64])
    with pytest.raises(ValueError, match="its shape is larger than what the file holds|asks for 16640 bytes"):
        relay.frontend.from_onnx(model)
    model.graph.initializer[0].dims[0] = 63
    with pytest.raises(ValueError, match="the shape asks for 16128 bytes, the file has 16384"):
        relay.frontend.from_onnx(model)


def test_initializers_of_one_name_are_told_as_in_a_file():
    first, second = (onnx.numpy_helper.from_array(np.full((64, 64), i, "float32"), "weight") for i in range(2))
    model = _model([onnx.helper.make_node("Identity", ["weight"], ["y"])], [first, second], [64, 64])
    outcomes = []
    for given in (model, model.SerializeToString()):
        try:
            outcomes.append(_answer(relay.frontend.from_onnx(given)[0]).tolist())
        except ValueError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]
