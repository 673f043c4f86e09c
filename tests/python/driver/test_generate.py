"""The command `tessera generate`, and `tessera.Generator`."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tessera

onnx = pytest.importorskip("onnx")
from decoders import Sizes, decoder, reference_ids, weights_of  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

PROGRAM = Path(tessera.__file__).parent / "bin" / "tessera"
SIZES = Sizes()
PROMPT = [3, 1, 4, 1, 5]


def run(*words):
    return subprocess.run([PROGRAM, "generate", *map(str, words)], capture_output=True, text=True, check=False)


def generate(model, *words, prompt=PROMPT, tokens=8):
    told = run(model, "--prompt-ids", ",".join(map(str, prompt)), "--tokens", tokens, "--json", *words)
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


def refused(*words):
    told = run(*words)
    assert told.returncode == 4 and told.stdout == ""
    return told.stderr


def save(path, *args, **options):
    onnx.save(decoder(*args, **options), path)
    return path


@pytest.fixture(scope="module")
def growing(tmp_path_factory):
    return save(tmp_path_factory.mktemp("growing") / "model.onnx")


@pytest.fixture(scope="module")
def wanted():
    return reference_ids(PROMPT, 8, SIZES, weights_of(SIZES))


def test_a_growing_cache(growing, wanted):
    told = generate(growing)
    assert told["ids"] == wanted and told["cache"] == "growing" and told["prompt_tokens"] == 5
    assert told["prefill_tokens_per_second"] > 0 and told["decode_tokens_per_second"] > 0


def test_no_cache(tmp_path, wanted):
    told = generate(save(tmp_path / "model.onnx", "none"))
    assert told["ids"] == wanted and told["cache"] == "none"


def test_one_token_a_run(tmp_path, wanted):
    assert generate(save(tmp_path / "model.onnx", step=1, batch=1))["ids"] == wanted


def test_text_for_people(growing):
    told = run(growing, "--prompt-ids", "3, 1", "--tokens", 3)
    lines = told.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["model", "ids", "prefill", "decode"]
    assert lines[2].startswith("prefill   2 tokens in ") and lines[2].endswith(" tokens/s")
    assert lines[3].startswith("decode    2 tokens in ")


def test_a_folder_says_what_ends_a_text(growing, wanted, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "decoder.onnx").write_bytes(growing.read_bytes())
    end = wanted[3]
    config = {"model": {"decoder": {"filename": "decoder.onnx"}, "eos_token_id": [end], "context_length": 64}}
    (folder / "genai_config.json").write_text(json.dumps(config))
    told = generate(folder)
    assert told["ended"] == 1 and told["ids"] == wanted[: wanted.index(end) + 1]
    (folder / "genai_config.json").unlink()
    (folder / "decoder.onnx").rename(folder / "model.onnx")
    (folder / "config.json").write_text(json.dumps({"eos_token_id": None, "max_position_embeddings": 7}))
    assert generate(folder, tokens=2)["ids"] == wanted[:2]
    assert "do not fit the model's context of 7" in refused(folder, "--prompt-ids", "1,2,3", "--tokens", 5)


def test_drawing_is_repeatable_and_follows_its_limits(growing, wanted):
    drawn = [generate(growing, "--temperature", 1.5, "--seed", seed)["ids"] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert generate(growing, "--temperature", 2, "--top-k", 1)["ids"] == wanted
    assert generate(growing, "--temperature", 2, "--top-p", 1e-6)["ids"] == wanted


def test_eos_of_the_command_line(growing, wanted):
    told = generate(growing, "--eos", wanted[2])
    assert told["ids"] == wanted[: wanted.index(wanted[2]) + 1] and told["ended"] == 1


@pytest.mark.parametrize(
    "words, message",
    [
        (("--prompt-ids", "1,40"), "the prompt's 40 is no token of the model, whose tokens are 0 to 39"),
        (("--prompt-ids", "-1"), "the prompt's -1 is no token of the model"),
        (("--prompt-ids", "1,x2"), '--prompt-ids takes ids of tokens, integers with commas between, not "x2"'),
        (("--prompt-ids", "99999999999999999999"), "--prompt-ids takes ids of tokens"),
        (("--prompt-ids", ","), "--prompt-ids names no token"),
        ((), "the prompt is given by --prompt-ids or by --prompt-file"),
        (("--prompt-ids", "1", "--eos", "77"), "the end-of-text token 77 is no token of the model"),
        (("--prompt-ids", "1", "--temperature", "-1"), "the temperature is a number from 0 on"),
        (("--prompt-ids", "1", "--temperature", "nan"), "the temperature is a number from 0 on"),
        (("--prompt-ids", "1", "--temperature", "1", "--top-p", "0"), "top-p is above 0 and at most 1"),
        (("--prompt-ids", "1", "--temperature", "1", "--greedy"), "give one of the two"),
    ],
)
def test_what_is_wrong_with_a_command_is_said(growing, words, message):
    assert message in refused(growing, *words)


def test_a_prompt_in_a_file(growing, wanted, tmp_path):
    (tmp_path / "prompt.txt").write_text("3 1\n4, 1 5\n")
    told = run(growing, "--prompt-file", tmp_path / "prompt.txt", "--tokens", 8, "--json")
    assert json.loads(told.stdout)["ids"] == wanted


def plain(path, inputs, outputs):
    """A model whose outputs are random numbers of some inputs."""
    values = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    nodes = [helper.make_node("Cast", [inputs[0][0]], ["x"], to=TensorProto.FLOAT)]
    nodes += [helper.make_node("Identity", ["x"], [name]) for name in outputs]
    graph = helper.make_graph(nodes, "plain", values, results)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.parametrize(
    "inputs, message",
    [
        ([("x", TensorProto.FLOAT, [1, 4])], "what the input x holds is not known"),
        ([("input_ids", TensorProto.FLOAT, [1, 4])], "the ids of tokens are integers"),
        ([("input_ids", TensorProto.INT64, [2, "n"])], "with a batch of 1 or a dynamic one"),
        ([("input_ids", TensorProto.INT64, [1, 4])], "a run takes exactly 4 tokens"),
        ([("input_ids", TensorProto.INT64, [1, 1])], "a run takes one token, and no input holds those before it"),
        (
            [("input_ids", TensorProto.INT64, [1, "n"]), ("past.0.key", TensorProto.FLOAT, [1, 2, "p", 4])],
            "no single output continues the input past.0.key",
        ),
    ],
)
def test_models_that_are_no_decoders(tmp_path, inputs, message):
    told = refused(plain(tmp_path / "model.onnx", inputs, ["logits"]), "--prompt-ids", "1")
    assert "this model cannot generate tokens: " in told and message in told and "its inputs are" in told


def test_a_cache_of_a_fixed_length_that_grows_is_rejected(tmp_path):
    inputs = [("input_ids", TensorProto.INT64, [1, 1]), ("past.0.key", TensorProto.FLOAT, [1, 2, 8, 4])]
    values = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("logits", "present.0.key")]
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["logits"], to=TensorProto.FLOAT),
        helper.make_node("Concat", ["past.0.key", "past.0.key"], ["present.0.key"], axis=2),
    ]
    graph = helper.make_graph(nodes, "plain", values, results)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "model.onnx"
    )
    assert "export it with a dynamic length of the cache" in refused(tmp_path / "model.onnx", "--prompt-ids", "1")


@pytest.mark.parametrize(
    "name, text, message",
    [
        (
            "genai_config.json",
            '{"model": {"decoder": {"filename": "../model.onnx"}}}',
            "is no name of a file in this folder",
        ),
        ("genai_config.json", "[1]", "is no object"),
        ("genai_config.json", '{"model": 3}', '"model" is no object'),
        ("config.json", '{"eos_token_id": "two"}', '"eos_token_id" is no number from 0 on'),
        ("config.json", '{"vocab_size": -4}', '"vocab_size" is no number from 0 on'),
        ("config.json", '{"vocab_size": ', "cannot read"),
        ("readme.txt", "", "has no model.onnx"),
    ],
)
def test_configurations_are_checked(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    assert message in refused(tmp_path, "--prompt-ids", "1")


def test_a_package_generates_too(growing, wanted, tmp_path):
    package = tmp_path / "model.tar"
    subprocess.run([PROGRAM, "compile", growing, "--target", "llvm", "-o", package], check=True, capture_output=True)
    assert generate(package)["ids"] == wanted


def test_in_python(growing, wanted):
    generator = tessera.Generator(growing.parent)
    heard = []
    made = generator.generate(PROMPT, 8, on_token=heard.append)
    assert made.ids == heard == wanted and not made.is_ended and made.decode_seconds > 0
    assert generator.generate(PROMPT, 8, eos=wanted[1]).ids == wanted[: wanted.index(wanted[1]) + 1]
    assert generator.generate(PROMPT, 8, on_token=lambda id: False).ids == wanted[:1]
    assert tessera.Generator(tessera.compile(growing)).generate(np.array(PROMPT), 8).ids == wanted
    with pytest.raises(ValueError, match="the prompt has no tokens"):
        generator.generate([])
    with pytest.raises(ValueError, match="40 is no token of the model"):
        generator.generate([40])


def test_scores_that_are_no_numbers(tmp_path):
    values = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "n"])]
    results = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, "n", 4])]
    zeros = helper.make_tensor("zeros", TensorProto.FLOAT, [4], [0.0] * 4)
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["x"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["x", "axes"], ["u"]),
        helper.make_node("Mul", ["u", "zeros"], ["m"]),
        helper.make_node("Div", ["m", "zeros"], ["logits"]),
    ]
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [2])
    graph = helper.make_graph(nodes, "nan", values, results, [zeros, axes])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "model.onnx"
    )
    assert "the model gives token 0 the score NaN" in refused(tmp_path / "model.onnx", "--prompt-ids", "1")
