"""AnnotatedRegionSet: what lies between operators that begin and end regions."""

import pytest
import tessera
from tessera import relay

BEGIN, END = (tessera.ir.Op.get("annotation.compiler_" + which) for which in ("begin", "end"))


def begin(value):
    return relay.annotation.compiler_begin(value, "somedev")


def end(value):
    return relay.annotation.compiler_end(value, "somedev")


def same(found, wanted):
    return len(found) == len(wanted) and all(any(a.same_as(b) for b in found) for a in wanted)


def test_what_lies_between_begins_and_ends_is_a_region():
    x, y = begin(relay.var("x", shape=(4,))), begin(relay.var("y", shape=(4,)))
    total = relay.add(x, y)
    first, second = end(relay.nn.relu(total)), end(total)  # two ends of one region
    again = begin(first)
    root = relay.Tuple([end(relay.exp(again)), second])
    regions = relay.analysis.AnnotatedRegionSet(root, BEGIN, END)
    assert len(regions) == 2
    region = regions.get_region(total)
    assert region.target == "somedev" and region.same_as(regions.get_region(x))
    assert same(region.args, [x, y]) and same(region.rets, [first, second])
    assert same(region.nodes, [x, y, total, first.args[0], first, second])
    assert same(regions.get_region(again).nodes, [again, root[0].args[0], root[0]])
    assert regions.get_region(root) is None


def test_a_region_that_begins_nowhere_is_said_so():
    inner = end(relay.nn.relu(begin(relay.var("x", shape=(4,)))))
    with pytest.raises(ValueError, match=r"there is no annotation\.compiler_begin"):
        relay.analysis.AnnotatedRegionSet(end(relay.exp(inner)), BEGIN, END)
