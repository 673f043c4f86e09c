"""Shapes that values decide: exact in 64 bits, or an error that names the operator and the value."""

import numpy as np
import pytest
import tessera

LEAST, MOST = -(2**63), 2**63 - 1


def shape(function, rank, *args):
    """What a shape function gives for arguments of integers (tensors, where they are lists or arrays) in order."""
    out = tessera.nd.empty((rank,), "int64")
    tensors = [tessera.nd.array(np.asarray(a)) for a in args if not isinstance(a, (bool, int, str))]
    further = [a for a in args if isinstance(a, (bool, int, str))]
    tessera.get_global_func(f"tessera.shape.{function}")(*tensors, out, *further)
    return out.numpy().tolist()


def ints(*values):
    return np.array(values, "int64")


@pytest.mark.parametrize(
    "start, stop, step, count",
    [
        (0, 10, 3, 4),
        (10, 0, -3, 4),
        (5, 5, 1, 0),
        (5, 0, 1, 0),
        (2**60, 2**60 + 5, 1, 5),  # float64 does not tell them apart
        (LEAST, MOST, 2**62, 4),  # their difference has 65 bits
        (MOST, LEAST, LEAST, 2),
        (LEAST, LEAST + 3, 1, 3),
    ],
)
def test_a_range_is_counted_exactly(start, stop, step, count):
    assert shape("arange", 1, ints(start)[0], ints(stop)[0], ints(step)[0]) == [count]


@pytest.mark.parametrize(
    "start, stop, step, message",
    [
        (0.0, 1.0, 0.0, "arange: the step is 0"),
        (np.nan, 1.0, 1.0, "arange: start, stop and step must be finite, but are nan, 1"),
        (0.0, np.inf, 1.0, "must be finite"),
        (0, 10**15, 1, "there are 1e[+]15 numbers; less than 2.31 are supported"),
        (LEAST, MOST, 1, "less than 2.31"),
    ],
)
def test_a_range_that_is_none_is_an_error(start, stop, step, message):
    with pytest.raises(ValueError, match=message):
        shape("arange", 1, np.array(start), np.array(stop), np.array(step))


@pytest.mark.parametrize("begin", [LEAST, -(2**31) - 1, -7, -2, 0, 1, 2**31, 2**32 + 1, MOST])
@pytest.mark.parametrize("step", [LEAST, -(2**32) - 1, -2, -1, 1, 2, 2**32 + 1, MOST])
@pytest.mark.parametrize("end", [LEAST, -(2**32), -1, 0, 3, 2**32 + 3, MOST])
def test_a_slice_is_as_python_counts_it(begin, end, step):
    want = len(range(5)[begin:end:step])
    assert shape("strided_slice", 1, ints(5), ints(begin), ints(end), ints(step), False) == [want]


