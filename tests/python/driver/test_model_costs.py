"""What compiling a model of real size costs: time and memory, from the file to the first answer."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tessera

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

pytestmark = pytest.mark.slow
PROGRAM = Path(tessera.__file__).parent / "bin" / "tessera"


class Network:
    """An ONNX graph that grows; weights are random, of a size that keeps values in range."""

    def __init__(self):
        self.nodes, self.weights, self.rng = [], [], np.random.default_rng(0)

    def add(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def tensor(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array.astype("float32"), name))
        return name

    def random(self, *shape):
        return self.tensor(self.rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:])))

    def conv(self, x, features, channels, kernel, stride, relu=True):
        pad = [kernel // 2] * 4
        x = self.add("Conv", x, self.random(channels, features, kernel, kernel), strides=[stride] * 2, pads=pad)
        one, zero = np.ones(channels), np.zeros(channels)
        x = self.add("BatchNormalization", x, *map(self.tensor, (one, zero, zero, one)))
        return self.add("Relu", x) if relu else x

    def save(self, path, outputs):
        graph = helper.make_graph(
            self.nodes,
            "network",
            [helper.make_tensor_value_info("data", TensorProto.FLOAT, [1, 3, 224, 224])],
            [helper.make_tensor_value_info(outputs, TensorProto.FLOAT, [1, 1000])],
            self.weights,
        )
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(path))


@pytest.fixture(scope="module")
def resnet50(tmp_path_factory):
    net, path, features = Network(), tmp_path_factory.mktemp("resnet") / "resnet50.onnx", 64
    x = net.conv("data", 3, 64, 7, 2)
    x = net.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        inner = 64 << stage
        for block in range(blocks):
            stride = 2 if block == 0 and stage > 0 else 1
            y = net.conv(net.conv(x, features, inner, 1, 1), inner, inner, 3, stride)
            y = net.conv(y, inner, 4 * inner, 1, 1, relu=False)
            if block == 0:
                x = net.conv(x, features, 4 * inner, 1, stride, relu=False)
            features = 4 * inner
            x = net.add("Relu", net.add("Add", x, y))
    x = net.add("Flatten", net.add("GlobalAveragePool", x))
    net.save(path, net.add("Gemm", x, net.random(1000, features), net.tensor(np.zeros(1000)), transB=1))
    return path


#: A process starts with the peak of what started it: a small one in between.
LAUNCHER = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(child.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


def cost(*words, **env):
    """Seconds of all CPUs and peak bytes of a run of the program."""
    words = [sys.executable, "-c", LAUNCHER, PROGRAM, *map(str, words)]
    out = subprocess.run(words, stdout=subprocess.PIPE, env={**os.environ, **env}, check=True).stdout.decode()
    said, _, last = out.rstrip().rpartition("\n")
    code, seconds, peak = map(float, last.split())
    assert code == 0
    return said, seconds, peak * 1024


def test_resnet50_from_file_to_answer(resnet50, tmp_path):
    most = 4 * resnet50.stat().st_size + (500 << 20)
    cache = {"TESSERA_CACHE_DIR": str(tmp_path / "cache")}
    said, seconds, peak = cost("run", resnet50, **cache)
    assert "(1, 1000)" in said
    assert seconds < 10 and peak < most, f"uncached: {seconds} s, {peak / 2**20} MiB"
    said, seconds, peak = cost("run", resnet50, **cache)
    assert seconds < 2 and peak < most, f"from the cache: {seconds} s, {peak / 2**20} MiB"
    for executor in ("graph", "vm"):
        _, _, peak = cost("compile", resnet50, "--executor", executor, "-o", tmp_path / "m.tar", **cache)
        assert peak < most, f"compile for the {executor}: {peak / 2**20} MiB"


@pytest.mark.parametrize("executor", ["graph", "vm"])
def test_weights_are_in_memory_twice_at_most(tmp_path, executor):
    """As the file has them and as kernels read them; the package is written from those."""
    layers, width, path = 12, 2048, tmp_path / "layers.onnx"
    net = Network()
    x = "data"
    for _ in range(layers):
        x = net.add("Relu", net.add("MatMul", x, net.tensor(np.full((width, width), 1 / width))))
    graph = helper.make_graph(
        net.nodes,
        "layers",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, [16, width])],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, [16, width])],
        net.weights,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(path))
    most = 2 * path.stat().st_size + (300 << 20)
    words = ["compile", path, "-o", tmp_path / "m.tar", "--executor", executor]
    _, _, peak = cost(*words, TESSERA_CACHE_DIR=str(tmp_path / "cache"))
    assert peak < most, f"{peak / 2**20} MiB"
    np.savez(tmp_path / "in.npz", data=np.ones((16, width), "float32"))
    said, _, _ = cost("run", tmp_path / "m.tar", "-i", tmp_path / "in.npz")
    assert f"(16, {width})" in said
