#!/usr/bin/env python
"""What relay.quantize loses and gains: signal to noise of the logits, and the time beside float32.

    python bench/quantize.py                       # mobilenet_v2, resnet18 and vit on one thread
    python bench/quantize.py --only mobilenet_v2 --set min_snr=None --set skip_dense_layer=True

Weights are random with a seed; batch normalisation has the statistics of one forward pass. Four images calibrate, three others are
compared. Both models run in turns, by CPU time; the shortest counts.
"""

from __future__ import annotations

import argparse
import ast
import os
import time
from typing import Any, Callable

import numpy as np

IMAGE = (1, 3, 224, 224)


def image(rng: np.random.Generator) -> np.ndarray:
    """Patches of colour with noise."""
    patches = np.kron(rng.standard_normal((1, 3, 28, 28)), np.ones((1, 1, 8, 8)))
    return (patches + 0.3 * rng.standard_normal(IMAGE)).astype("float32")


class Network:
    """Layers with weights by chance; a first pass collects statistics, which a second one has as constants."""

    def __init__(self, statistics: list[np.ndarray] | None = None):
        self.rng = np.random.default_rng(7)
        self.statistics = statistics
        self.wanted: list[Any] = []

    def constant(self, values: Any) -> Any:
        from tessera import relay

        return relay.const(np.asarray(values, "float32"))

    def conv(self, x: Any, ins: int, outs: int, size: int, stride: int = 1, groups: int = 1) -> Any:
        from tessera import relay

        shape = (outs, ins // groups, size, size)
        weight = self.constant(self.rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:])))
        window = {"kernel_size": (size, size), "strides": (stride, stride), "padding": (size // 2, size // 2)}
        return relay.nn.conv2d(x, weight, channels=outs, groups=groups, **window)

    def norm(self, x: Any, channels: int) -> Any:
        from tessera import relay

        gamma = self.constant(self.rng.uniform(0.5, 1.5, channels))
        beta = self.constant(self.rng.standard_normal(channels) * 0.2)
        index = len(self.wanted)
        self.wanted += [relay.mean(x, axis=1, exclude=True), relay.variance(x, axis=1, exclude=True)]
        seen = self.wanted if self.statistics is None else [self.constant(value) for value in self.statistics]
        return relay.nn.batch_norm(x, gamma, beta, *seen[index : index + 2])[0]

    def dense(self, x: Any, ins: int, outs: int) -> Any:
        from tessera import relay

        weight = self.constant(self.rng.standard_normal((outs, ins)) / np.sqrt(ins))
        return relay.nn.bias_add(
            relay.nn.dense(x, weight), self.constant(self.rng.standard_normal(outs) * 0.1), axis=-1
        )

    def classes(self, x: Any, channels: int) -> Any:
        from tessera import relay

        return self.dense(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(x)), channels, 1000)


def mobilenet_v2(net: Network, x: Any) -> Any:
    from tessera import relay

    def layer(y: Any, *args: int) -> Any:
        return relay.clip(net.norm(net.conv(y, *args), args[1]), 0.0, 6.0)

    y, ins = layer(x, 3, 32, 3, 2), 32
    for factor, outs, count, stride in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ):  # fmt: skip
        for i in range(count):
            step, inner = stride if i == 0 else 1, ins * factor
            z = layer(y, ins, inner, 1) if factor > 1 else y
            z = layer(z, inner, inner, 3, step, inner)
            z = net.norm(net.conv(z, inner, outs, 1), outs)
            y, ins = (relay.add(y, z) if step == 1 and ins == outs else z), outs
    return net.classes(layer(y, ins, 1280, 1), 1280)


def resnet18(net: Network, x: Any) -> Any:
    from tessera import relay

    y = relay.nn.relu(net.norm(net.conv(x, 3, 64, 7, 2), 64))
    y, ins = relay.nn.max_pool2d(y, (3, 3), (2, 2), padding=(1, 1)), 64
    for outs, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        z = relay.nn.relu(net.norm(net.conv(y, ins, outs, 3, stride), outs))
        z = net.norm(net.conv(z, outs, outs, 3), outs)
        if ins != outs:
            y = net.norm(net.conv(y, ins, outs, 1, stride), outs)
        y, ins = relay.nn.relu(relay.add(y, z)), outs
    return net.classes(y, 512)


