"""Trains the digit reader of `make demo` and writes digits.onnx and held_back.npz beside this file.

    pip install scikit-learn onnx
    python examples/digits/train.py

The gradients are Tessera's: the loss is a Relay function, `relay.transform.gradient` makes the function that also gives the
gradient of every parameter, and `tessera.compile` compiles it. What is left for NumPy is the step of the optimiser and
moving the images about. A fifth of scikit-learn's 1797 digits is held back; nothing is chosen by looking at it.
"""

from __future__ import annotations

import argparse
import pathlib
import time
from collections.abc import Iterator

import numpy as np
import onnx
import tessera
from network import OnnxBuilder, RelayBuilder, classifier
from tessera import relay

HERE = pathlib.Path(__file__).parent
BATCH = 64


def split(seed: int = 7) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images and labels to train with, then those that are held back: a fifth of each digit."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    of_digit = [order[digits.target[order] == digit] for digit in range(10)]
    held_back = np.concatenate([indices[: len(indices) // 5] for indices in of_digit])
    train = np.setdiff1d(order, held_back)
    images = digits.images.astype("uint8")
    return images[train], digits.target[train], images[held_back], digits.target[held_back]


def as_input(images: np.ndarray) -> np.ndarray:
    """Levels 0 ... 16 as numbers of one channel from 0 to 1."""
    return (images.astype("float32") / 16)[:, None]


def moved(images: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Each image turned, scaled and shifted a little, by bilinear sampling."""
    n = len(images)
    angle, scale = random.uniform(-0.25, 0.25, n), random.uniform(0.85, 1.15, (n, 2))
    shear, shift = random.uniform(-0.15, 0.15, n), random.uniform(-0.8, 0.8, (n, 2))
    y, x = (grid.ravel() - 3.5 for grid in np.mgrid[:8, :8])
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    from_y = (cos * y - sin * x) * scale[:, :1] + shift[:, :1] + 3.5
    from_x = (sin * y + cos * x + shear[:, None] * y) * scale[:, 1:] + shift[:, 1:] + 3.5
    padded = np.pad(images[:, 0], ((0, 0), (3, 3), (3, 3)))
    from_y, from_x = np.clip(from_y + 3, 0, 12.999), np.clip(from_x + 3, 0, 12.999)
    y0, x0 = from_y.astype(int), from_x.astype(int)
    fy, fx = from_y - y0, from_x - x0
    which = np.arange(n)[:, None]
    top = padded[which, y0, x0] * (1 - fx) + padded[which, y0, x0 + 1] * fx
    bottom = padded[which, y0 + 1, x0] * (1 - fx) + padded[which, y0 + 1, x0 + 1] * fx
    return (top * (1 - fy) + bottom * fy).astype("float32").reshape(images.shape)


def batches(
    images: np.ndarray, labels: np.ndarray, random: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All images once in random order, moved, with smoothed one-hot labels."""
    order = random.permutation(len(labels))
    for start in range(0, len(order) - BATCH + 1, BATCH):
        chosen = order[start : start + BATCH]
        yield moved(images[chosen], random), (np.eye(10, dtype="float32") * 0.95 + 0.005)[labels[chosen]]


class Adam:
    """Adam with decoupled weight decay, as NumPy."""

    def __init__(self, values: list[np.ndarray], decay: float):
        self.decay, self.step_count = decay, 0
        self.first = [np.zeros_like(v) for v in values]
        self.second = [np.zeros_like(v) for v in values]

    def step(self, values: list[np.ndarray], gradients: list[np.ndarray], rate: float) -> None:
        self.step_count += 1
        for value, gradient, m, v in zip(values, gradients, self.first, self.second):
            m += 0.1 * (gradient - m)
            v += 0.01 * (gradient * gradient - v)
            step = m / (1 - 0.9**self.step_count) / (np.sqrt(v / (1 - 0.99**self.step_count)) + 1e-8)
            if value.ndim > 1:
                value -= rate * self.decay * value
            value -= rate * step


def loss_with_gradients() -> tuple[RelayBuilder, tessera.Model]:
    """The builder, with parameters to start from, and a compiled (image, label, *parameters) -> (loss, *gradients)."""
    builder = RelayBuilder()
    image = relay.var("image", shape=(BATCH, 1, 8, 8))
    label = relay.var("label", shape=(BATCH, 10))
    scores = classifier(builder, image)
    loss = relay.negative(relay.sum(label * relay.nn.log_softmax(scores))) / relay.const(float(BATCH))
    mod = tessera.IRModule.from_expr(relay.Function([image, label, *builder.variables.values()], loss))
    mod = relay.transform.InferType()(mod)
    mod["main"] = relay.transform.gradient(mod["main"], mode="first_order")
    return builder, tessera.compile(relay.transform.InferType()(mod))


def statistics_of(images: np.ndarray, values: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Mean and variance of each normalisation over all images that were trained with."""
    builder = RelayBuilder()
    image = relay.var("image", shape=(len(images), 1, 8, 8))
    classifier(builder, image)
    mod = tessera.IRModule.from_expr(
        relay.Function([image, *builder.variables.values()], relay.Tuple(builder.statistics))
    )
    return [s.numpy() for s in tessera.compile(mod, params=values).run(images)]


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains the digit reader of `make demo`.")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument(
        "--folder", type=pathlib.Path, default=HERE, help="where digits.onnx and held_back.npz are written"
    )
    options = parser.parse_args()
    images, labels, held_back, held_back_labels = split()
    images, random = as_input(images), np.random.default_rng(1)

    start = time.perf_counter()
    builder, model = loss_with_gradients()
    print(f"loss and gradients of {len(builder.initial)} parameters compiled in {time.perf_counter() - start:.1f} s")
    names, values = list(builder.initial), list(builder.initial.values())
    optimiser, steps = Adam(values, decay=0.05), options.epochs * (len(labels) // BATCH)
    for epoch in range(options.epochs):
        total, count = 0.0, 0
        for image, label in batches(images, labels, random):
            loss, *gradients = model.run(image, label, *values)
            rate = 4e-3 * 0.5 * (1 + np.cos(np.pi * optimiser.step_count / steps))
            optimiser.step(values, [g.numpy() for g in gradients[2:]], rate)
            total, count = total + float(loss.numpy()), count + 1
        print(f"epoch {epoch + 1:3}: loss {total / count:.4f}, {time.perf_counter() - start:.0f} s", flush=True)

    trained = dict(zip(names, values))
    writer = OnnxBuilder(trained, statistics_of(images, trained))
    proto = writer.model(classifier(writer, "image"))
    onnx.save(proto, options.folder / "digits.onnx")
    np.savez_compressed(options.folder / "held_back.npz", images=held_back, labels=held_back_labels.astype("uint8"))
    read = tessera.compile(proto, shapes={"image": (len(held_back), 1, 8, 8)})
    answers = read.run(as_input(held_back))[0].numpy().argmax(axis=1)
    print(f"{(answers == held_back_labels).sum()} of {len(held_back)} digits that were held back are read right")


if __name__ == "__main__":
    main()
