"""Layers of TensorFlow, and what detectors need; see `framework_cases`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import Case
from ._tensorflow_model import Feeds, Fixed, case, compare, floats


def _contractions() -> Iterator[Case]:
    a, b = floats(3, 4), floats(4, 5, seed=1)
    yield case("MatMul", a=a, b=b)
    yield case("MatMul", "transposed", a=a.T.copy(), b=b.T.copy(), transpose_a=True, transpose_b=True)
    for operator in ("BatchMatMul", "BatchMatMulV2"):
        x, y = floats(2, 3, 4, 5), floats(2, 3, 5, 6, seed=1)
        yield case(operator, x=x, y=y)
        yield case(operator, "adjoint", x=x.swapaxes(2, 3).copy(), y=y.swapaxes(2, 3).copy(), adj_x=True, adj_y=True)
    yield case("BatchMatMulV2", "broadcast", x=floats(2, 1, 4, 5), y=floats(3, 5, 6))
    yield case("Einsum", inputs=[floats(2, 3, 4), floats(4, 5, 6)], equation="abc,cde->abde")
    yield case("Einsum", "batch", inputs=[floats(2, 3, 4), floats(2, 5, 4)], equation="bij,bkj->bik")
    yield case("Einsum", "ellipsis", inputs=[floats(2, 3, 4), floats(4, 5)], equation="...j,jk->...k")
    yield case("Einsum", "transpose", inputs=[floats(2, 3, 4)], equation="abc->cab")
    image, weight = floats(2, 9, 8, 4), floats(3, 2, 4, 6, seed=1)
    for padding in ("SAME", "VALID"):
        yield case("Conv2D", padding, input=image, filter=weight, strides=[1, 2, 1, 1], padding=padding)
        yield case("Conv2D", f"{padding} dilated", input=image, filter=weight, strides=[1] * 4, padding=padding, dilations=[1, 2, 2, 1])  # fmt: skip
        depthwise = floats(3, 3, 4, 2, seed=1)
        yield case("DepthwiseConv2dNative", padding, input=image, filter=depthwise, strides=[1, 2, 2, 1], padding=padding)  # fmt: skip
        volume, cube = floats(1, 5, 6, 7, 2), floats(2, 3, 3, 2, 4, seed=1)
        yield case("Conv3D", padding, input=volume, filter=cube, strides=[1, 2, 1, 2, 1], padding=padding)
        height, width = (9, 8) if padding == "SAME" else (10, 7)
        small = floats(2, 5 if padding == "SAME" else 4, 4 if padding == "SAME" else 3, 6)
        yield case("Conv2DBackpropInput", padding, input_sizes=Fixed([2, height, width, 4]), filter=floats(3, 3, 4, 6), out_backprop=small, strides=[1, 2, 2, 1], padding=padding)  # fmt: skip
        size = [1, 5, 6, 7, 2] if padding == "SAME" else [1, 5, 7, 7, 2]
        back = floats(1, 3, 3, 4, 3) if padding == "SAME" else floats(1, 2, 3, 3, 3)
        yield case("Conv3DBackpropInputV2", padding, input_sizes=Fixed(size), filter=floats(3, 3, 3, 2, 3), out_backprop=back, strides=[1, 2, 2, 2, 1], padding=padding)  # fmt: skip
        yield case("Dilation2D", padding, input=image, filter=floats(3, 2, 4), strides=[1, 2, 1, 1], rates=[1, 1, 2, 1], padding=padding)  # fmt: skip
    yield case("Conv2D", "explicit", input=image, filter=weight, strides=[1] * 4, padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0])  # fmt: skip
    yield case("Conv2D", "groups", input=image, filter=floats(3, 3, 2, 6), strides=[1] * 4, padding="SAME")
    yield case("Conv2D", "known weight", input=image, filter=Fixed(weight, "float32"), strides=[1] * 4, padding="SAME")
    yield case("DepthwiseConv2dNative", "dilated", input=image, filter=floats(3, 3, 4, 1), strides=[1] * 4, padding="SAME", dilations=[1, 2, 2, 1])  # fmt: skip
    yield case("BiasAdd", value=image, bias=floats(4))
    yield case("BiasAdd", "channels first", value=image, bias=floats(9), data_format="NCHW")


def _windows() -> Iterator[Case]:
    image, volume = floats(2, 9, 8, 3), floats(1, 5, 6, 7, 2)
    for padding in ("SAME", "VALID"):
        window: dict[str, Any] = {"ksize": [1, 3, 2, 1], "strides": [1, 2, 2, 1], "padding": padding}
        yield case("AvgPool", padding, value=image, **window)
        yield case("MaxPool", padding, input=image, **window)
        window = {"ksize": [1, 2, 3, 2, 1], "strides": [1, 2, 2, 1, 1], "padding": padding}
        yield case("AvgPool3D", padding, input=volume, **window)
        yield case("MaxPool3D", padding, input=volume, **window)
    scale, offset = floats(3, low=0.5), floats(3, seed=1)
    mean, variance = floats(3, seed=2), floats(3, low=0.5, seed=3)
    for operator in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
        norm: dict[str, Any] = {"x": image, "scale": scale, "offset": offset}
        yield case(operator, "", ["y"], **norm, mean=mean, variance=variance, epsilon=1e-3, is_training=False)
        yield case(operator, "training", ["y", "batch_mean", "batch_variance"], **norm, mean=np.zeros(0, "float32"), variance=np.zeros(0, "float32"), is_training=True)  # fmt: skip
    for scaled in (False, True):
        yield Case(
            "BatchNormWithGlobalNormalization",
            f"scale_after_normalization={scaled}",
            lambda scaled=scaled: _global_norm(scaled),  # type: ignore[misc]
        )
    yield case("LRN", input=floats(1, 4, 5, 9), depth_radius=2, bias=1.5, alpha=0.3, beta=0.7)
    cell: dict[str, Any] = {
        "x": floats(2, 3),
        "cs_prev": floats(2, 4),
        "h_prev": floats(2, 4, seed=1),
        "w": floats(7, 16),
        "b": floats(16),
    }
    for peephole in (False, True):
        yield case(
            "LSTMBlockCell",
            f"use_peephole={peephole}",
            ("i", "cs", "f", "o", "ci", "co", "h"),
            **cell,
            wci=floats(4),
            wcf=floats(4, seed=1),
            wco=floats(4, seed=2),
            use_peephole=peephole,
            cell_clip=0.8 if peephole else -1.0,
        )


def _global_norm(scaled: bool) -> Any:
    """TensorFlow makes it no more in a new graph, only in one of version 8."""
    inputs = [floats(2, 4, 5, 3), floats(3), floats(3, low=0.5), floats(3, seed=1), floats(3, seed=2)]

    def build(tf: Any, feeds: Feeds) -> list[Any]:
        definition = tf.compat.v1.GraphDef()
        definition.versions.producer = 8
        node = definition.node.add(name="norm", op="BatchNormWithGlobalNormalization", input=list("tmvbg"))
        node.attr["T"].type = tf.float32.as_datatype_enum
        node.attr["variance_epsilon"].f = 1e-3
        node.attr["scale_after_normalization"].b = scaled
        given = dict(zip("tmvbg", (feeds.tensor(one) for one in inputs)))
        return tf.graph_util.import_graph_def(definition, given, ["norm:0"], name="")

    return compare(build, "BatchNormWithGlobalNormalization")


def _images() -> Iterator[Case]:
    image = floats(2, 5, 6, 3)
    for operator in ("ResizeBicubic", "ResizeBilinear", "ResizeNearestNeighbor"):
        # TensorFlow's cubic is a table of 1024 entries.
        tolerance = 2e-3 if operator == "ResizeBicubic" else 1e-4
        for aligns, half in ((False, False), (True, False), (False, True)):
            for size in ([9, 13], [3, 4]):
                yield case(operator, f"{aligns} {half} {size}", None, tolerance, images=image, size=Fixed(size), align_corners=aligns, half_pixel_centers=half)  # fmt: skip
    boxes = np.array([[0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], [-0.2, 0.3, 0.5, 1.4]], "float32")
    for method in ("bilinear", "nearest"):
        yield case("CropAndResize", method, image=image, boxes=boxes, box_ind=np.array([0, 1, 1], "int32"), crop_size=Fixed([4, 7]), method=method, extrapolation_value=0.5)  # fmt: skip


def _boxes() -> Iterator[Case]:
    rng = np.random.RandomState(0)
    boxes = rng.uniform(0, 1, (20, 4)).astype("float32")
    boxes[:, 2:] = boxes[:, :2] + 0.4 * boxes[:, 2:]
    scores = rng.permutation(20).astype("float32") / 20
    common: dict[str, Any] = {
        "boxes": boxes,
        "scores": scores,
        "max_output_size": Fixed(8),
        "iou_threshold": Fixed(0.4, "float32"),
    }
    least: dict[str, Any] = {"score_threshold": Fixed(0.3, "float32")}
    yield case("NonMaxSuppressionV2", **common)
    yield case("NonMaxSuppressionV3", **common, **least)
    yield case("NonMaxSuppressionV4", **common, **least)
    yield case("NonMaxSuppressionV4", "padded", **common, **least, pad_to_max_output_size=True)
    yield case("NonMaxSuppressionV5", **common, **least, soft_nms_sigma=Fixed(0, "float32"))
    yield case("NonMaxSuppressionV5", "soft", **common, **least, soft_nms_sigma=Fixed(0.5, "float32"))
    classes = (rng.permutation(2 * 15 * 3).reshape(2, 15, 3) / 90).astype("float32")
    for share in (1, 3):
        corners = rng.uniform(0, 1, (2, 15, share, 4)).astype("float32")
        corners[..., 2:] = corners[..., :2] + 0.4 * corners[..., 2:]
        for pads in (False, True):
            yield case(
                "CombinedNonMaxSuppression",
                f"boxes of {share} classes, pad_per_class={pads}",
                boxes=corners,
                scores=classes,
                max_output_size_per_class=Fixed(3),
                max_total_size=Fixed(7),
                iou_threshold=Fixed(0.4, "float32"),
                score_threshold=Fixed(0.2, "float32"),
                pad_per_class=pads,
            )


def cases() -> Iterator[Case]:
    yield from _contractions()
    yield from _windows()
    yield from _images()
    yield from _boxes()
