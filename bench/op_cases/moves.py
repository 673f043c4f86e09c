"""What moves elements: by their positions alone, and by index."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from .case import Case, model_of, node, random, shape_text

Torch = Callable[[Any, Any], Any]


def transpose(shape: tuple[int, ...], *order: int) -> Case:
    inputs = {"x": random(*shape)}
    made = node("Transpose", ["x"], "y", perm=list(order))

    def torch(torch: Any, t: Any) -> Any:
        return t["x"].permute(order).contiguous()

    name = f"Transpose {shape_text(inputs['x'])}, {','.join(map(str, order))}"
    return Case(name, model_of([made], inputs, {}), inputs, {}, torch)


def concat(axis: int, *shapes: tuple[int, ...]) -> Case:
    inputs = {f"x{i}": random(*shape) for i, shape in enumerate(shapes)}
    made = node("Concat", list(inputs), "y", axis=axis)

    def torch(torch: Any, t: Any) -> Any:
        return torch.cat([t[name] for name in inputs], axis)

    name = f"Concat {len(shapes)} of {shape_text(inputs['x0'])}.., axis {axis}"
    return Case(name, model_of([made], inputs, {}), inputs, {}, torch)


def move(op: str, x: np.ndarray, facts: dict[str, Any], torch: Torch, title: str = "", **attributes: Any) -> Case:
    """`facts`: the other inputs of the operator, constants."""
    inputs, constants = {"x": x}, {name: np.asarray(value) for name, value in facts.items()}
    made = node(op, ["x", *facts], "y", **attributes)
    name = f"{op} {shape_text(x)}{f', {title}' * bool(title)}"
    return Case(name, model_of([made], inputs, constants), inputs, {}, torch)


def cases(_nets: list[str]) -> list[Case]:
    image = random(1, 64, 112, 112)
    return [
        transpose((1, 128, 12, 64), 0, 2, 1, 3),
        transpose((1, 64, 56, 56), 0, 2, 3, 1),
        transpose((1, 56, 56, 64), 0, 3, 1, 2),
        transpose((1000, 1000), 1, 0),
        transpose((1, 8, 32, 28, 28), 0, 2, 1, 3, 4),
        concat(1, *[(1, 64, 56, 56)] * 4),
        concat(1, (1, 128, 28, 28), *[(1, 32, 28, 28)] * 12),
        concat(2, *[(1, 128, 64)] * 8),
        concat(3, (1, 21, 28, 28), (1, 21, 28, 5)),
        move(
            "Slice",
            image,
            {"starts": [0, 1, 1], "ends": [64, 111, 112], "axes": [1, 2, 3], "steps": [1, 2, 2]},
            lambda torch, t: t["x"][:, :, 1:111:2, 1:112:2].contiguous(),
            "steps of 2",
        ),
        move(
            "Pad",
            image,
            {"pads": [0, 0, 1, 1, 0, 0, 1, 1]},
            lambda torch, t: torch.nn.functional.pad(t["x"], (1, 1, 1, 1)),
            "1",
        ),
        move(
            "Pad",
            image,
            {"pads": [0, 0, 3, 3, 0, 0, 3, 3]},
            lambda torch, t: torch.nn.functional.pad(t["x"], (3, 3, 3, 3), mode="reflect"),
            "3, reflect",
            mode="reflect",
        ),
        move(
            "Expand", random(1, 64, 1, 1), {"shape": [1, 64, 56, 56]}, lambda torch, t: t["x"].expand(1, 64, 56, 56) + 0
        ),
        move("Tile", random(1, 16, 28, 28), {"repeats": [1, 1, 2, 2]}, lambda torch, t: t["x"].tile(1, 1, 2, 2)),
        move(
            "DepthToSpace",
            random(1, 64, 56, 56),
            {},
            lambda torch, t: torch.nn.functional.pixel_shuffle(t["x"], 2),
            "2",
            blocksize=2,
            mode="CRD",
        ),
        move(
            "SpaceToDepth", random(1, 16, 112, 112), {}, lambda torch, t: torch.pixel_unshuffle(t["x"], 2), blocksize=2
        ),
    ]


def at_random(count: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, count, shape)


def embedding(words: int, width: int, length: int) -> Case:
    inputs, weights = {"i": at_random(words, 1, length)}, {"w": random(words, width)}
    made = node("Gather", ["w", "i"], "y")

    def torch(torch: Any, t: Any) -> Any:
        return torch.nn.functional.embedding(t["i"], t["w"])

    model = model_of([made], inputs, weights)
    return Case(f"Gather {words}x{width}, {length} rows", model, inputs, weights, torch, reads=4 * length * width)


def by_index(op: str, inputs: dict[str, np.ndarray], torch: Torch | None, **attributes: Any) -> Case:
    """An operator all of whose operands are inputs."""
    made = node(op, list(inputs), "y", **attributes)
    name = f"{op} {', '.join(shape_text(x) for x in inputs.values())}"
    reads = inputs["i"].size * 4 if op == "GatherND" else None  # elements, one by one
    return Case(name, model_of([made], inputs, {}), inputs, {}, torch, reads=reads)


def one_hot(depth: int, *shape: int) -> Case:
    inputs = {"i": at_random(depth, *shape)}
    facts = {"depth": np.array(depth), "values": np.array([0, 1], "float32")}
    model = model_of([node("OneHot", ["i", *facts], "y")], inputs, facts)
    return Case(f"OneHot {shape_text(inputs['i'])}, {depth}", model, inputs, {})


def indices(_nets: list[str]) -> list[Case]:
    x, rows_of = random(1000, 256), at_random(1000, 4096, 256)
    rows = np.random.default_rng(3).permutation(1000)[:400].reshape(400, 1)
    order = np.argsort(np.random.default_rng(5).random((1000, 256)), 0)
    return [
        embedding(30522, 768, 128),
        embedding(50257, 768, 1),
        by_index("Gather", {"x": x, "i": at_random(256, 64)}, lambda torch, t: t["x"][:, t["i"]], axis=1),
        by_index("GatherElements", {"x": x, "i": rows_of}, lambda torch, t: torch.gather(t["x"], 0, t["i"]), axis=0),
        by_index(
            "GatherND", {"x": x, "i": at_random(256, 4096, 2)}, lambda torch, t: t["x"][t["i"][:, 0], t["i"][:, 1]]
        ),
        by_index(
            "ScatterND",
            {"x": x, "i": rows, "u": random(400, 256)},
            lambda torch, t: t["x"].index_copy(0, t["i"][:, 0], t["u"]),
        ),
        by_index(
            "ScatterElements",
            {"x": x, "i": order, "u": random(1000, 256)},
            lambda torch, t: t["x"].scatter(0, t["i"], t["u"]),
            axis=0,
        ),
        by_index(
            "Where",
            {"c": random(1, 12, 128, 128) > 0, "x": random(1, 12, 128, 128), "z": random(1, 1, 1, 1)},
            lambda torch, t: torch.where(t["c"], t["x"], t["z"]),
        ),
        one_hot(1000, 256),
    ]
