"""Named dimensions of inputs: equal names are equal extents, compared once before anything runs."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.runtime.vm import VirtualMachine

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402


def masked():
    """y = x + mask, both (batch, seq), and a bias of any length."""
    types = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "seq"]),
        helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["batch", "seq"]),
        helper.make_tensor_value_info("bias", TensorProto.FLOAT, ["n"]),
    ]
    nodes = [
        helper.make_node("Add", ["x", "mask"], ["sum"]),
        helper.make_node("ReduceSum", ["bias"], ["total"], keepdims=0),
        helper.make_node("Add", ["sum", "total"], ["y"]),
    ]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", "seq"])
    return helper.make_model(helper.make_graph(nodes, "graph", types, [result]), ir_version=9)


def inputs(x, mask, bias=(3,)):
    return {"x": np.ones(x, "float32"), "mask": np.ones(mask, "float32"), "bias": np.ones(bias, "float32")}


WRONG = (
    r'the dimension "seq" is 8 in the input "x", but 6 in the input "mask": they are \(batch, seq\) float32 and '
    r"\(batch, seq\) float32, and the tensors given are \(2, 8\) float32 and \(2, 6\) float32"
)


@pytest.fixture(scope="module")
def model():
    return tessera.compile(masked())


def test_equal_dimensions_run(model):
    for batch, seq in ((2, 8), (1, 1), (3, 0)):
        (y,) = model.run(inputs((batch, seq), (batch, seq)))
        np.testing.assert_array_equal(y.numpy(), np.full((batch, seq), 5, "float32"))


def test_a_model_rejects_dimensions_of_one_name_that_differ(model):
    with pytest.raises(ValueError, match=WRONG):
        model.run(inputs((2, 8), (2, 6)))
    with pytest.raises(ValueError, match='the dimension "batch" is 2 in the input "x", but 1 in the input "mask"'):
        model.run(inputs((2, 8), (1, 8)))  # not even where it could be broadcast


def test_a_model_stays_usable_after_it_rejected(model):
    with pytest.raises(ValueError, match="seq"):
        model.run(inputs((2, 8), (2, 6)))
    assert model.run(inputs((2, 4), (2, 4)))[0].shape == (2, 4)


def test_a_saved_model_knows_its_dimensions(model, tmp_path):
    model.save(tmp_path / "model.tar")
    with pytest.raises(ValueError, match=WRONG):
        tessera.Model(tmp_path / "model.tar").run(inputs((2, 8), (2, 6)))


def test_the_virtual_machine_rejects_dimensions_of_one_name_that_differ():
    mod, params = relay.frontend.from_onnx(masked())
    machine = VirtualMachine(relay.vm.compile(mod, "llvm", params=params), tessera.cpu())
    with pytest.raises(ValueError, match=WRONG):
        machine.run(**inputs((2, 8), (2, 6)))


def test_a_shape_variable_of_relay_is_one_number():
    n = tessera.tir.SizeVar("n", "int32")
    x, y = (relay.var(name, shape=(n, 4)) for name in "xy")
    mod = tessera.IRModule.from_expr(relay.Function([x, y], x + y))
    machine = VirtualMachine(relay.vm.compile(mod, "llvm"), tessera.cpu())
    ones = lambda rows: np.ones((rows, 4), "float32")
    assert machine.run(ones(3), ones(3)).shape == (3, 4)
    with pytest.raises(ValueError, match='the dimension "n" is 3 in the input "x", but 1 in the input "y"'):
        machine.run(ones(3), ones(1))


def test_a_fixed_dimension_is_compared_with_the_one_given(model):
    fixed = tessera.compile(masked(), shapes={"x": (2, -1)})
    with pytest.raises(ValueError, match=r'input "mask" is \(2, seq\) float32, but the tensor given is \(3, 8\)'):
        fixed.run(inputs((2, 8), (3, 8)))
    with pytest.raises(ValueError, match=r'input "x" is \(batch, seq\) float32, but the tensor given is \(2,\)'):
        model.run(inputs((2,), (2, 8)))


def test_a_number_for_one_dimension_of_a_name_is_one_for_all():
    mod, _ = relay.frontend.from_onnx(masked(), shape={"x": (2, 8)})
    assert [tuple(int(e) for e in param.checked_type.shape) for param in mod["main"].params[:2]] == [(2, 8), (2, 8)]


def test_two_numbers_for_one_name_are_an_error():
    with pytest.raises(
        ValueError, match='the dimension "seq" is given as 8 for the input "x" and as 6 for the input "mask"'
    ):
        relay.frontend.from_onnx(masked(), shape={"x": (2, 8), "mask": (2, 6)})


def test_the_command_line_compares_and_fills_named_dimensions(tmp_path):
    program = Path(tessera.__file__).parent / "bin" / "tessera"
    onnx.save(masked(), tmp_path / "model.onnx")

    def run(*words):
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    assert run("compile", tmp_path / "model.onnx", "-o", tmp_path / "model.tar", "--target", "llvm")[0] == 0
    np.savez(tmp_path / "wrong.npz", **inputs((2, 8), (2, 6)))
    code, text = run("run", tmp_path / "model.tar", "--inputs", tmp_path / "wrong.npz")
    assert code != 0 and 'the dimension "seq" is 8 in the input "x", but 6 in the input "mask"' in text
    # One input says what the others are filled to.
    code, text = run("run", tmp_path / "model.tar", "--input-shapes", "x:[2,8]", "-o", tmp_path / "out.npz")
    assert code == 0, text
    (y,) = np.load(tmp_path / "out.npz").values()
    assert y.shape == (2, 8)
