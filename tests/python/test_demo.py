"""The digit reader of `make demo`: its file, its answers, its pictures and its report."""

import importlib
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tessera

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "digits"
sys.path.insert(0, str(FOLDER))
pictures, report = (importlib.import_module(name) for name in ("pictures", "report"))


@pytest.fixture(scope="module")
def digits():
    with np.load(FOLDER / "held_back.npz") as data:
        return (data["images"].astype("float32") / 16)[:, None], data["labels"]


def test_the_model_is_small():
    assert (FOLDER / "digits.onnx").stat().st_size < 200_000


def test_digits_that_were_held_back_are_read(digits):
    images, labels = digits
    model = tessera.compile(FOLDER / "digits.onnx", shapes={"image": images.shape})
    answers = model.run(images)[0].numpy().argmax(axis=1)
    assert len(labels) > 300 and (answers == labels).mean() >= 0.98


def test_the_answers_are_those_of_onnx(digits):
    reference = pytest.importorskip("onnx.reference").ReferenceEvaluator(str(FOLDER / "digits.onnx"))
    model = tessera.compile(FOLDER / "digits.onnx")
    for image in digits[0][::90]:
        (expected,) = reference.run(None, {"image": image[None]})
        np.testing.assert_allclose(model.run(image[None])[0].numpy(), expected, rtol=1e-4, atol=1e-6)


def test_the_demo_shows_digits_and_writes_a_report(tmp_path):
    path = tmp_path / "new" / "report.html"
    command = [sys.executable, FOLDER / "demo.py", "--report", path, "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "held-back digits read right" in done.stdout and "%@" in done.stdout and str(path) in done.stdout
    page = path.read_text(encoding="utf-8")
    assert page.count("<svg") == 15 and "nn.conv2d" in page and "<script" not in page
    assert path.with_name("digits.tar").stat().st_size > 10_000


def test_pictures_are_drawn_with_what_the_terminal_has():
    levels = np.zeros((8, 8))
    levels[0, 0], levels[7, 7] = 1, 0.5
    blocks, letters, colour = (
        pictures.picture(levels, s) for s in (pictures.BLOCKS, pictures.LETTERS, pictures.COLOUR)
    )
    assert blocks[0] == "██" + 14 * " " and blocks[7] == 14 * " " + "▒▒" and len(blocks) == 8
    assert letters[0].startswith("@@ ") and "".join(letters).isascii()
    assert len(colour) == 8 and all(line.count("▀") == 16 for line in colour) and colour[0].startswith("\x1b[38;5;255")
    text = pictures.side_by_side([blocks] * 6, [str(i) for i in range(6)], per_row=5)
    assert len(text.splitlines()) == 2 * 10 - 1 and text.splitlines()[8].split() == ["0", "1", "2", "3", "4"]


def test_the_style_follows_the_stream(tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for encoding, expected in (("utf-8", pictures.BLOCKS), ("ascii", pictures.LETTERS), ("latin-1", pictures.LETTERS)):
        with open(tmp_path / "out", "w", encoding=encoding) as stream:
            assert pictures.style_of(stream) == expected


def test_text_of_the_report_is_escaped():
    page = report.page("a < b", [report.table([("x & y", "<b>")]), report.preformatted("<&>")])
    assert "a &lt; b" in page and "x &amp; y" in page and "<b>" not in page and "&lt;&amp;&gt;" in page


@pytest.mark.slow
def test_training_lowers_the_loss(digits):
    train = pytest.importorskip("train")
    images, labels = digits
    builder, model = train.loss_with_gradients()
    values = list(builder.initial.values())
    optimiser, losses = train.Adam(values, decay=0.0), []
    label = np.eye(10, dtype="float32")[labels[: train.BATCH]]
    for _ in range(15):
        loss, *gradients = model.run(images[: train.BATCH], label, *values)
        optimiser.step(values, [g.numpy() for g in gradients[2:]], 3e-3)
        losses.append(float(loss.numpy()))
    assert losses[-1] < 0.5 * losses[0]
