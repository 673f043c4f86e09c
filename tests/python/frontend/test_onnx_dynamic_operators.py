"""Operators over extents that are known only at run time: one program for several shapes, against the standard's evaluator."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from tessera import relay  # noqa: E402

rng = np.random.default_rng(0)
SIZES = [{"b": 2, "c": 3, "h": 5, "w": 4, "t": 6}, {"b": 1, "c": 1, "h": 7, "w": 9, "t": 3}]


def real(*shape):
    return rng.standard_normal(shape).astype("float32")


def ints(*values):
    return np.array(values, "int64")


def value_of(shape, sizes, make=real):
    return make(*[sizes.get(extent, extent) for extent in shape])


def model_of(nodes, inputs, constants, opset=18, outputs=("y",), domain=""):
    """`inputs`: name to (shape with names, dtype)."""
    types = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
        for name, (shape, dtype) in inputs.items()
    ]
    results = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in outputs]
    held = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    sets = [helper.make_opsetid("", opset), *([helper.make_opsetid(domain, 1)] if domain else [])]
    return helper.make_model(helper.make_graph(nodes, "g", types, results, held), opset_imports=sets, ir_version=10)


def program_of(model):
    mod, _ = relay.frontend.from_onnx(model)
    return relay.create_executor("vm", mod=mod, target="llvm").evaluate()


def check_nodes(nodes, shapes, constants=None, make=None, sizes=SIZES, want=None, rtol=1e-4, **options):
    """One program for all sizes. `shapes`: of inputs, with names of extents; `make`: how values of an input are made."""
    make = make or {}
    runs = [{name: value_of(shape, size, make.get(name, real)) for name, shape in shapes.items()} for size in sizes]
    inputs = {name: (shape, runs[0][name].dtype) for name, shape in shapes.items()}
    model = model_of(nodes, inputs, constants or {}, **options)
    program = program_of(model)
    reference = None if want else ReferenceEvaluator(model)
    for values in runs:
        got = program(*values.values())
        got = [got] if hasattr(got, "numpy") else list(got)
        expected = want(**values) if want else reference.run(None, values)
        assert len(got) == len(expected)
        for mine, other in zip(got, expected, strict=True):
            assert mine.numpy().shape == np.shape(other)
            np.testing.assert_allclose(mine.numpy(), other, rtol, 1e-5)


def check(
    op, shapes, constants=None, outputs=("y",), domain="", make=None, sizes=SIZES, want=None, opset=18, **attributes
):
    names = [*shapes, *(constants or {})]
    node = helper.make_node(op, names, list(outputs), domain=domain, **attributes)
    check_nodes([node], shapes, constants, make, sizes, want, opset=opset, outputs=outputs, domain=domain)


def positive(*shape):
    return np.abs(real(*shape)) + 0.1


def indices(low, high):
    return lambda *shape: rng.integers(low, high, shape)


def number(low, high):
    return lambda *shape: np.array(rng.integers(low, high)).reshape(shape)


X = {"x": ("b", "c", "h", "w")}
CHANNELS = {"x": ("b", 4, "h", "w")}
SEQUENCE = {"x": ("b", "t", 12)}
REDUCTIONS = [
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
]


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("op", REDUCTIONS)
def test_reductions(op, keepdims):
    make = {"x": positive}
    check(op, X, {"axes": ints(-1, 2)}, keepdims=keepdims, make=make)
    check(op, X, keepdims=keepdims, make=make)
    check(op, X, keepdims=keepdims, make=make, axes=[1, -1], opset=11)
    check(op, X, keepdims=keepdims, make=make, noop_with_empty_axes=1)


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("op", REDUCTIONS)
def test_reductions_over_axes_that_a_run_decides(op, keepdims):
    shapes = {"x": ("b", "c", "h"), "axes": (1,)}
    check(op, shapes, keepdims=keepdims, make={"x": positive, "axes": number(-3, 3)})
    shapes["axes"] = (2,)
    check(op, shapes, keepdims=keepdims, make={"x": positive, "axes": lambda n: np.array([-1, rng.integers(0, 2)])})


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_positions_of_extremes(op, last, keepdims):
    check(op, X, axis=-2, keepdims=keepdims, select_last_index=last)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
def test_softmax(op, axis):
    check(op, X, axis=axis)


def test_hardmax_over_all_axes_from_one_on():
    def want(x):
        rows = x.reshape(x.shape[0], -1)
        return [np.eye(rows.shape[1], dtype="float32")[rows.argmax(1)].reshape(x.shape)]

    check("Hardmax", X, axis=1, opset=11, want=want)


def test_norms():
    check("InstanceNormalization", CHANNELS, {"s": real(4), "bias": real(4)})
    check("InstanceNormalization", {"x": ("b", 4, "h")}, {"s": real(4), "bias": real(4)})
    check("MeanVarianceNormalization", X)
    check("MeanVarianceNormalization", X, axes=[2, 3])
    check("BatchNormalization", CHANNELS, {"s": real(4), "bias": real(4), "m": real(4), "v": positive(4)})
    for axis in (-1, 1, 0):
        check("LpNormalization", X, axis=axis, p=2)


def test_norms_of_rows():
    shapes = {"x": ("b", "t", 8)}
    check("LayerNormalization", shapes, {"s": real(8), "bias": real(8)})
    check("LayerNormalization", shapes, {"s": real(8)}, outputs=("y", "mean", "inverse"))
    check("LayerNormalization", {**shapes, "s": ("t", 8)}, axis=-2)
    check("RMSNormalization", shapes, {"s": real(8)}, opset=23)


def test_group_norm():
    check("GroupNormalization", CHANNELS, {"s": real(2), "bias": real(2)}, num_groups=2)
    check("GroupNormalization", CHANNELS, {"s": real(4), "bias": real(4)}, num_groups=2, opset=21)
    check("GroupNormalization", {"x": ("b", 4, "h")}, {"s": real(4), "bias": real(4)}, num_groups=2, opset=21)


def test_global_pools():
    check("GlobalAveragePool", X)
    check("GlobalMaxPool", X)
    check("GlobalAveragePool", {"x": ("b", 3, "h")})
    check("GlobalLpPool", X, want=lambda x: [np.sqrt((x * x).sum((2, 3), keepdims=True))])


@pytest.mark.parametrize(
    ("op", "more"), [("MaxPool", {}), ("AveragePool", {}), ("AveragePool", {"count_include_pad": 1}), ("LpPool", {})]
)
def test_pools(op, more):
    check(op, X, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2], **more)
    check(op, X, kernel_shape=[3, 3], auto_pad="SAME_UPPER", strides=[2, 2], **more)
    if op != "MaxPool":  # of which the evaluator forgets the last row
        check(op, X, kernel_shape=[3, 3], auto_pad="SAME_LOWER", strides=[2, 1], **more)
    if op != "LpPool":
        check(op, X, kernel_shape=[3, 3], ceil_mode=1, strides=[2, 2], opset=19, **more)


def test_pools_over_one_and_three_dimensions():
    check("MaxPool", {"x": ("b", 3, "h")}, kernel_shape=[2], strides=[2])
    check("MaxPool", {"x": ("b", 3, "h", "w", "h")}, kernel_shape=[2, 2, 2])


def test_indices_of_pools():
    both = ("y", "i")
    check("MaxPool", X, outputs=both, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    check("MaxPool", X, outputs=both, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])
    check("MaxPool", {"x": ("b", 2, "t")}, outputs=both, kernel_shape=[2], strides=[2])

    def want(x):
        rows = np.arange(x.shape[2] // 2)[:, None] * 2
        columns = np.arange(x.shape[3] // 2) * 2
        blocks = np.stack([x[:, :, rows + i, columns + j] for i in (0, 1) for j in (0, 1)])
        at = blocks.argmax(0)
        planes = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], 1, 1) * x.shape[2] * x.shape[3]
        return [blocks.max(0), planes + rows + at // 2 + (columns + at % 2) * x.shape[2]]

    check("MaxPool", X, outputs=both, kernel_shape=[2, 2], strides=[2, 2], storage_order=1, want=want)


def test_pools_are_undone():
    nodes = [
        helper.make_node("MaxPool", ["x"], ["z", "i"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("MaxUnpool", ["z", "i"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    sizes = [{"b": 2, "c": 3, "h": 4, "w": 6}, {"b": 1, "c": 1, "h": 2, "w": 8}]
    check_nodes(nodes, X, sizes=sizes)
    nodes[1:] = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("MaxUnpool", ["z", "i", "shape"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    check_nodes(nodes, X, sizes=sizes)


def test_convolutions():
    check("Conv", CHANNELS, {"w": real(6, 4, 3, 3), "bias": real(6)}, pads=[1, 1, 1, 1])
    check("Conv", CHANNELS, {"w": real(6, 4, 3, 3)}, auto_pad="SAME_UPPER", strides=[2, 2])
    check("Conv", CHANNELS, {"w": real(6, 4, 4, 4)}, auto_pad="SAME_LOWER", strides=[2, 2])
    check("Conv", CHANNELS, {"w": real(6, 4, 4, 4)}, auto_pad="SAME_LOWER")
    check("Conv", {"x": ("b", 4, "h")}, {"w": real(6, 4, 3)})
    check("ConvTranspose", CHANNELS, {"w": real(4, 5, 3, 3)}, strides=[2, 2])
    check("ConvTranspose", CHANNELS, {"w": real(4, 5, 3, 3)}, strides=[2, 2], auto_pad="SAME_UPPER")


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize(mode):
    scales = np.array([1, 1, 2, 1.5], "float32")
    check("Resize", X, {"roi": np.array([], "float32"), "scales": scales}, mode=mode)


#: Rows shorter and longer than a vector.
ROWS = [{"b": 1, "c": 2, "h": h, "w": w} for h, w in [(1, 2), (3, 5), (4, 16), (2, 17), (9, 40)]]


@pytest.mark.parametrize("scale", [2.0, 3.5, 0.5, 0.25])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_neighbours_of_a_resized_row_come_from_one_vector_or_several(mode, scale):
    scales = np.array([1, 1, max(scale, 1), scale], "float32")
    sizes = [size for size in ROWS if size["w"] * scale >= 1]
    check("Resize", X, {"roi": np.array([], "float32"), "scales": scales}, mode=mode, sizes=sizes)


def test_split():
    three = ("y", "z", "u")
    check("Split", SEQUENCE, outputs=three, axis=2, num_outputs=3)
    check("Split", {"x": ("b", "t", 11)}, outputs=three, axis=-1, num_outputs=3)
    check("Split", SEQUENCE, outputs=three, axis=2, opset=13)
    check("Split", SEQUENCE, {"s": ints(2, 4, 6)}, outputs=three, axis=2)


def test_split_along_an_extent_that_a_run_decides():
    three = ("y", "z", "u")
    check("Split", SEQUENCE, outputs=three, axis=1, num_outputs=3)
    check("Split", SEQUENCE, outputs=three, axis=1, opset=13)
    check("Split", {"x": ("b", "h", 12)}, outputs=("y", "z"), axis=-2, num_outputs=2)
    sizes = [{"b": 2, "t": 3}, {"b": 1, "t": 3}]
    check("Split", SEQUENCE, {"s": ints(1, 2)}, outputs=("y", "z"), axis=1, sizes=sizes)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter(reduction):
    rows = lambda *shape: np.stack([rng.permutation(5)[: shape[1]] for _ in range(shape[0])])
    shapes = {"x": ("b", "h"), "i": ("b", "t"), "u": ("b", "t")}
    sizes = [{"b": 2, "h": 5, "t": 3}, {"b": 4, "h": 7, "t": 2}]
    check("ScatterElements", shapes, axis=1, reduction=reduction, make={"i": rows}, sizes=sizes)
    if reduction != "none":  # which of several updates stays is not said
        shapes = {"x": ("b", "h"), "i": ("c", "t"), "u": ("c", "t")}
        sizes = [{"b": 2, "h": 5, "t": 4, "c": 1}, {"b": 4, "h": 7, "t": 2, "c": 3}]
        check("ScatterElements", shapes, axis=-1, reduction=reduction, make={"i": indices(0, 3)}, sizes=sizes)
    shapes = {"x": ("b", "h", 3), "i": ("t", 1), "u": ("t", "h", 3)}
    some = lambda *shape: rng.permutation(2)[: shape[0], None]
    sizes = [{"b": 2, "h": 5, "t": 2}, {"b": 4, "h": 7, "t": 1}]
    check("ScatterND", shapes, reduction=reduction, make={"i": some}, sizes=sizes)


EQUATIONS = [
    ("bij,bjk->bik", {"x": ("b", "t", 4), "z": ("b", 4, "h")}),
    ("bthd,bshd->bhts", {"x": ("b", "t", 2, 4), "z": ("b", "h", 2, 4)}),
    ("bij->bji", {"x": ("b", "t", 4)}),
    ("...ij,jk->...ik", {"x": ("b", "t", 4), "z": (4, 3)}),
    ("bij->b", {"x": ("b", "t", 4)}),
    ("i,j->ij", {"x": ("b",), "z": ("t",)}),
    ("bii->bi", {"x": ("b", "t", "t")}),
    ("bi,bi->b", {"x": ("b", "t"), "z": ("b", "t")}),
    ("bhwc,hkc->bhwk", {"x": ("b", "h", "w", 3), "z": ("h", "t", 3)}),
    ("bn,anm,bm->ba", {"x": ("b", 3), "z": (5, 3, 4), "u": ("b", 4)}),
    ("ij,jk", {"x": ("b", 3), "z": (3, "t")}),
    ("bnd,bmd->bnm", {"x": ("b", "t", 8), "z": ("b", "t", 8)}),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
def test_einsum(equation, shapes):
    check("Einsum", shapes, equation=equation)


def test_einsum_with_constant_weights():
    check("Einsum", {"x": ("b", "t", 6)}, {"w": real(6, 2, 3)}, equation="btd,dhe->bhte")


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pad(mode):
    shapes = {"x": ("b", "h")}
    check("Pad", shapes, {"p": ints(0, 2, 0, 1)}, mode=mode, opset=19)
    make = {"p": lambda n: np.array([0, rng.integers(0, 3), 0, rng.integers(0, 3)])}
    check("Pad", {**shapes, "p": (4,)}, mode=mode, opset=19, make=make)


def test_pads_that_crop():
    want = lambda x: [np.pad(x, ((0, 0), (0, 1)))[:, 2:]]
    check("Pad", {"x": ("b", "h")}, {"p": ints(0, -2, 0, 1)}, want=want)
    check("CenterCropPad", {"x": ("b", "h")}, {"s": ints(3, 4)})
    check("CenterCropPad", {"x": ("b", "h", "w")}, {"s": ints(5)}, axes=[-1])


def test_one_hot():
    make = {"x": indices(-3, 3), "d": number(3, 6)}
    values = {"v": np.array([0, 1], "float32")}
    check("OneHot", {"x": ("b", "t"), "d": ()}, values, make=make)
    check("OneHot", {"x": ("b", "t"), "d": (1,)}, values, make=make, axis=1)
    check("OneHot", {"x": ("b", "t")}, {"d": np.array(4), **values}, make=make, axis=1)


def test_fourier_transforms():
    check("DFT", {"x": ("b", "t", 1)}, axis=1, opset=17)
    check("DFT", {"x": ("b", "t", 2)}, axis=1, inverse=1, opset=17)
    check("DFT", {"x": ("b", "t", 1)}, axis=1, onesided=1, opset=17)
    check("DFT", {"x": ("b", "t", 2)}, {"length": np.array(4), "axis": np.array(-2)}, opset=20)
    check("DFT", {"x": ("b", "t", 2), "length": ()}, make={"length": number(3, 7)}, axis=1, opset=17)


def test_short_time_fourier_transforms():
    sizes = [{"b": 2, "t": 10}, {"b": 1, "t": 17}]
    frames = {"step": np.array(2), "window": np.hanning(4).astype("float32")}
    check("STFT", {"x": ("b", "t", 1)}, {**frames, "length": np.array(4)}, opset=17, onesided=1, sizes=sizes)
    check("STFT", {"x": ("b", "t", 1)}, frames, opset=17, onesided=0, sizes=sizes)


def test_scans():
    check("CumSum", X, {"axis": np.array(2)}, reverse=1)
    check("CumSum", X, {"axis": np.array(-1)}, exclusive=1)


def test_top_k():
    for axis in (0, -1):
        check("TopK", CHANNELS, {"k": ints(1)}, outputs=("y", "i"), axis=axis)
    check("TopK", {"x": ("b", "h")}, {"k": ints(2)}, outputs=("y", "i"), axis=1, largest=0)


def test_shapes():
    check("Reshape", X, {"s": ints(0, 0, -1)})
    check("Reshape", SEQUENCE, {"s": ints(0, -1, 3, 4)})
    check("Expand", {"x": ("b", 1)}, {"s": ints(1, 4)})
    check("Expand", {"x": ("b", 1)}, {"s": ints(3, 1, 4)})
    check("Tile", {"x": ("b", "h")}, {"r": ints(2, 3)})
    check("Tile", {"x": ("b", "h"), "r": (2,)}, make={"r": lambda n: rng.integers(1, 4, n)})
    check("Concat", {"x": ("b", "h"), "z": ("b", "w")}, axis=1)
    check("Slice", {"x": ("b", "h")}, {"s": ints(-1), "e": ints(-1000), "a": ints(-1), "t": ints(-1)})
    check("DepthToSpace", {"x": ("b", 8, "h", "w")}, blocksize=2, mode="CRD")
    check("Col2Im", {"x": ("b", 8, 12)}, {"s": ints(4, 5), "k": ints(2, 2)})


def test_losses():
    make = {"i": indices(0, 3)}
    check("NegativeLogLikelihoodLoss", {"x": ("b", 3, "t"), "i": ("b", "t")}, make=make)
    check("NegativeLogLikelihoodLoss", {"x": ("b", 3), "i": ("b",)}, {"w": positive(3)}, make=make, reduction="sum")
    check("SoftmaxCrossEntropyLoss", {"x": ("b", 3, "t"), "i": ("b", "t")}, make=make)


def test_matmuls():
    check("MatMul", {"x": ("b", 2, "t", 4), "z": ("b", 2, 4, "t")})
    check("MatMul", {"x": ("b", "c", "t", 4), "z": ("b", "c", 4, "h")})
    check("MatMul", {"x": ("b", 2, "t", 4)}, {"z": real(4, 3)})
    check("MatMul", {"x": (2, "t", 4), "z": ("b", 2, 4, "h")})
    check("MatMul", {"x": ("b", 2, "t", 4), "z": (1, 2, 4, "t")})
    check("MatMul", {"x": ("b", 2, "t", 4), "z": (1, 4, "t")})
    check("MatMul", {"x": ("t",), "z": ("b", "t", 3)})


def test_attention():
    heads, flat = ("b", 2, "t", 8), ("b", "t", 16)
    check("RotaryEmbedding", {"x": heads, "cos": ("b", "t", 4), "sin": ("b", "t", 4)}, opset=23)
    check("RotaryEmbedding", {"x": flat, "cos": ("b", "t", 4), "sin": ("b", "t", 4)}, opset=23, num_heads=2)
    keys = ("b", 2, "h", 8)
    check("Attention", {"q": heads, "k": keys, "v": keys}, opset=23)
    check("Attention", {"q": heads, "k": heads, "v": heads}, opset=23, is_causal=1)
    keys = ("b", "h", 16)
    check("Attention", {"q": flat, "k": keys, "v": keys}, opset=23, q_num_heads=2, kv_num_heads=2)


MICROSOFT = "com.microsoft"


def check_as_fixed(op, shapes, constants, outputs, make, sizes, order=None, **attributes):
    """Against programs for fixed shapes, each of which knows its values of integers too."""
    names = order or [*shapes, *constants]
    node = helper.make_node(op, names, list(outputs), domain=MICROSOFT, **attributes)

    def want(**values):
        whole = {name: value for name, value in values.items() if value.dtype != np.float32}
        inputs = {name: (value.shape, value.dtype) for name, value in values.items() if name not in whole}
        model = model_of([node], inputs, {**constants, **whole}, outputs=outputs, domain=MICROSOFT)
        out = program_of(model)(*[values[name] for name in inputs])
        return [part.numpy() for part in ([out] if hasattr(out, "numpy") else out)]

    check_nodes([node], shapes, constants, make, sizes, want, outputs=outputs, domain=MICROSOFT)


def test_attention_of_packed_projections():
    sizes = [{"b": 2, "t": 4}, {"b": 1, "t": 7}]
    weights = {"w": real(8, 24), "bias": real(24)}
    make = {"mask": lambda *shape: rng.integers(1, 4, shape).astype("int32")}
    for mask in (("b",), ("b", "t")):
        shapes = {"x": ("b", "t", 8), "mask": mask}
        order = ["x", "w", "bias", "mask"]
        check_as_fixed("Attention", shapes, weights, ("y",), make, sizes, order, num_heads=2, unidirectional=1)


def test_attention_of_many_heads():
    shapes = {"q": ("b", "t", 8), "k": ("b", "h", 8), "v": ("b", "h", 8)}
    check_as_fixed("MultiHeadAttention", shapes, {}, ("y",), {}, SIZES, num_heads=2)


@pytest.mark.parametrize("attributes", [{}, {"local_window_size": 2}, {"do_rotary": 1}])
def test_queries_that_share_keys(attributes):
    """A prompt, and further tokens behind a past whose length a run decides."""
    shapes = {"q": ("b", "t", 64), "k": ("b", "t", 32), "v": ("b", "t", 32)}
    shapes |= {"past_k": ("b", 2, "p", 16), "past_v": ("b", 2, "p", 16), "last": ("b",), "total": (1,)}
    angles = np.arange(16)[:, None] / 10.0 ** np.linspace(0, 2, 8)
    tables = {"cos": np.cos(angles).astype("float32"), "sin": np.sin(angles).astype("float32")}
    tables = tables if "do_rotary" in attributes else {}
    for past, length in ((5, 1), (3, 2)):
        sizes = [{"b": 2, "t": length, "p": past}, {"b": 1, "t": length, "p": past + 2}]
        totals = iter([past + length, past + 2 + length])
        now = {}

        def last(b, totals=totals, now=now):
            now["total"] = next(totals)
            return np.full(b, now["total"] - 1, "int32")

        make = {"last": last, "total": lambda n, now=now: np.array([now["total"]], "int32")}
        outputs = ("y", "new_k", "new_v")
        check_as_fixed(
            "GroupQueryAttention", shapes, tables, outputs, make, sizes, num_heads=4, kv_num_heads=2, **attributes
        )


def test_embeddings_of_dynamic_length():
    shapes = {"ids": ("b", "t"), "segments": ("b", "t")}
    tables = {"words": real(9, 8), "positions": real(8, 8), "kinds": real(2, 8), "gamma": real(8), "beta": real(8)}
    make = {name: lambda *shape: rng.integers(0, 2, shape).astype("int32") for name in shapes}
    check_as_fixed("EmbedLayerNormalization", shapes, tables, ("y", "n"), make, SIZES)


# ---- extents by name --------------------------------------------------------------------------------------------------


def text_of(nodes, shapes, constants, **options):
    inputs = {name: (shape, "float32") for name, shape in shapes.items()}
    return str(relay.frontend.from_onnx(model_of(nodes, inputs, constants, **options))[0])


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


BATCH_AND_LENGTH = [
    node("Shape", "x", "shape"),
    node("Gather", "shape zero", "b"),
    node("Slice", "shape one two", "t"),
]
NUMBERS = {"zero": ints(0), "one": ints(1), "two": ints(2), "minus": ints(-1), "eight": ints(8), "size": ints(32)}


def test_heads_that_are_split_by_the_shape():
    nodes = [
        *BATCH_AND_LENGTH,
        node("Concat", "b t eight size", "split", axis=0),
        node("Reshape", "x split", "heads"),
        node("Transpose", "heads", "q", perm=[0, 2, 1, 3]),
        node("Transpose", "heads", "k", perm=[0, 2, 3, 1]),
        node("MatMul", "q k", "scores"),
        node("Softmax", "scores", "weights", axis=-1),
        node("MatMul", "weights q", "z"),
        node("Transpose", "z", "back", perm=[0, 2, 1, 3]),
        node("Mul", "eight size", "width"),
        node("Concat", "b t width", "merged", axis=0),
        node("Reshape", "back merged", "y"),
    ]
    text = text_of(nodes, {"x": ("b", "t", 256)}, NUMBERS)
    assert "newshape=[0, 0, 8, 32]) /* ty=Tensor[(?, ?, 8, 32), float32]" in text
    assert "dyn." not in text
    check_nodes(nodes, {"x": ("b", "t", 256)}, NUMBERS)


def test_reshapes_that_move_extents():
    nodes = [
        *BATCH_AND_LENGTH,
        node("Mul", "b t", "rows"),
        node("Concat", "rows eight size", "flat", axis=0),
        node("Reshape", "x flat", "z"),
        node("Mul", "rows eight", "all"),
        node("Concat", "all size", "flatter", axis=0),
        node("Reshape", "z flatter", "u"),
        node("Concat", "minus eight size", "back", axis=0),
        node("Reshape", "u back", "y"),
    ]
    text = text_of(nodes, {"x": ("b", "t", 256)}, NUMBERS)
    assert "dyn." not in text
    check_nodes(nodes, {"x": ("b", "t", 256)}, NUMBERS)


def test_expanding_to_the_shape_that_the_data_has_is_nothing():
    nodes = [
        *BATCH_AND_LENGTH,
        node("Concat", "b t minus", "open", axis=0),
        node("Equal", "open minus", "is_open"),
        node("ConstantOfShape", "three", "ones", value=numpy_helper.from_array(ints(1))),
        node("Where", "is_open ones open", "wide"),
        node("Expand", "x wide", "y"),
    ]
    constants = {**NUMBERS, "three": ints(3)}
    assert "dyn." not in text_of(nodes, {"x": ("b", "t", 256)}, constants)
    check_nodes(nodes, {"x": ("b", "t", 256)}, constants)


def test_heads_are_repeated_along_an_axis_of_one():
    nodes = [
        *BATCH_AND_LENGTH,
        node("Unsqueeze", "x two", "z"),
        node("Concat", "b t eight size", "wide", axis=0),
        node("Expand", "z wide", "y"),
    ]
    text = text_of(nodes, {"x": ("b", "t", 32)}, NUMBERS)
    assert "tile(" in text and "dyn." not in text
    check_nodes(nodes, {"x": ("b", "t", 32)}, NUMBERS)


def test_a_slice_up_to_a_length_keeps_other_extents():
    nodes = [*BATCH_AND_LENGTH, node("Slice", "cache zero t zero", "y")]
    shapes = {"x": ("b", "t"), "cache": (16, 32)}
    text = text_of(nodes, shapes, NUMBERS)
    assert "axes=[0]) /* ty=Tensor[(?, 32), float32]" in text
    check_nodes(nodes, shapes, NUMBERS)


def test_a_slice_up_to_its_own_length_is_nothing():
    nodes = [*BATCH_AND_LENGTH, node("Slice", "x zero t one", "y")]
    assert "slice" not in text_of(nodes, {"x": ("b", "t", 4)}, NUMBERS)
    check_nodes(nodes, {"x": ("b", "t", 4)}, NUMBERS)


def test_extents_of_one_name_that_differ_are_rejected_by_the_run():
    nodes = [
        *BATCH_AND_LENGTH,
        node("Concat", "b t", "same", axis=0),
        node("Reshape", "z same", "u"),
        node("Add", "x u", "y"),
    ]
    shapes = {"x": ("b", "t"), "z": ("b", "t")}
    inputs = {name: (shape, "float32") for name, shape in shapes.items()}
    program = program_of(model_of(nodes, inputs, NUMBERS))
    x, z = real(2, 3), real(2, 3)
    np.testing.assert_allclose(program(x, z).numpy(), x + z)
    with pytest.raises(Exception, match="t"):
        program(real(2, 3), real(3, 2))


def test_the_error_names_the_node_that_is_wrong():
    nodes = [
        node("Conv", "x w bias", "z", name="stem"),
        node("Relu", "z", "y", name="after"),
    ]
    constants = {"w": real(4, 3, 3, 3), "bias": real(4).astype("float64")}
    with pytest.raises(Exception, match="in node Conv stem"):
        text_of(nodes, {"x": ("b", 3, "h", "w")}, constants)


def test_a_constant_of_one_element_is_a_number():
    nodes = [node("Pow", "x two", "z"), node("Mul", "half z", "y")]
    constants = {"two": np.full(1, 2, "float32"), "half": np.full((1, 1), 0.5, "float32")}
    text = text_of(nodes, {"x": ("b", "t")}, constants)
    assert "power(%x, 2f" in text and "multiply(0.5f" in text
    check_nodes(nodes, {"x": ("b", "t")}, constants)
    alone = {"x": ("b",)}  # of fewer dimensions than the constant
    check_nodes([node("Mul", "half x", "y")], alone, constants)


def test_channels_are_shuffled_between_dynamic_extents():
    nodes = [
        node("Shape", "x", "shape"),
        node("Slice", "shape zero one", "b"),
        node("Slice", "shape two four", "image"),
        node("Concat", "b two three image", "split", axis=0),
        node("Reshape", "x split", "z"),
        node("Transpose", "z", "u", perm=[0, 2, 1, 3, 4]),
        node("Reshape", "u shape", "y"),
    ]
    constants = {**NUMBERS, "three": ints(3), "four": ints(4)}
    shapes = {"x": ("b", 6, "h", "w")}
    assert "dyn." not in text_of(nodes, shapes, constants)
    check_nodes(nodes, shapes, constants)


def test_a_token_that_is_expanded_to_the_batch_keeps_its_name():
    nodes = [
        *BATCH_AND_LENGTH,
        node("Concat", "b one size", "wide", axis=0),
        node("Expand", "token wide", "z"),
        node("Concat", "z x", "y", axis=1),
    ]
    constants = {**NUMBERS, "token": real(1, 1, 32)}
    shapes = {"x": ("b", "t", 32)}
    text = text_of(nodes, shapes, constants)
    assert "newshape=[0, 1, 0]) /* ty=Tensor[(?, 1, 32), float32]" in text
    check_nodes(nodes, shapes, constants)
