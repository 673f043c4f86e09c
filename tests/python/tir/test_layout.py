"""Layouts and maps of indices."""

import itertools

import pytest
from tessera import arith, tir
from tessera._ffi import TVMError


def ints(exprs):
    return [int(e) for e in exprs]


def test_a_layout_knows_its_axes():
    layout = tir.layout("NCHW16c")
    assert len(layout) == 5 and [layout[i] for i in range(5)] == ["N", "C", "H", "W", "c"]
    assert layout.index_of("C") == 1 and layout.index_of("c") == 4 and layout.index_of("D") == -1
    assert layout.factor_of("C") == layout.factor_of("c") == 16 and layout.factor_of("N") == -1
    assert "W" in layout and "D" not in layout
    assert tir.layout("OIHW4i16o4i").factor_of("I") == 16


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("NCHW16", "a number stands at the end"),
        ("16N", "the size 16 stands before a primal axis"),
        ("NCHWc", "part c has no size"),
        ("NN", "axis N occurs twice"),
        ("NHW4c", "part c has no primal axis C"),
        ("N-C", "neither a letter nor a digit"),
    ],
)
def test_a_wrong_layout_says_why(text, why):
    with pytest.raises(TVMError, match=why):
        tir.layout(text)


@pytest.mark.parametrize(
    ("src", "dst", "shape"),
    [("NCHW", "NHWC", (2, 3, 4, 5)), ("NC", "NC4c", (2, 8)), ("OI", "OI2i4o2i", (8, 8)), ("NC4c", "CN2c", (3, 2, 4))],
)
def test_the_way_back_leads_back(src, dst, shape):
    way = tir.bijective_layout(src, dst)
    there = ints(way.forward_shape(shape))
    assert ints(way.backward_shape(there)) == list(shape)
    reached = set()
    for index in itertools.product(*map(range, shape)):
        target = ints(way.forward_index(index))
        assert all(0 <= at < extent for at, extent in zip(target, there))
        assert ints(way.backward_index(target)) == list(index)
        reached.add(tuple(target))
    assert len(reached) == len(list(itertools.product(*map(range, shape))))


def test_layouts_of_other_axes_do_not_convert():
    with pytest.raises(TVMError, match="C is missing in NHW"):
        tir.bijective_layout("NCHW", "NHW")


def test_index_maps():
    index_map = tir.IndexMap.from_func(lambda i, j: [i // 4, j, i % 4])
    assert ints(index_map.map_indices([7, 3])) == [1, 3, 3]
    assert ints(index_map.map_shape([16, 8])) == [4, 8, 4]
    assert index_map.is_equivalent_to(tir.IndexMap.from_func(lambda a, b: [a // 4, b, a % 4]))
    assert not index_map.is_equivalent_to(tir.IndexMap.from_func(lambda a, b: [b, a // 4, a % 4]))
    with_rest = tir.IndexMap.from_func(lambda *args: args, ndim=3)
    assert [v.name for v in with_rest.initial_indices] == ["args_0", "args_1", "args_2"]
    split, separators = tir.IndexMap.from_func_with_separators(lambda i, j: [i, tir.IndexMap.AXIS_SEPARATOR, j])
    assert separators == [1] and len(split.final_indices) == 2
    with pytest.raises(ValueError, match="ndim must be given"):
        tir.IndexMap.from_func(lambda *args: args)


@pytest.mark.parametrize(
    ("mapping", "shape"),
    [
        (lambda i, j: [i // 4, j, i % 4], (16, 8)),
        (lambda i, j: [j, i], (3, 5)),
        (lambda i, j: [i * 8 + j], (4, 8)),
        (lambda i, j: [(i * 8 + j) // 16, (i * 8 + j) % 16], (4, 8)),
        (lambda i: [i // 32, i % 32 // 4, i % 4], (128,)),
    ],
)
def test_the_inverse_of_an_index_map_leads_back(mapping, shape):
    index_map = tir.IndexMap.from_func(mapping)
    inverse = index_map.inverse(shape)
    for index in itertools.product(*map(range, shape)):
        assert ints(inverse.map_indices(index_map.map_indices(index))) == list(index)
    assert [v.name for v in inverse.initial_indices] == [f"axis{i}" for i in range(len(index_map.final_indices))]


def test_padding_is_found_by_the_inverse():
    index_map = tir.IndexMap.from_func(lambda i: [i // 4, i % 4])
    with pytest.raises(TVMError, match="lost by padding"):
        index_map.inverse([14])
    inverse, padding = index_map.non_surjective_inverse([14])
    assert ints(inverse.map_indices([3, 1])) == [13]
    assert str(padding) == "((axis0: int32 == 3) && (2 <= axis1: int32))"
    inverse, _ = tir.IndexMap.from_func(lambda i, j: [(i * 8 + j) // 12, (i * 8 + j) % 12]).non_surjective_inverse(
        [4, 8]
    )
    assert ints(inverse.map_indices([2, 5])) == [3, 5]
    with pytest.raises(TVMError, match="index i is not found again"):
        tir.IndexMap.from_func(lambda i: [i // 2]).non_surjective_inverse([4])


@pytest.mark.parametrize(
    ("mapping", "why"),
    [
        (lambda i, j: [i], "iterator j is not used"),
        (lambda i, j: [i // 2, j], "not independent"),
        (lambda i, j: [i + j], "Could not normalize"),
        (lambda i, j: [i * i, j], "Product of two iterators"),
    ],
)
def test_a_map_that_is_not_one_to_one_has_no_inverse(mapping, why):
    with pytest.raises(TVMError, match=why):
        tir.IndexMap.from_func(mapping).inverse([4, 8])


def test_shapes_may_be_symbolic():
    n = tir.SizeVar("n", "int32")
    shape = tir.IndexMap.from_func(lambda i, j: [j, i]).map_shape([n, 8])
    assert repr(shape) == "[8, {n|n>=0}]"


def test_several_digits_of_one_index_share_its_padding():
    split = tir.IndexMap.from_func(lambda i: [(i + 3) // 16, (i + 3) // 4 % 4, (i + 3) % 4])
    back, padding = split.non_surjective_inverse([32])
    for high in range(3):
        for middle in range(4):
            for low in range(4):
                index = high * 16 + middle * 4 + low - 3
                assert back.map_indices([high, middle, low])[0].value == index
                values = dict(zip(back.initial_indices, (high, middle, low), strict=True))
                is_padding = arith.Analyzer().simplify(tir.stmt_functor.substitute(padding, values))
                assert bool(is_padding) == (not 0 <= index < 32)
