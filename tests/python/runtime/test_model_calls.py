"""How a model is called: names of outputs, memory of the caller's, conversions, threads of its own."""

import os
import threading

import numpy as np
import pytest
import tessera
from onnx import TensorProto, helper
from tessera import nd, relay

RNG = np.random.default_rng(3)
W = RNG.normal(size=(16, 8)).astype("float32")


def onnx_model(rows=4):
    """scores = relu(x w), total = the sum of all of x."""
    initializers = [helper.make_tensor("w", TensorProto.FLOAT, W.shape, W.ravel())]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"], name="first layer"),
        helper.make_node("Relu", ["product"], ["scores"], name="activation"),
        helper.make_node("ReduceSum", ["x"], ["total"], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 16])],
        [
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, [rows, 8]),
            helper.make_tensor_value_info("total", TensorProto.FLOAT, []),
        ],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.fixture(scope="module")
def graph():
    return tessera.compile(onnx_model())


@pytest.fixture(scope="module")
def machine():
    return tessera.compile(onnx_model("rows"))


@pytest.fixture(params=["graph", "machine"])
def model(request):
    """One of each executor."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def x():
    return RNG.normal(size=(4, 16)).astype("float32")


def scores(x):
    return np.maximum(x @ W, 0)


# ---- where a model comes from ----------------------------------------------------------------------------------------


def test_a_model_is_compiled_from_bytes_and_loaded_from_a_path(x, tmp_path):
    data = onnx_model().SerializeToString()
    (tmp_path / "m.onnx").write_bytes(data)
    for model in (tessera.compile(data), tessera.compile(bytearray(data)), tessera.Model(tmp_path / "m.onnx")):
        np.testing.assert_allclose(model.run(x)[0], scores(x), rtol=1e-5)
    model = tessera.Model(tmp_path / "m.onnx")
    model.save(tmp_path / "m.tar")
    for name in ("m.tar", "m.so"):
        model.save(tmp_path / name)
        compiled = (tmp_path / name).read_bytes()
        np.testing.assert_allclose(tessera.Model(compiled)(x)[0], scores(x), rtol=1e-5)
        with pytest.raises(ValueError, match="compiled already"):
            tessera.compile(compiled)
    with pytest.raises(ValueError, match="not the bytes of a compiled model"):
        tessera.Model(data)
    with pytest.raises(FileNotFoundError):
        tessera.Model(tmp_path / "none.tar")


def test_a_file_that_is_no_model_is_taken_for_compiled_code(tmp_path):
    (tmp_path / "m.o").write_bytes(b"no object")
    with pytest.raises((OSError, RuntimeError, tessera.TVMError)) as error:
        tessera.Model(tmp_path / "m.o")
    assert "--model-format" not in str(error.value)


def test_a_model_is_called_as_a_function(model, x):
    np.testing.assert_allclose(model(x)[0], scores(x), rtol=1e-5)
    assert np.argmax(model(x=x)[0]) == np.argmax(scores(x))


# ---- outputs ----------------------------------------------------------------------------------------------------------


def test_outputs_have_the_names_of_the_file(model):
    assert [info.name for info in model.outputs] == ["scores", "total"]
    assert model.outputs[1] == ("total", (), "float32")


def test_outputs_are_chosen_by_name(model, x):
    total, wanted = model.run(x, outputs=["total", "scores"])
    assert float(total) == pytest.approx(x.sum(), rel=1e-4) and wanted.shape == (4, 8)
    assert len(model.run(x, outputs=["total"])) == 1
    with pytest.raises(ValueError, match='no output "scoers"; its outputs are scores, total'):
        model.run(x, outputs=["scoers"])
    with pytest.raises(TypeError, match="a list of names"):
        model.run(x, outputs="total")


def unaligned(shape, dtype="float32"):
    raw = np.zeros(np.prod(shape, dtype=int) * 4 + 64, "uint8")
    start = -raw.ctypes.data % 64 + 4
    return raw[start : start + np.prod(shape, dtype=int) * 4].view(dtype).reshape(shape)


def test_results_go_to_memory_of_the_caller(model, x):
    strided = np.zeros((4, 16), "float32")[:, ::2]
    for buffer in (np.zeros((4, 8), "float32"), unaligned((4, 8)), strided, nd.empty((4, 8))):
        total = np.zeros((), "float32")
        results = model.run(x, out=[buffer, total])
        assert results[0] is buffer and results[1] is total
        np.testing.assert_allclose(buffer, scores(x), rtol=1e-5)
        assert total == pytest.approx(x.sum(), rel=1e-4)
    buffer = np.zeros((4, 8), "float32")
    first, second = model.run(x, out={"scores": buffer})
    assert first is buffer and isinstance(second, nd.NDArray)
    (only,) = model.run(-x, out=buffer, outputs=["scores"])
    assert only is buffer
    np.testing.assert_allclose(buffer, scores(-x), rtol=1e-5)
    model.run(x)  # a later run leaves the memory alone
    np.testing.assert_allclose(buffer, scores(-x), rtol=1e-5)


def test_a_result_may_go_over_an_input():
    data = RNG.normal(size=(64, 64)).astype("float32")
    x = relay.var("x", shape=(64, 64), dtype="float32")
    model = tessera.compile(tessera.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, x))))
    shared = nd.array(data)
    model.run(shared, out=[shared])
    np.testing.assert_allclose(shared, data @ data.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "out, kind, message",
    [
        ([np.zeros((4, 8))], ValueError, "out gives 1 arrays for 2 outputs"),
        ([np.zeros((4, 8)), None], ValueError, r'"scores" is \((4|\?), 8\) float32, but the array given .* float64'),
        ([nd.empty((4, 9)), None], ValueError, r'"scores" is .*, but the tensor given for it is \(4, 9\) float32'),
        ([[0.0], None], TypeError, 'output "scores" goes to a NumPy array or a tensor, not list'),
        ({"score": np.zeros(1)}, ValueError, 'no output "score"'),
    ],
)
def test_memory_that_does_not_fit_is_named(model, x, out, kind, message):
    with pytest.raises(kind, match=message):
        model.run(x, out=out)


def test_memory_that_is_read_only_or_shared_is_rejected(graph, machine, x):
    fixed = np.zeros((4, 8), "float32")
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        graph.run(x, out=[fixed, None])
    both = np.zeros((4, 8), "float32")
    with pytest.raises(ValueError, match="outputs 0 and 1 overlap"):
        graph.run(x, out=[both, both[:1, 0].reshape(())])
    with pytest.raises(ValueError, match=r"output 0 is \(3, 8\) float32 in this run"):
        machine.run(x[:3], out=[both, None])


# ---- inputs that are nearly right -------------------------------------------------------------------------------------


def test_another_element_type_is_converted_only_where_casting_allows(model, x):
    wide = x.astype("float64")
    with pytest.raises(ValueError, match=r'"x" is .* \(4, 16\) float64; convert it with .astype\("float32"\), or call'):
        model.run(wide)
    for given in (wide, nd.array(wide)):
        np.testing.assert_allclose(model.run(given, casting="same_kind")[0], scores(x), rtol=1e-5)
    with pytest.raises(ValueError, match=r'casting="same_kind"'):
        model.run(wide, casting="safe")
    np.testing.assert_allclose(model.run(x.astype("float16"), casting="safe")[0], scores(x), rtol=1e-2, atol=1e-2)
    with pytest.raises(ValueError, match=r'or call run\(..., casting="unsafe"\)'):
        model.run(x.astype("complex64"))
    with pytest.raises(ValueError, match="casting is one of no, equiv, safe"):
        model.run(x, casting="sane_kind")
    with pytest.raises(ValueError, match=r'float64; convert it with .astype\("float32"\)'):
        model.run(nd.array(wide))
    np.testing.assert_allclose(model.run(x.astype(">f4"))[0], scores(x), rtol=1e-5)


@pytest.mark.parametrize(
    "shape, cure",
    [
        ((1, 4, 16), r"first dimension too many: give x\[0\]"),
        ((16, 4), r"in another order: give x.transpose\(1, 0\)"),
    ],
)
def test_a_shape_that_is_nearly_right_is_told_how(graph, shape, cure):
    with pytest.raises(ValueError, match=cure):
        graph.run(np.zeros(shape, "float32"))


def test_a_missing_batch_and_an_image_with_channels_last_are_told_how():
    x = relay.var("x", shape=(1, 3, 5, 7), dtype="float32")
    model = tessera.compile(tessera.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))))
    with pytest.raises(ValueError, match=r"first dimension is missing: give x\[None\]"):
        model.run(np.zeros((3, 5, 7), "float32"))
    with pytest.raises(ValueError, match=r"give x.transpose\(0, 3, 1, 2\)"):
        model.run(np.zeros((1, 5, 7, 3), "float32"))


def test_an_input_called_like_an_option_is_given_in_a_dict():
    out = relay.var("out", shape=(2,), dtype="float32")
    model = tessera.compile(tessera.IRModule.from_expr(relay.Function([out], relay.nn.relu(out))))
    assert model.run({"out": [1, -1]})[0].tolist() == [1, 0]


# ---- threads ----------------------------------------------------------------------------------------------------------


def wide_model():
    """A program large enough to be run in parallel."""
    x = relay.var("x", shape=(256, 256), dtype="float32")
    body = x
    for _ in range(3):
        body = relay.nn.relu(relay.nn.dense(body, x))
    return tessera.IRModule.from_expr(relay.Function([x], body))


def threads_of_process():
    return set(os.listdir("/proc/self/task"))


def test_models_have_the_threads_they_ask_for():
    built = tessera.compile(wide_model())
    x = RNG.normal(size=(256, 256)).astype("float32") / 16
    expected = built.run(x)[0].numpy()
    before = threads_of_process()
    models = {count: tessera.Model(built.to_bytes(), num_threads=count) for count in (1, 2, 4)}
    for count, model in models.items():
        assert model.num_threads == count and model.affinity is None
        np.testing.assert_array_equal(model.run(x)[0], expected)  # work is cut the same for any number
    assert len(threads_of_process() - before) == 1 + 3
    assert built.num_threads is None
    del model, models
    for _ in range(200):
        if threads_of_process() <= before:
            break
        threading.Event().wait(0.01)
    assert threads_of_process() <= before  # they end with their model


def test_many_threads_call_models_of_different_counts():
    data = tessera.compile(wide_model()).to_bytes()
    x = RNG.normal(size=(256, 256)).astype("float32") / 16
    expected = tessera.Model(data).run(x)[0].numpy()
    models = [tessera.Model(data, num_threads=count) for count in (1, 2, 3)]
    problems = []

    def call(i):
        try:
            for turn in range(5):
                np.testing.assert_array_equal(models[(i + turn) % 3].run(x)[0], expected)
        except BaseException as problem:
            problems.append(problem)

    callers = [threading.Thread(target=call, args=(i,)) for i in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not problems


def test_threads_and_their_caller_stay_on_the_cpus_of_the_model():
    allowed = sorted(os.sched_getaffinity(0))
    cpu = allowed[-1]
    before = threads_of_process()
    data = tessera.compile(wide_model()).to_bytes()
    model = tessera.Model(data, num_threads=2, affinity=[cpu])
    assert model.affinity == (cpu,)
    x = np.zeros((256, 256), "float32")
    model.run(x)
    (worker,) = threads_of_process() - before
    assert os.sched_getaffinity(int(worker)) == {cpu}

    seen, caller, is_over = set(), threading.get_native_id(), threading.Event()

    def watch():
        while not is_over.is_set():
            seen.add(frozenset(os.sched_getaffinity(caller)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(1000):
        model.run(x)
        if frozenset([cpu]) in seen:
            break
    is_over.set()
    watcher.join()
    assert frozenset([cpu]) in seen
    assert os.sched_getaffinity(0) == set(allowed)  # the caller is as it was
    assert tessera.Model(data, affinity=allowed).num_threads == len(allowed)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"num_threads": 0}, "num_threads is a number from 1 on, not 0"),
        ({"num_threads": True}, "num_threads is a number from 1 on, not True"),
        ({"num_threads": 5000}, "from 1 to 1024, not 5000"),
        ({"affinity": [4095]}, "CPU 4095, which this process may not use; it may use"),
        ({"affinity": [0, 0]}, "names CPU 0 twice"),
    ],
)
def test_threads_that_cannot_be_are_told(graph, options, message):
    with pytest.raises(ValueError, match=message):
        tessera.Model(graph.to_bytes(), **options)


def test_threads_of_a_model_work_after_a_fork():
    model = tessera.compile(wide_model(), num_threads=2)
    x = np.full((256, 256), 1 / 256, "float32")
    expected = model.run(x)[0].numpy()
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(model.run(x)[0].numpy(), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0