def vit(net: Network, x: Any) -> Any:
    from tessera import relay

    layers, size, heads, tokens = 12, 768, 12, 196
    part = size // heads
    weight = net.constant(net.rng.standard_normal((size, 3, 16, 16)) * np.sqrt(2 / 768))
    y = relay.nn.conv2d(x, weight, channels=size, kernel_size=(16, 16), strides=(16, 16))
    y = relay.reshape(relay.transpose(relay.reshape(y, (size, tokens)), (1, 0)), (tokens, size))
    y = y + net.constant(net.rng.standard_normal((tokens, size)) * 0.02)

    def norm(v: Any) -> Any:
        return relay.nn.layer_norm(v, net.constant(np.ones(size)), net.constant(np.zeros(size)))

    def by_head(v: Any) -> Any:
        return relay.transpose(relay.reshape(v, (tokens, heads, part)), (1, 0, 2))

    for _ in range(layers):
        h = norm(y)
        query, key, value = (by_head(net.dense(h, size, size)) for _ in range(3))
        scores = relay.nn.softmax(relay.nn.batch_matmul(query, key) * net.constant(part**-0.5))
        mixed = relay.nn.batch_matmul(scores, relay.transpose(value, (0, 2, 1)))
        y = y + net.dense(relay.reshape(relay.transpose(mixed, (1, 0, 2)), (tokens, size)), size, size)
        h = net.dense(norm(y), size, 4 * size)
        h = h * (net.constant(0.5) + net.constant(0.5) * relay.erf(h * net.constant(0.5**0.5)))
        y = y + net.dense(h, 4 * size, size)
    return net.dense(relay.mean(norm(y), axis=0, keepdims=True), size, 1000)


MODELS: dict[str, Callable[[Network, Any], Any]] = {"mobilenet_v2": mobilenet_v2, "resnet18": resnet18, "vit": vit}


def runner(body: Any) -> Any:
    import tessera
    from tessera import relay
    from tessera.contrib.graph_executor import GraphModule

    mod = body if isinstance(body, tessera.IRModule) else tessera.IRModule.from_expr(body)
    with tessera.transform.PassContext(opt_level=3):
        return GraphModule(relay.build(mod, "llvm")["default"](tessera.cpu()))


def outputs(graph: Any, data: np.ndarray) -> list[np.ndarray]:
    graph.set_input("data", data)
    graph.run()
    return [graph.get_output(i).numpy() for i in range(graph.get_num_outputs())]


def network(name: str) -> Any:
    from tessera import IRModule, relay

    x = relay.var("data", shape=IMAGE)
    first = Network()
    body = MODELS[name](first, x)
    if first.wanted:
        seen = outputs(runner(relay.Function([x], relay.Tuple(first.wanted))), image(np.random.default_rng(0)))
        body = MODELS[name](Network(seen), x)
    return IRModule.from_expr(relay.Function([x], body))


def report(name: str, given: dict[str, Any], seconds: float) -> None:
    from tessera import relay

    mod, rng = network(name), np.random.default_rng(3)
    dataset = [{"data": image(rng)} for _ in range(4)]
    options = {"calibrate_mode": "percentile", "weight_scale": "max", "skip_dense_layer": False, **given}
    with relay.quantize.qconfig(**options):
        quantized = relay.quantize.quantize(mod, dataset=dataset)
    graphs = [runner(mod), runner(quantized)]
    ratios = []
    for _ in range(3):
        data = image(rng)
        (wanted,), (found,) = (outputs(graph, data) for graph in graphs)
        ratios.append(10 * np.log10((wanted**2).sum() / ((wanted - found) ** 2).sum()))
    best = [float("inf")] * 2
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for i, graph in enumerate(graphs):
            start = time.process_time()
            graph.run()
            best[i] = min(best[i], time.process_time() - start)
    decibels = " ".join(f"{ratio:6.1f}" for ratio in ratios)
    print(f"{name:12} {decibels} {best[0] * 1e3:9.2f} {best[1] * 1e3:10.2f} {best[0] / best[1]:6.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(MODELS), help="names of models, by commas")
    parser.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE", help="an option of qconfig")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each model")
    options = parser.parse_args()
    os.environ["TVM_NUM_THREADS"] = "1"
    given = {name: ast.literal_eval(value) for name, value in (text.split("=", 1) for text in options.set)}
    print("model        signal to noise, dB   float32 ms  quantised   ratio")
    for name in options.only.split(","):
        report(name, given, options.seconds)


if __name__ == "__main__":
    main()
