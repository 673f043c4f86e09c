"""A random call of each operator of images, of detectors and of random numbers; see operator_cases.py."""

import numpy as np
from operator_cases_nn import image
from random_graphs import Graph, case
from tessera import relay

vision = relay.vision


@case("image.resize1d", "image.resize2d", "image.resize3d")
def resize(g: Graph, name):
    rank = int(name[-2])
    x = image(g, rank)
    size = [g.rng.randrange(1, 9) for _ in range(rank)]
    options = {
        "method": g.rng.choice(("linear", "cubic") if rank < 3 else ("linear",)),
        "coordinate_transformation_mode": g.rng.choice(("half_pixel", "align_corners", "asymmetric")),
    }
    return g.add(lambda x: getattr(relay.image, name[6:])(x, size, **options), x)


@case("image.affine_grid", "image.grid_sample")
def grid(g: Graph, name):
    if name == "image.affine_grid":
        size = (g.rng.randrange(2, 5), g.rng.randrange(2, 5))
        return g.add(lambda x: relay.image.affine_grid(x, size), g.tensor((2, 2, 3)))
    x, at = g.tensor((1, 2, 5, 6)), g.tensor((1, 2, 3, 4), low=-1.2, high=1.2)
    padding = g.rng.choice(("zeros", "border"))
    return g.add(lambda x, p: relay.image.grid_sample(x, p, "bilinear", padding_mode=padding), x, at)


@case("image.crop_and_resize")
def crop(g: Graph, name):
    x, count = g.tensor((2, 4, 5, 3)), g.rng.randrange(1, 4)
    low = g.numbers.uniform(0, 0.4, (count, 2))
    boxes = g.given(np.concatenate([low, low + g.numbers.uniform(0.2, 0.5, (count, 2))], 1), "float32")
    index = g.indices(2, (count,), "int32")
    return g.add(lambda x, b, i: relay.image.crop_and_resize(x, b, i, (3, 3), "NHWC"), x, boxes, index)


@case("image.dilation2d")
def dilation(g: Graph, name):
    x, w = image(g, channels=2, least=3), g.tensor((2, 2, 3), low=-0.5, high=0.5)
    return g.add(lambda x, w: relay.image.dilation2d(x, w), x, w)


def boxes(g, batch, count):
    """(class, score, x1, y1, x2, y2) with overlaps, all scores different."""
    corner, size = g.numbers.uniform(0, 1, (batch, count, 2)), g.numbers.uniform(0.2, 0.8, (batch, count, 2))
    kind = g.numbers.integers(0, 3, (batch, count, 1))
    score = g.numbers.permutation(batch * count).reshape(batch, count, 1) / (batch * count)
    return np.concatenate([kind, score, corner, corner + size], 2).astype("float32")


@case("vision.get_valid_counts", "vision.non_max_suppression", "vision.all_class_non_max_suppression")
def suppression(g: Graph, name):
    batch, count = g.rng.randrange(1, 3), g.rng.randrange(1, 9)
    data = boxes(g, batch, count)
    if name == "vision.get_valid_counts":
        return g.add(lambda d: vision.get_valid_counts(d, 0.4), g.given(data))
    if name == "vision.all_class_non_max_suppression":
        scores = (g.numbers.permutation(batch * 2 * count).reshape(batch, 2, count) / (batch * 2 * count)).astype(
            "float32"
        )
        limits = (g.rng.choice((-1, 2)), 0.4, 0.1)
        build = lambda b, s: vision.all_class_non_max_suppression(b, s, *limits)[1]
        return g.add(build, g.given(data[:, :, 2:].copy()), g.given(scores))
    counts = g.given(g.numbers.integers(0, count + 1, batch), "int32", is_index=True)
    index = g.given(np.stack([g.numbers.permutation(count) for _ in range(batch)]), "int32", is_index=True)
    build = lambda d, c, i: vision.non_max_suppression(d, c, i, return_indices=False)
    return g.add(build, g.given(data), counts, index)


