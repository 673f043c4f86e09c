"""Small files of PaddlePaddle (tests/frameworks/paddle/export_tiny.py) answer as they did there, without it; damaged ones are
rejected."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from tessera import relay
from tessera.driver import tvmc
from tessera.error import TVMError

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
from framework_cases._wire import message

FOLDER = Path(__file__).resolve().parents[2] / "frameworks" / "tiny_paddle"
MODELS = sorted(path for path in FOLDER.iterdir() if path.suffix in (".json", ".pdmodel"))


def copied(path, folder, name="model"):
    """The two files of a model under another name."""
    program, params = folder / (name + path.suffix), folder / f"{name}.pdiparams"
    program.write_bytes(path.read_bytes())
    params.write_bytes(path.with_suffix(".pdiparams").read_bytes())
    return program, params


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
def test_a_small_file_answers_as_in_paddle(path):
    data = np.load(path.with_suffix(".npz"))
    inputs = {name[3:]: data[name] for name in data if name.startswith("in.")}
    mod, params = relay.frontend.from_paddle(path)
    got = relay.create_executor("vm", mod).evaluate()(**inputs, **params).numpy()
    want = data["out.0"]
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


def test_there_are_small_files_of_each_kind():
    assert {path.stem for path in MODELS} == {
        f"{name}{end}" for name in ("network", "encoder", "control") for end in ("", "_2")
    }


def test_both_forms_of_a_program_are_known_by_content(tmp_path):
    for name in ("network.json", "network_2.pdmodel"):
        program, _ = copied(FOLDER / name, tmp_path)
        model = tvmc.load(program)
        assert [str(p.name_hint) for p in model.mod["main"].params] == ["image"] and not model.params
    assert tvmc.frontends.guess_frontend(tmp_path / "model.json").name() == "paddle"


def test_shapes_are_the_callers_where_they_are_given():
    path = FOLDER / "network_2.pdmodel"
    mod, _ = relay.frontend.from_paddle(path, {"image": [1, 3, 16, 16]})
    assert "Tensor[(1, 3, 16, 16), float32]" in str(mod["main"].params[0].type_annotation)
    assert "?" in str(relay.frontend.from_paddle(path)[0]["main"].params[0].type_annotation)
    with pytest.raises(TVMError, match=r'no input "picture" to give a shape; its inputs are image'):
        relay.frontend.from_paddle(path, {"picture": [1, 3, 8, 8]})
    with pytest.raises(ValueError, match="a Program, a layer or the path"):
        relay.frontend.from_paddle(3)


@pytest.mark.parametrize("name", ["network.json", "network_2.pdmodel"])
def test_parameters_must_be_those_of_the_program(tmp_path, name):
    program, params = copied(FOLDER / name, tmp_path)
    whole = params.read_bytes()
    for damaged, why in (
        (whole[:-1], "a tensor is larger than the file"),
        (whole[:7], "ends too early"),
        (whole + b"0", "1 bytes follow the last parameter"),
        (b"\x01" + whole[1:], "unknown version"),
        (whole[:4] + b"\xff" * 8 + whole[12:], "too many levels"),
        ((FOLDER / "encoder.pdiparams").read_bytes(), r"parameter batch_norm2d_0.* is float32\[8\], and the file has"),
    ):
        params.write_bytes(damaged)
        with pytest.raises(TVMError, match=why):
            relay.frontend.from_paddle(program)
    params.unlink()
    with pytest.raises(FileNotFoundError, match="pdiparams"):
        relay.frontend.from_paddle(program)


@pytest.mark.parametrize("name", ["control.json", "control_2.pdmodel"])
def test_damaged_programs_are_rejected(tmp_path, name):
    program, _ = copied(FOLDER / name, tmp_path)
    whole = program.read_bytes()
    for end in range(0, len(whole) - 1, len(whole) // 23):
        program.write_bytes(whole[:end])
        with pytest.raises(TVMError):
            relay.frontend.from_paddle(program)


def attribute(name, kind, field, value):
    """An attribute of an operator."""
    return (4, message((1, name), (2, kind), (field, value)))


def arguments(number, slot, *names):
    return (number, message((1, slot), *[(2, name) for name in names]))


def variable(name, *shape):
    tensor = message((1, 5), *[(2, extent) for extent in shape])
    kind = message((1, 7), (3, message((1, tensor))))
    return (3, message((1, name), (2, kind), (4, 1)))


def program_of(path, *ops, inner=()):
    """A program with the input x and a block inside it."""
    blocks = [message((1, 0), (2, (1 << 64) - 1), variable("x", 2, 3), *[(4, message(*op)) for op in ops])]
    blocks.append(message((1, 1), (2, 0), *[(4, message(*op)) for op in inner]))
    path.write_bytes(message(*[(1, block) for block in blocks]))
    return path


def relu(source, target):
    return [arguments(1, "X", source), arguments(2, "Out", target), (3, "relu")]


def test_a_program_of_a_few_operators(tmp_path):
    path = program_of(tmp_path / "a.pdmodel", relu("x", "y"))
    mod, params = relay.frontend.from_paddle(path)
    assert [str(name) for name in mod["main"].attrs["output_tensor_names"]] == ["y"] and not params
    x = np.float32([[-1, 2, -3], [4, -5, 6]])
    np.testing.assert_array_equal(relay.create_executor("graph", mod).evaluate()(x).numpy(), np.maximum(x, 0))


def test_all_operators_that_are_not_supported_are_listed_at_once(tmp_path):
    odd = [arguments(1, "X", "y"), arguments(2, "Out", "z"), (3, "odd_one")]
    strange = [arguments(1, "X", "z"), arguments(2, "Out", "w"), (3, "strange")]
    path = program_of(tmp_path / "a.pdmodel", relu("x", "y"), odd, strange)
    with pytest.raises(
        TVMError, match=r"not supported for frontend PaddlePaddle: odd_one, strange\n.*in node odd_one z"
    ):
        relay.frontend.from_paddle(path)


def test_programs_that_make_no_sense_are_rejected(tmp_path):
    path = tmp_path / "a.pdmodel"
    condition = arguments(1, "Cond", "x")
    block = [condition, arguments(2, "Out", "y"), (3, "conditional_block"), attribute("sub_block", 8, 12, 1)]
    for ops, inner, why in (
        ([relu("nothing", "y")], [], '"nothing" before anything makes it'),
        ([block], [block], "deeper than 50 levels"),
        ([[*block[:3], attribute("sub_block", 8, 12, 7)]], [], "block 7, which the program has not"),
        (
            [[arguments(2, "Out", "y"), (3, "fill_constant"), attribute("shape", 11, 15, 1 << 62)]],
            [],
            "(?i)shape|extent|large",
        ),
        (
            [[arguments(1, "X", "x"), arguments(2, "Out", "y"), (3, "cast"), attribute("out_dtype", 0, 3, 99)]],
            [],
            "type 99",
        ),
    ):
        with pytest.raises((TVMError, OverflowError), match=why):
            relay.frontend.from_paddle(program_of(path, *ops, inner=inner))


def test_pir_that_makes_no_sense_is_rejected(tmp_path):
    path = tmp_path / "a.json"
    whole = json.loads((FOLDER / "network.json").read_text())
    ops = whole["program"]["regions"][0]["blocks"][0]["ops"]

    def rejected(why):
        path.write_text(json.dumps(whole))
        with pytest.raises(TVMError, match=why):
            relay.frontend.from_paddle(path)

    relu_op = next(op for op in ops if op["#"] == "1.relu")
    relu_op["I"][0]["%"], kept = 999, relu_op["I"][0]["%"]
    rejected("uses the value %999 before anything makes it")
    relu_op["I"][0]["%"], relu_op["#"] = kept, "7.relu"
    rejected("dialect")
    relu_op["#"] = "1.relu"
    ops[0]["O"]["TT"]["D"][0]["#"] = "0.t_f3"
    rejected("element type 0.t_f3")