WRONG = {
    "a step of 0": (("strided_slice", 1, ints(5), ints(0), ints(3), ints(0), False), "strided_slice: the step of axis 0 is 0"),
    "an extent of -7": (("reshape", 2, ints(2, 6), ints(-7, 2), False, False), r"\(2, 6\) cannot be reshaped to \(-7, 2\): -7 is no extent"),
    "Relay's -3 where it means nothing": (("reshape", 1, ints(2, 6), ints(-3), False, False), "-3 is no extent"),
    "two dynamic extents": (("reshape", 2, ints(2, 6), ints(-1, -1), False, True), "only one extent may be -1"),
    "other elements": (("reshape", 2, ints(2, 6), ints(5, -1), False, True), "12 elements are not a multiple of 5"),
    "more elements": (("reshape", 2, ints(2, 6), ints(2**40, 2**40), False, True), "12 elements are not 9223372036854775807"),
    "a dimension too many": (("reshape", 3, ints(2, 6), ints(2, 6, 0), False, True), "0 stands for a dimension"),
    "a negative size": (("input", 2, ints(3, -1), "dyn.zeros"), r"dyn.zeros: the result would have the shape \(3, -1\)"),
    "a size beyond memory": (("input", 2, ints(2**32, 2**32), "dyn.full"), r"shape \(4294967296, 4294967296\); .* less than 2.31"),
    "a count below none": (("iota", 1, ints(-1)), r"dyn.iota: the result would have the shape \(-1,\)"),
    "extents that differ": (("broadcast_to", 2, ints(3), ints(2, 4)), r"\(3,\) cannot be broadcast to \(2, 4\): 3 is neither 1 nor 4"),
    "repeated less than never": (("tile", 1, ints(3), ints(-2)), "dyn.tile: .* nothing is repeated -2 times"),
    "repeated too often": (("tile", 1, ints(3), ints(MOST)), "dyn.tile: .* less than 2.31 elements"),
    "a negative depth": (("one_hot", 2, ints(3), ints(-5)[0], 1), r"dyn.one_hot: the result would have the shape \(3, -5\)"),
    "an axis outside": (("expand_dims", 3, ints(3, 4), ints(2**32)[0], 1), "axis 4294967296 is out of range"),
    "an axis that is not one": (("squeeze", 1, ints(1, 3), ints(1)), r"axis 1 of a tensor of shape \(1, 3\) cannot be dropped"),
    "an axis twice": (("squeeze", 1, ints(1, 1, 3), ints(0, -3)), "cannot be dropped twice"),
    "too many of the first": (("topk", 1, ints(4), ints(2**32 + 1)[0], 0, LEAST), "k is 4294967297, but axis 0 .* has only 4"),
    "less than none of the first": (("topk", 1, ints(4), ints(-1)[0], 0, 0), "k is -1, but must be at least 0"),
    "a border beyond memory": (("pad", 1, ints(4), ints(10**10, 0).reshape(1, 2), False, False), "dyn.nn.pad: .*10000000004"),
    "a mirror of more than there is": (("pad", 1, ints(4), ints(4, 0).reshape(1, 2), False, True), "cannot be padded by 4"),
    "an edge of nothing": (("pad", 1, ints(0), ints(1, 0).reshape(1, 2), True, False), "cannot be padded by 1"),
    "a negative image": (("resize2d", 4, ints(1, 3, 8, 8), ints(-1, 4), 2, 3), r"\(1, 3, -1, 4\)"),
    "a scale that is no number": (
        ("upsampling", 3, ints(1, 3, 8), np.array(np.nan), 2),
        r"axis 2 of a tensor of shape \(1, 3, 8\) cannot be scaled by nan",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_a_shape_is_an_error_that_says_why(what):
    args, message = WRONG[what]
    with pytest.raises(ValueError, match=message):
        shape(*args)


RIGHT = {
    "zero keeps an extent, -1 is what is left": (("reshape", 2, ints(2, 6), ints(0, -1), False, False), [2, 6]),
    "zero is zero": (("reshape", 2, ints(2, 0), ints(0, 5), True, False), [0, 5]),
    "Relay merges two": (("reshape", 2, ints(2, 3, 4), ints(-3, 0), False, True), [6, 4]),
    "an extent of 1 keeps the data's": (("broadcast_to", 2, ints(3, 1), ints(1, 5)), [3, 5]),
    "repetition of nothing": (("tile", 2, ints(3), ints(0, 2)), [0, 6]),
    "less than 1 is all": (("topk", 1, ints(4), ints(0)[0], 0, LEAST), [4]),
    "none is none": (("topk", 1, ints(4), ints(0)[0], 0, 0), [0]),
    "a pad may crop": (("pad", 1, ints(4), ints(2**32, -(2**32) - 1).reshape(1, 2), False, False), [3]),
}  # fmt: skip


@pytest.mark.parametrize("what", RIGHT)
def test_shapes_follow_from_values(what):
    args, want = RIGHT[what]
    assert shape(*args) == want
