"""ONNX's own tests of operators, some of each family; `make onnx-conformance` runs all."""

import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from onnx_conformance import run_case, suite
import tessera  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from tessera import onnx_backend  # noqa: E402

FAMILIES = (
    "abs|add|clip_example|elu_default|erf|gelu_default_1|hardswish|leakyrelu|mod_mixed_sign_int32|pow_types_float32_int32",
    "argmax_default_axis_example|reduce_max_keepdims_example|reduce_l2_keep_dims_example|reduce_log_sum_exp_keepdims_example",
    "concat_2d_axis_1|expand_dim_changed|flatten_axis2|reshape_reordered_last_dims|slice|split_equal_parts_1d_opset18|tile",
    "gather_0|gather_elements_1|gathernd_example_int32|scatter_elements_with_axis|scatternd|top_k|onehot_with_axis",
    "batchnorm_example|instancenorm_example|layer_normalization_4d_axis1|group_normalization_example|lrn|softmax_axis_1",
    "basic_conv_with_padding|conv_with_strides_padding|maxpool_2d_default|averagepool_2d_pads|gemm_all_attributes|matmul_2d",
    "convtranspose_autopad_same|convtranspose_output_shape|maxpool_with_argmax_2d_precomputed_strides|maxunpool_export_without_output_shape",
    "averagepool_2d_ceil_last_window_starts_on_pad|lppool_2d_dilations|matmul_bcast|einsum_batch_matmul|einsum_inner_prod",
    "attention_4d_gqa_softcap|attention_3d_with_past_and_present|rotary_embedding_interleaved|causal_conv_with_state_silu",
    "if|loop11|scan9_sum|sequence_map_add_1_sequence_1_tensor|optional_has_element_empty_optional_input",
    "lstm_with_peepholes|gru_batchwise|rnn_seq_length",
    "quantizelinear_blocked_asymmetric|quantizelinear_int4|dequantizelinear_axis|qlinearmatmul_2D_int8_float32|qlinearconv",
    "resize_downsample_scales_cubic_antialias|resize_tf_crop_and_resize|resize_upsample_sizes_nearest_ceil_half_pixel",
    "gridsample_bicubic|affine_grid_2d|center_crop_pad_crop_and_pad|nonmaxsuppression_two_batches|roialign_mode_max|col2im",
    "adagrad|adagrad_multiple|adam|adam_multiple|momentum|momentum_multiple|nesterov_momentum",
    "constant_pad|edge_pad|reflect_pad|where_example|cumsum_1d_reverse|nonzero_example|shape_start_1|unsqueeze_axis_1",
)


@pytest.mark.parametrize("names", FAMILIES)
def test_operators_as_onnx_tests_them(names):
    cases = [f"test_{name}_cpu" for name in names.split("|")]
    assert set(cases) <= set(suite())
    wrong = {case: outcome for case in cases if (outcome := run_case(case))[0] != "passed"}
    assert not wrong


def test_the_small_copy_of_a_known_network():
    assert run_case("test_squeezenet_cpu")[0] == "passed"


def test_inputs_that_decide_shapes_are_compiled_in_when_they_are_given():
    graph = helper.make_graph(
        [helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)],
        "graph",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3)),
            helper.make_tensor_value_info("axes", TensorProto.INT64, (1,)),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    prepared = onnx_backend.prepare(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]))
    x = np.arange(6, dtype="float32").reshape(2, 3)
    for axis in (0, 1, -1):
        (got,) = prepared.run([x, np.array([axis])])
        np.testing.assert_array_equal(got, x.sum(axis))


def test_one_node_runs_alone():
    x = np.array([-1, 2], "float32")
    (got,) = onnx_backend.run_node(helper.make_node("Relu", ["x"], ["y"]), [x])
    np.testing.assert_array_equal(got, [0, 2])


def test_another_device_is_rejected():
    assert not onnx_backend.supports_device("CUDA")
    with pytest.raises(ValueError, match="CPU"):
        onnx_backend.prepare(None, "CUDA:0")


def test_the_wrong_number_of_inputs_is_told():
    node = helper.make_node("Relu", ["x"], ["y"])
    graph = helper.make_graph(
        [node],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2,))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    with pytest.raises(ValueError, match=re.escape("takes 1 inputs, 2 are given")):
        onnx_backend.prepare(helper.make_model(graph)).run([np.zeros(2, "float32")] * 2)


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize(
    "threshold, kept",
    [
        *[(low, [0, 3]) for low in (None, 0.0, -0.0, -1.0)],
        (0.25, [0, 2, 3]),
        (0.49999997, [0, 2, 3]),
        (0.5, [0, 1, 2, 3]),
        (1.0, [0, 1, 2, 3]),
    ],
)
def test_boxes_are_suppressed_above_the_threshold(threshold, kept, is_constant):
    """The first box overlaps the next two by 0.5 and 0.25, and the last not at all. Without a threshold it is 0."""
    given = {
        "boxes": np.array([[[0, 0, 1, 1], [0, 0, 1, 0.5], [0, 0, 0.5, 0.5], [5, 5, 6, 6]]], "float32"),
        "scores": np.array([[[4, 3, 2, 1]]], "float32"),
        "most": np.array([4]),
    }
    if threshold is not None:
        given["threshold"] = np.array([threshold], "float32")
    constants = ("most", "threshold") if is_constant else ()
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("NonMaxSuppression", list(given), ["y"])],
        "graph",
        [
            info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in given.items()
            if name not in constants
        ],
        [info("y", TensorProto.INT64, None)],
        [numpy_helper.from_array(given[name], name) for name in constants if name in given],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    inputs = {name: value for name, value in given.items() if name not in constants}
    want = np.array([[0, 0, box] for box in kept])
    if threshold is not None:
        np.testing.assert_array_equal(ReferenceEvaluator(model).run(None, inputs)[0], want)
    np.testing.assert_array_equal(tessera.compile(model).run(inputs)[0].numpy(), want)
