"""Models of PaddlePaddle against Paddle: `make test-frameworks FRAMEWORK=paddle`."""

import sys
from pathlib import Path

import numpy as np
import paddle
import pytest
from paddle import nn
from tessera import relay
from tessera.driver import tvmc

sys.path.insert(0, str(Path(__file__).parent))
from models import answers, expected, largest_difference, prepared

VISION = [
    "alexnet",
    "vgg11",
    "resnet18",
    "resnet50",
    "resnext50_32x4d",
    "mobilenet_v1",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "squeezenet1_1",
    "shufflenet_v2_x0_5",
    "densenet121",
    "googlenet",
    "inception_v3",
]


def image(*shape, seed=0):
    return np.random.RandomState(seed).rand(*shape).astype("float32")


def words(count, *shape):
    return np.random.RandomState(1).randint(0, count, shape).astype("int64")


def saved(layer, path, specs):
    """The layer as Paddle loads it again."""
    paddle.jit.save(layer, str(path), input_spec=specs)
    return paddle.jit.load(str(path))


@pytest.mark.parametrize("name", VISION)
def test_a_vision_model_agrees(name, tmp_path):
    size = 299 if name == "inception_v3" else 224
    x = image(1, 3, size, size)
    layer = prepared(getattr(paddle.vision.models, name)(pretrained=False), x)
    loaded = saved(layer, tmp_path / "net", [paddle.static.InputSpec([1, 3, size, size], "float32", "x")])
    mod, params = relay.frontend.from_paddle(loaded)
    assert largest_difference(answers(mod, params, x), expected(layer, x)) < 1e-4


class Words(nn.Layer):
    """Words, a layer over them, and scores."""

    def __init__(self, inner, size=16):
        super().__init__()
        self.words, self.inner, self.scores = nn.Embedding(50, 16), inner, nn.Linear(size, 50)

    def forward(self, x):
        y = self.inner(self.words(x))
        return self.scores(y[0] if isinstance(y, (list, tuple)) else y)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Words(nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, activation="gelu"), 2)),
        lambda: Words(nn.LSTM(16, 12, 2, direction="bidirect"), 24),
        lambda: Words(nn.GRU(16, 12, 2), 12),
        lambda: Words(nn.SimpleRNN(16, 12, activation="relu"), 12),
    ],
    ids=["transformer", "lstm", "gru", "rnn"],
)
def test_words_of_any_number_agree(make, tmp_path):
    layer = prepared(make(), words(50, 2, 9))
    loaded = saved(layer, tmp_path / "net", [paddle.static.InputSpec([None, None], "int64", "x")])
    mod, params = relay.frontend.from_paddle(loaded)
    for shape in ((2, 9), (1, 4)):
        x = words(50, *shape)
        assert largest_difference(answers(mod, params, x), expected(layer, x)) < 1e-4


class Decoder(nn.Layer):
    """A transformer that attends to what comes before, with positions counted from the input's shape."""

    def __init__(self):
        super().__init__()
        self.words, self.positions = nn.Embedding(50, 16), nn.Embedding(32, 16)
        self.layer, self.norm = nn.TransformerDecoderLayer(16, 4, 32), nn.LayerNorm(16)

    def forward(self, x):
        count = paddle.shape(x)[1]
        h = self.words(x) + self.positions(paddle.arange(count))
        mask = paddle.triu(paddle.full([9, 9], -1e9), 1)
        return self.norm(self.layer(h, h, tgt_mask=mask, memory_mask=mask))


def test_a_decoder_agrees(tmp_path):
    layer, x = Decoder(), words(50, 2, 9)
    prepared(layer, x)
    mod, params = relay.frontend.from_paddle(
        saved(layer, tmp_path / "net", [paddle.static.InputSpec([None, 9], "int64", "x")])
    )
    assert largest_difference(answers(mod, params, x), expected(layer, x)) < 1e-4


def test_a_plain_layer_is_exported(tmp_path):
    x = image(1, 1, 28, 28)
    layer = prepared(paddle.vision.models.LeNet(), x)
    layer.train()
    mod, params = relay.frontend.from_paddle(layer, {"inputs": [1, 1, 28, 28]})
    assert layer.training
    layer.eval()
    assert largest_difference(answers(mod, params, x), expected(layer, x)) < 1e-5
    with pytest.raises(ValueError, match="no inputs picture"):
        relay.frontend.from_paddle(layer, {"picture": [1, 1, 28, 28]})


def test_a_static_program_takes_its_parameters_from_a_scope(tmp_path):
    paddle.enable_static()
    try:
        program, start, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
        with paddle.static.program_guard(program, start):
            x = paddle.static.data("x", [2, 8])
            y = paddle.nn.functional.softmax(paddle.nn.Linear(8, 3)(x))
        executor, data = paddle.static.Executor(paddle.CPUPlace()), image(2, 8)
        with paddle.static.scope_guard(scope):
            executor.run(start)
            (want,) = executor.run(program, feed={"x": data}, fetch_list=[y])
            paddle.static.save_inference_model(str(tmp_path / "net"), [x], [y], executor, program=program)
        mod, params = relay.frontend.from_paddle(program, scope=scope)
        assert largest_difference(answers(mod, params, data), [want]) < 1e-5
        with pytest.raises(ValueError, match="the scope has no value of the parameter"):
            relay.frontend.from_paddle(program, scope=paddle.static.Scope())
        (path,) = [p for p in tmp_path.iterdir() if p.suffix in (".json", ".pdmodel")]
        model = tvmc.load(path)
        got = tvmc.run(tvmc.compile(model, target="llvm"), device="cpu", inputs={"x": data}).get_output("output_0")
        assert largest_difference([got.numpy() if hasattr(got, "numpy") else got], [want]) < 1e-5
    finally:
        paddle.disable_static()
