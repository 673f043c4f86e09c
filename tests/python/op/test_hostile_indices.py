"""Indices from data may be anything: operators read and write inside their tensors, on every executor and target."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.contrib import graph_executor, utils
from tessera.runtime.vm import VirtualMachine

HOSTILE = [
    0,
    4,
    5,
    -1,
    -5,
    -6,
    1000,
    -1000,
    2**31 - 1,
    -(2**31),
    2**32,
    2**32 + 1,
    -(2**32),
    2**62,
    2**63 - 1,
    -(2**63),
]
RNG = np.random.default_rng(5)
X = RNG.standard_normal((5, 24)).astype("float32")


def as_module(build, arrays, is_open=False):
    params = [
        relay.var(f"x{i}", shape=[relay.Any()] * a.ndim if is_open else a.shape, dtype=str(a.dtype))
        for i, a in enumerate(arrays)
    ]
    return tessera.IRModule.from_expr(relay.Function(params, build(*params)))


def on_graph(target, device):
    def run(build, *arrays):
        library = relay.build(as_module(build, arrays), target=target)
        if target == "c":  # compiled when it is exported
            folder = utils.tempdir()
            path = folder.relpath("library.so")
            library.export_library(path)
            library = tessera.runtime.load_module(path)
        module = graph_executor.GraphModule(library["default"](device))
        module.run(**{f"x{i}": a for i, a in enumerate(arrays)})
        return module.get_output(0).numpy()

    return run


def on_machine(is_open):
    def run(build, *arrays):
        program = relay.vm.compile(as_module(build, arrays, is_open), target="llvm")
        return VirtualMachine(program, tessera.cpu()).invoke("main", *arrays).numpy()

    return run


EXECUTORS = {
    "graph": on_graph("llvm", tessera.cpu()),
    "vm": on_machine(False),
    "open": on_machine(True),
}
if tessera.opencl(0).exist:
    EXECUTORS["opencl"] = on_graph("opencl", tessera.opencl(0))
everywhere = pytest.mark.parametrize("run", EXECUTORS.values(), ids=EXECUTORS)


def clipped(index, extent):
    return np.clip(index.astype(object), 0, extent - 1).astype("int64")


def inside(index, extent):
    """The index, and where it is outside the last one."""
    index = index.astype(object)
    return np.where((index >= 0) & (index < extent), index, extent - 1).astype("int64")


def of_type(dtype):
    limits = np.iinfo(dtype)
    return np.array([i for i in HOSTILE if limits.min <= i <= limits.max], dtype)


@everywhere
@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8"])
@pytest.mark.parametrize("axis", [0, 1])
def test_take_as_its_mode_says(run, dtype, axis):
    index = of_type(dtype)
    extent = X.shape[axis]
    for mode, chosen in (
        ("clip", clipped(index, extent)),
        ("wrap", (index.astype(object) % extent).astype("int64")),
        ("fast", inside(index, extent)),
    ):
        got = run(lambda x, i: relay.take(x, i, axis=axis, mode=mode), X, index)
        np.testing.assert_array_equal(got, np.take(X, chosen, axis=axis), mode)


def test_take_from_c_source():
    index = of_type("int64")
    got = on_graph("c", tessera.cpu())(lambda x, i: relay.take(x, i, axis=0, mode="fast"), X, index)
    np.testing.assert_array_equal(got, X[inside(index, 5)])


@everywhere
def test_gather_reads_inside(run):
    index = np.resize(of_type("int64"), (5, 16))
    got = run(lambda x, i: relay.gather(x, 1, i), X, index)
    np.testing.assert_array_equal(got, np.take_along_axis(X, inside(index, 24), 1))


@pytest.mark.parametrize("run", [EXECUTORS[name] for name in EXECUTORS if name != "open"])
def test_gather_nd_and_adv_index_read_inside(run):
    index = np.stack([of_type("int64"), of_type("int64")[::-1]])
    want = X[inside(index[0], 5), inside(index[1], 24)]
    np.testing.assert_array_equal(run(relay.gather_nd, X, index), want)
    np.testing.assert_array_equal(run(lambda x, i, j: relay.adv_index([x, i, j]), X, index[0], index[1]), want)


@pytest.mark.parametrize("run", [EXECUTORS[name] for name in EXECUTORS if name != "open"])
def test_updates_that_lie_outside_are_dropped(run):
    index = np.array([[0, -1, 5, -6, 1000, 2**63 - 1, -(2**63), 2**32 + 1]]).T.repeat(24, 1)
    updates = RNG.standard_normal(index.shape).astype("float32")
    want = X.copy()
    want[0], want[4] = updates[0], updates[1]
    np.testing.assert_array_equal(run(lambda x, i, u: relay.scatter(x, i, u, axis=0), X, index, updates), want)
    indices = np.ascontiguousarray(index[None, :, 0])
    np.testing.assert_array_equal(run(lambda x, i, u: relay.scatter_nd(x, i, u, "update"), X, indices, updates), want)


def test_indices_longer_than_the_data_are_rejected():
    with pytest.raises(tessera.error.DiagnosticError, match="indices may be longer only in axis 0"):
        EXECUTORS["graph"](
            lambda x, i, u: relay.scatter(x, i, u, axis=0), X, np.zeros((3, 30), "int64"), np.zeros((3, 30), "float32")
        )


def test_open_shapes_that_do_not_fit_are_not_read():
    run = on_machine(True)
    index = np.zeros((7, 3), "int64")  # data has five rows
    assert not run(lambda x, i: relay.gather(x, 1, i), X, index).any()
    np.testing.assert_array_equal(
        run(lambda x, i, u: relay.scatter(x, i, u, axis=1), X, index, np.ones((7, 3), "float32")), X
    )


def test_nothing_is_read_from_an_empty_tensor():
    run = on_machine(True)
    nothing, index = np.zeros((0, 3), "float32"), np.array([0, -1, 7])
    for mode in ("clip", "wrap", "fast"):
        got = run(lambda x, i: relay.take(x, i, axis=0, mode=mode), nothing, index)
        assert got.shape == (3, 3) and not got.any()


def test_classes_of_a_loss_that_do_not_exist():
    got = EXECUTORS["graph"](
        lambda p, t, w: relay.nn.nll_loss(p, t, w, reduction="none", ignore_index=-7),
        X,
        np.array([0, 24, -1, 2**31 - 1, -(2**31)], "int32"),
        np.ones(24, "float32"),
    )
    np.testing.assert_array_equal(got, -X[range(5), [0, 23, 23, 23, 23]])


IMAGES = RNG.standard_normal((2, 3, 6, 6)).astype("float32")
WILD = [np.nan, np.inf, -np.inf, 1e30, -1e30, 3e9, -3e9, 2147483520.0]


@pytest.mark.parametrize("value", WILD)
def test_regions_of_images_that_do_not_exist(value):
    rois = np.array(
        [[value, 0, 0, 3, 3], [0, value, 0, 3, 3], [1, 0, 0, 3, value], [0, -value, 0, value, 3]], "float32"
    )
    run = EXECUTORS["graph"]
    got = run(lambda x, r: relay.vision.roi_align(x, r, (2, 2), 1.0, 2), IMAGES, rois)
    assert got.shape == (4, 3, 2, 2)
    got = run(lambda x, r: relay.vision.roi_pool(x, r, (2, 2), 1.0), IMAGES, rois)
    assert got.shape == (4, 3, 2, 2)
    boxes, index = np.full((1, 4), value, "float32"), np.array([2**31 - 1], "int32")
    got = run(lambda x, b, i: relay.image.crop_and_resize(x, b, i, (3, 3), "NCHW"), IMAGES, boxes, index)
    assert got.shape == (1, 3, 3, 3)


@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_positions_between_pixels_that_do_not_exist(method, padding):
    grid = np.resize(np.array(WILD, "float32"), (2, 2, 4, 4))
    got = EXECUTORS["graph"](lambda x, g: relay.image.grid_sample(x, g, method, padding_mode=padding), IMAGES, grid)
    assert got.shape == (2, 3, 4, 4)
