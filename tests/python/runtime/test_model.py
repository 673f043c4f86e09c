"""tessera.Model: one compiled model, many threads."""

import threading

import numpy as np
import pytest
import tessera
from tessera import relay

RNG = np.random.default_rng(7)


@pytest.fixture(scope="module")
def built():
    """scores(x, bias) = softmax(x w + bias), and x twice over."""
    x = relay.var("x", shape=(4, 16), dtype="float32")
    bias = relay.var("bias", shape=(8,), dtype="float32")
    w = relay.var("w", shape=(8, 16), dtype="float32")
    scores = relay.nn.softmax(relay.nn.bias_add(relay.nn.dense(x, w), bias))
    mod = tessera.IRModule.from_expr(relay.Function([x, bias, w], relay.Tuple([scores, relay.add(x, x)])))
    return relay.build(mod, target="llvm", params={"w": WEIGHT}, mod_name="scorer")


WEIGHT = RNG.normal(size=(8, 16)).astype("float32")


def reference(x, bias):
    logits = x @ WEIGHT.T + bias
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True), x * 2


@pytest.fixture
def data():
    return RNG.normal(size=(4, 16)).astype("float32"), RNG.normal(size=8).astype("float32")


def agree(results, x, bias):
    for result, wanted in zip(results, reference(x, bias)):
        np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_inputs_and_outputs_are_described(built):
    model = tessera.Model(built)
    assert model.inputs == [("x", (4, 16), "float32"), ("bias", (8,), "float32")]
    assert [tuple(out)[1:] for out in model.outputs] == [((4, 8), "float32"), ((4, 16), "float32")]
    assert [out.name for out in model.outputs] == ["output_0", "output_1"]
    assert str(model) == (
        "Model(x: float32[4, 16], bias: float32[8]) -> (output_0: float32[4, 8], output_1: float32[4, 16]) on cpu(0)"
    )


def test_inputs_are_given_in_order_by_keyword_or_by_name(built, data):
    model = tessera.Model(built, tessera.cpu())
    x, bias = data
    for results in (model.run(x, bias), model.run(x, bias=bias), model.run({"bias": bias, "x": tessera.nd.array(x)})):
        assert isinstance(results, list) and len(results) == 2
        agree(results, x, bias)
    agree(model.run(x, [0.5] * 8), x, np.full(8, 0.5, "float32"))


def test_results_stay_what_they_are(built, data):
    model = tessera.Model(built)
    x, bias = data
    first = model.run(x, bias)
    model.run(x * 2, bias)
    agree(first, x, bias)


def test_a_model_is_loaded_from_a_file(built, data, tmp_path):
    path = tmp_path / "scorer.so"
    built.export_library(str(path))
    agree(tessera.Model(path).run(*data), *data)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"x": np.zeros((4, 16), "float32")}, r'input "bias" is missing; it is \(8,\) float32'),
        (
            {"x": np.zeros((4, 15), "float32"), "bias": np.zeros(8, "float32")},
            r'input "x" is \(4, 16\) float32, but the',
        ),
        ({"x": np.zeros((4, 16), "float64"), "bias": np.zeros(8, "float32")}, r'input "x" is .* \(4, 16\) float64'),
        ({"y": np.zeros(1)}, 'no input "y"; its inputs are x, bias'),
        ({"x": None}, 'input "x" is None'),
        ({"p0": WEIGHT}, 'no input "p0"'),
    ],
)
def test_wrong_inputs_are_named(built, given, problem):
    with pytest.raises(ValueError, match=problem):
        tessera.Model(built).run(given)


def test_inputs_given_twice_or_too_many_are_rejected(built, data):
    model = tessera.Model(built)
    with pytest.raises(ValueError, match='"x" is given twice'):
        model.run(data[0], x=data[0], bias=data[1])
    with pytest.raises(ValueError, match='"x" is given twice'):
        model.run({"x": data[0], "bias": data[1]}, x=data[0])
    with pytest.raises(ValueError, match="takes 2 inputs, got 3"):
        model.run(*data, data[0])
    with pytest.raises(TypeError, match="not int"):
        tessera.Model(3)


def in_threads(count, work):
    """Runs work(i) on `count` threads that begin together; what one raises is raised here."""
    barrier, problems = threading.Barrier(count), []

    def body(i):
        try:
            barrier.wait()
            work(i)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


def test_many_threads_run_one_model(built):
    model = tessera.Model(built)
    cases = [(RNG.normal(size=(4, 16)).astype("float32"), RNG.normal(size=8).astype("float32")) for _ in range(16)]

    def work(i):
        rng = np.random.default_rng(i)
        for _ in range(50):
            x, bias = cases[rng.integers(len(cases))]
            agree(model.run(x=x, bias=bias), x, bias)

    in_threads(8, work)
    assert 1 <= model.module["executors"]() <= 8


def test_threads_make_models_of_one_library(built, data):
    in_threads(6, lambda i: agree(tessera.Model(built).run(*data), *data))


