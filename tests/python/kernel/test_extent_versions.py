"""Dynamic extents that may be broadcast to each other: a version for each likely case, right in all of them."""

import itertools

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.runtime.vm import VirtualMachine

RULE = "extent_versions"


def dynamic(*shape):
    return tuple(relay.Any() if extent is None else extent for extent in shape)


def compiled(build, *shapes):
    """A machine for a function of inputs of these shapes, None for what is dynamic."""
    inputs = [relay.var(f"x{i}", shape=dynamic(*shape), dtype="float32") for i, shape in enumerate(shapes)]
    mod = tvm.IRModule.from_expr(relay.Function(inputs, build(*inputs)))
    with tvm.transform.PassContext(opt_level=3):
        executable = relay.vm.compile(mod, "llvm")
    return VirtualMachine(executable, tvm.cpu())


def check(build, want, shapes, cases):
    machine = compiled(build, *shapes)
    for extents in cases:
        arrays = [np.random.default_rng(7 + i).standard_normal(shape, "float32") for i, shape in enumerate(extents)]
        got = machine.run(*map(tvm.nd.array, arrays)).numpy()
        expected = want(*arrays)
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5, err_msg=str(extents))


EXTENTS = [(5, 40), (5, 1), (1, 40), (1, 1), (0, 40), (5, 0), (1, 0), (3, 17)]


def pairs(*leading):
    """All pairs of shapes that NumPy broadcasts."""
    out = []
    for a, b in itertools.product(EXTENTS, EXTENTS):
        if all(x == y or 1 in (x, y) for x, y in zip(a, b)):
            out.append(((*leading, *a), (*leading, *b)))
    return out


def test_two_dynamic_axes():
    check(relay.add, np.add, [(7, None, None)] * 2, pairs(7))


def test_only_the_last_axis_is_dynamic():
    check(
        relay.multiply,
        np.multiply,
        [(3, None)] * 2,
        [((3, a), (3, b)) for a, b in ((9, 9), (9, 1), (1, 33), (1, 1), (0, 1))],
    )


def test_only_a_middle_axis_is_dynamic():
    cases = [((2, a, 20), (2, b, 20)) for a, b in ((9, 9), (9, 1), (1, 33), (1, 1), (0, 1), (0, 0))]
    check(relay.subtract, np.subtract, [(2, None, 20)] * 2, cases)


def test_a_fixed_extent_beside_a_dynamic_one():
    check(relay.add, np.add, [(None, 24), (None, None)], [((5, 24), (a, b)) for a in (5, 1) for b in (24, 1)])


def test_a_chain_in_one_kernel():
    build = lambda a, b: relay.nn.relu(relay.multiply(relay.add(a, b), b))
    check(build, lambda a, b: np.maximum((a + b) * b, 0), [(7, None, None)] * 2, pairs(7))


def test_three_tensors():
    build = lambda a, b, c: relay.where(relay.greater(a, b), b, c)
    triples = [((5, 40), (5, 40), (5, 40)), ((1, 40), (5, 1), (5, 40)), ((5, 1), (1, 1), (1, 40)), ((1, 1),) * 3]
    triples += [((0, 40), (0, 40), (1, 1)), ((3, 17), (1, 17), (3, 1))]
    check(build, lambda a, b, c: np.where(a > b, b, c), [(None, None)] * 3, triples)


def test_a_pair_that_is_equal_does_not_tell_the_others():
    """The scale and the offset of a normalisation: where either is a vector of one element, the rows are whole."""
    shapes = [((4, n), (a,), (b,)) for n in (1, 3, 40) for a in {1, n} for b in {1, n}] + [((2, 1), (5,), (5,))]
    check(lambda x, a, b: x * a + b, lambda x, a, b: x * a + b, [(None, None), (None,), (None,)], shapes)


def test_tensors_of_different_ranks():
    cases = [((2, 5, 40), (40,)), ((2, 5, 40), (1,)), ((2, 5, 1), (33,)), ((0, 5, 40), (40,)), ((2, 5, 1), (1,))]
    check(relay.add, np.add, [(None, None, None), (None,)], cases)


def test_a_reduction_after_a_broadcast():
    build = lambda a, b: relay.sum(relay.add(a, b), axis=-1)
    cases = [((5, 40), (5, 40)), ((5, 40), (1, 40)), ((1, 40), (5, 1)), ((5, 1), (1, 17)), ((1, 1), (1, 1))]
    check(build, lambda a, b: (a + b).sum(-1), [(None, None)] * 2, cases)


def test_matmuls_of_batches_that_may_be_broadcast():
    cases = [((4, 6, 8), (4, 8, 5)), ((1, 6, 8), (4, 8, 5)), ((4, 6, 8), (1, 8, 5)), ((1, 1, 8), (1, 8, 1))]
    build = lambda a, b: relay.nn.batch_matmul(a, b, transpose_b=False)
    check(build, np.matmul, [(None, None, 8), (None, 8, None)], cases)


def test_extents_that_do_not_fit_are_rejected():
    machine = compiled(relay.add, (7, None, None), (7, None, None))
    with pytest.raises(Exception, match="arg0.shape"):
        machine.run(tvm.nd.array(np.zeros((7, 5, 40), "float32")), tvm.nd.array(np.zeros((7, 4, 40), "float32")))


@pytest.mark.parametrize("is_equal", [True, False])
def test_equal_names_need_no_versions(is_equal):
    """The test of the rule itself: it is noted beside the kernel where extents are not known to be equal."""
    height, width = tvm.tir.SizeVar("h", "int32"), tvm.tir.SizeVar("w", "int32")
    shapes = [(64, height, width)] * 2 if is_equal else [dynamic(64, None, None)] * 2
    data = [relay.var(name, shape=shape, dtype="float32") for name, shape in zip("ab", shapes)]
    mod = tvm.IRModule.from_expr(relay.Function(data, relay.add(*data)))
    with tvm.transform.PassContext(opt_level=3):
        executable = relay.vm.compile(mod, "llvm")
    assert (RULE in executable.lib.get_source("ll")) != is_equal