@case("vision.multibox_prior", "vision.multibox_transform_loc")
def anchors(g: Graph, name):
    if name == "vision.multibox_prior":
        return g.add(lambda x: vision.multibox_prior(x, (0.5, 0.2), (1, 2)), image(g))
    prob = g.given(g.numbers.permutation(2 * 4 * 6).reshape(2, 4, 6) / 48, "float32")
    given = g.given(boxes(g, 1, 6)[:, :, 2:].copy())
    return g.add(lambda p, x, a: vision.multibox_transform_loc(p, x, a, threshold=0.6), prob, g.tensor((2, 24)), given)


@case("vision.proposal")
def proposal(g: Graph, name):
    prob = g.given(g.numbers.permutation(2 * 12 * 9).reshape(2, 12, 3, 3) / 216, "float32")
    deltas = g.given(g.array((2, 24, 3, 3), "float32", -0.4, 0.4))
    info = g.given(np.array([[48, 40, 1.0], [40, 48, 0.5]], "float32"))
    options = ((2.0, 4.0), (0.5, 1.0, 2.0), 16, 0.6, 20, 12, 8, False)
    return g.add(lambda p, b, i: vision.proposal(p, b, i, *options), prob, deltas, info)


@case("vision.roi_align", "vision.roi_pool")
def regions(g: Graph, name):
    x, count = g.tensor((2, 3, 7, 8)), g.rng.randrange(1, 5)
    corner, size = g.numbers.uniform(0, 6, (count, 2)), g.numbers.uniform(1, 7, (count, 2))
    rois = np.concatenate([g.numbers.integers(0, 2, (count, 1)), corner, corner + size], 1).astype("float32")
    rois = g.given(rois, is_index=True)
    if name == "vision.roi_pool":
        return g.add(lambda x, r: vision.roi_pool(x, r, (3, 2), 1.0), x, rois)
    samples = g.rng.choice((2, -1))
    return g.add(lambda x, r: vision.roi_align(x, r, (3, 2), 1.0, samples), x, rois)


@case("vision.yolo_reorg")
def reorg(g: Graph, name):
    return g.add(lambda x: vision.yolo_reorg(x, 2), g.tensor((1, g.rng.choice((4, 8)), 4, 6)))


# ---- random numbers --------------------------------------------------------------------------------------------------


def drawn(build):
    """What the plain compute of the operator makes; op/test_random_operators.py compares that with the cipher."""
    import tessera

    body = build()
    body = body.astuple() if isinstance(body, relay.TupleWrapper) else body
    with tessera.transform.PassContext(opt_level=0):
        out = relay.create_executor("debug", tessera.IRModule.from_expr(relay.Function([], body))).evaluate()()
    return [part.numpy() for part in out]


@case("random.threefry_generate", "random.threefry_split", "random.uniform", "random.normal", "random.multinomial")
def random_numbers(g: Graph, name):
    key = relay.random.threefry_key(g.rng.randrange(1 << 60))
    shape = tuple(n for n in g.shape(2) if n) or (3,)
    probabilities = g.array((5,), "float32", 0.1, 1.0)
    ways = {
        "random.threefry_generate": lambda k, p: relay.random.threefry_generate(k, shape),
        "random.threefry_split": lambda k, p: relay.random.threefry_split(k),
        "random.uniform": lambda k, p: relay.random.uniform(k, shape, "float32", relay.const(1.0), relay.const(2.0)),
        "random.normal": lambda k, p: relay.random.normal(k, shape),
        "random.multinomial": lambda k, p: relay.random.multinomial(k, p, 6),
    }
    build = ways[name]
    want = lambda k, *p: drawn(lambda: build(relay.const(k), *[relay.const(part) for part in p] or [None]))
    if name == "random.multinomial":
        return g.add(build, g.given(key.data.numpy()), g.given(probabilities), want=want)
    return g.add(lambda k: build(k, None), g.given(key.data.numpy()), want=want)