def test_a_program_of_the_virtual_machine_is_a_model_too(data):
    x = relay.var("x", shape=(4, 16), dtype="float32")
    flag = relay.var("flag", shape=(), dtype="bool")
    body = relay.Tuple([relay.If(flag, relay.add(x, x), relay.nn.relu(x)), x, relay.const(np.ones(3, "float32"))])
    model = tessera.Model(relay.vm.compile(tessera.IRModule.from_expr(relay.Function([x, flag], body)), target="llvm"))
    assert [info.name for info in model.inputs] == ["x", "flag"]
    given = tessera.nd.array(data[0])

    def work(i):
        for turn in range(20):
            yes = (i + turn) % 2 == 0
            chosen, same, ones = model.run(given, np.array(yes))
            np.testing.assert_array_equal(chosen.numpy(), data[0] * 2 if yes else np.maximum(data[0], 0))
            np.testing.assert_array_equal(ones.numpy(), np.ones(3))
            ones[:] = np.zeros(3, "float32")  # a result belongs to its caller
            same[:] = np.zeros((4, 16), "float32")

    in_threads(4, work)
    np.testing.assert_array_equal(given.numpy(), data[0])


def test_a_model_of_dynamic_extents_runs_and_says_what_fits(tmp_path):
    x = relay.var("x", shape=(relay.Any(), 3), dtype="float32")
    lib = relay.build(tessera.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))), target="llvm")
    lib.export_library(str(tmp_path / "open.so"))
    for model in (tessera.Model(lib), tessera.Model(tmp_path / "open.so")):
        assert model.inputs == [("x", (-1, 3), "float32")] and model.outputs == [("output_0", (-1, 3), "float32")]

        def work(i, model=model):
            for rows in range(1, 20):
                given = np.linspace(-1, 1, (rows + i) * 3, dtype="float32").reshape(rows + i, 3)
                np.testing.assert_array_equal(model.run(given)[0].numpy(), np.maximum(given, 0))

        in_threads(4, work)
        with pytest.raises(
            ValueError, match=r'input "x" is \(\?, 3\) float32, but the tensor given is \(2, 4\) float32'
        ):
            model.run(np.zeros((2, 4), "float32"))


# ---- tessera.compile -------------------------------------------------------------------------------------------------


def scorer():
    x, w = relay.var("x", shape=(4, 16)), relay.var("w", shape=(8, 16))
    return tessera.IRModule.from_expr(relay.Function([x, w], relay.nn.softmax(relay.nn.dense(x, w))))


def doubler(extents=("n", 3)):
    onnx = pytest.importorskip("onnx")
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, extents) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "x"], ["y"])], "g", ends[:1], ends[1:])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)


def test_a_module_is_compiled_in_one_call(data):
    x, _ = data
    for target in ("llvm", tessera.target.Target("llvm")):
        model = tessera.compile(scorer(), target, params={"w": WEIGHT})
        np.testing.assert_allclose(model.run(x)[0].numpy(), reference(x, 0)[0], rtol=1e-5, atol=1e-6)


def test_a_file_is_compiled_in_one_call(tmp_path):
    path = tmp_path / "double.onnx"
    path.write_bytes(doubler().SerializeToString())
    x = np.arange(6, dtype="float32").reshape(2, 3)
    for model in (tessera.compile(path), tessera.compile(str(path), shapes={"x": (2, 3)}), tessera.compile(doubler())):
        np.testing.assert_array_equal(model.run(x)[0].numpy(), x * 2)
    assert tessera.compile(path).inputs[0].shape == (-1, 3)
    assert tessera.compile(doubler(), shapes={"x": (5, 3)}).inputs[0].shape == (5, 3)


def test_a_compiled_model_is_saved_as_library_or_package(tmp_path, data):
    x, _ = data
    model = tessera.compile(scorer(), params={"w": WEIGHT})
    expected = model.run(x)[0].numpy()
    for name in ("m.so", "m.tar"):
        model.save(tmp_path / name)
        np.testing.assert_array_equal(tessera.Model(tmp_path / name).run(x)[0].numpy(), expected)
    program = tessera.compile(doubler())
    for name in ("p.so", "p.tar"):
        program.save(tmp_path / name)
        np.testing.assert_array_equal(tessera.Model(tmp_path / name).run(x[:, :3])[0].numpy(), x[:, :3] * 2)


def test_models_of_libraries_are_saved_as_libraries(built, tmp_path, data):
    x, bias = data
    model = tessera.Model(built)
    model.save(tmp_path / "m.so")
    agree(tessera.Model(tmp_path / "m.so").run(x, bias), x, bias)
    with pytest.raises(ValueError, match=r"write this model as a library \(\.so\)"):
        model.save(tmp_path / "m.tar")
    with pytest.raises(ValueError, match=r"a library \(\.so\) or a package \(\.tar\), not as .*m\.zip"):
        model.save(tmp_path / "m.zip")


def test_an_archive_of_objects_is_a_model(built, tmp_path, data):
    built.export_library(str(tmp_path / "m.tar"))
    agree(tessera.Model(tmp_path / "m.tar").run(*data), *data)


@pytest.mark.parametrize(
    "model, options, kind, message",
    [
        (3, {}, TypeError, "compile takes the path of a model, a module or an ONNX model, not int"),
        ("no-such-file.onnx", {}, FileNotFoundError, "no-such-file.onnx"),
        (scorer(), {"shapes": {"x": (1, 16)}}, ValueError, "the inputs of a module have theirs"),
        (scorer(), {"target": "no-such-target"}, ValueError, "no-such-target"),
    ],
)
def test_what_cannot_be_compiled_is_told(model, options, kind, message):
    with pytest.raises(kind, match=message):
        tessera.compile(model, **options)
