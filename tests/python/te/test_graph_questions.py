"""Questions about graphs of operations: what is read, in which order, around which loops, and inside scans."""

import numpy as np
import pytest
import tessera
from tessera import te
from tessera.te import schedule


def test_operations_come_after_what_they_read():
    a = te.placeholder((4, 5), name="A")
    b = te.compute(a.shape, lambda i, j: a[i, j] + 1, name="B")
    c = te.compute(a.shape, lambda i, j: a[i, j] * b[i, j], name="C")
    graph = schedule.CreateReadGraph([c.op])
    assert list(graph[b.op]) == [a] and set(graph[c.op]) == {a, b} and list(graph[a.op]) == []
    assert schedule.PostDFSOrder([c.op], graph) == [a.op, b.op, c.op]


def test_loops_around_stages():
    a = te.placeholder((4, 5), name="A")
    b = te.compute(a.shape, lambda i, j: a[i, j] + 1)
    c = te.compute(a.shape, lambda i, j: b[i, j] + 1)
    d = te.compute(a.shape, lambda i, j: c[i, j] + 1)
    s = te.create_schedule(d.op)
    s[c].compute_at(s[d], d.op.axis[1])
    s[b].compute_at(s[c], c.op.axis[0])
    paths = schedule.CreateAttachPath(s)
    assert paths[d.op] == [] and list(paths[c.op]) == [d.op.axis[1], d.op.axis[0]]
    assert list(paths[b.op]) == [c.op.axis[0], d.op.axis[1], d.op.axis[0]]


def scan(read):
    state = te.placeholder((6, 8), name="state")
    x = te.placeholder((6, 8), name="x")
    init = te.compute((1, 8), lambda _, i: x[0, i])
    middle = te.compute((6, 8), lambda t, i: read(state, t, i), name="middle")
    update = te.compute((6, 8), lambda t, i: middle[t, i] + x[t, i], name="update")
    return te.scan(init, update, state), middle, update


def test_the_body_of_a_scan():
    out, middle, update = scan(lambda s, t, i: s[t - 1, i] * 2)
    assert schedule.ScanGetBody(out.op) == [middle.op, update.op]


def test_axes_along_which_a_scan_reads_the_same_index():
    (axis,) = (out := scan(lambda s, t, i: s[t - 1, i] * 2)[0]).op.spatial_axis_
    assert schedule.ScanFixPointAnalysis(out.op)[axis] == 1
    k = te.reduce_axis((0, 8))
    for read in (lambda s, t, i: te.sum(s[t - 1, k], axis=k), lambda s, t, i: s[t - 1, 7 - i]):
        (axis,) = (out := scan(read)[0]).op.spatial_axis_
        assert schedule.ScanFixPointAnalysis(out.op)[axis] == 0


def test_words_of_hybrid_scripts():
    from tessera.te.hybrid.runtime import HYBRID_GLOBALS

    assert HYBRID_GLOBALS["popcount"](7) == 3 and list(HYBRID_GLOBALS["bind"]("threadIdx.x", 3)) == [0, 1, 2]
    assert HYBRID_GLOBALS["ninf"]("float32") < 0 and HYBRID_GLOBALS["float16"](1).dtype == "float16"


def test_only_what_depends_on_the_state_is_inside_a_scan():
    x = te.compute((6, 8), lambda t, i: (t + i).astype("float32"), name="x")
    twice = te.compute((6, 8), lambda t, i: x[t, i] * 2.0, name="twice")
    state = te.placeholder((6, 8), name="state")
    init = te.compute((1, 8), lambda _, i: twice[0, i], name="init")
    update = te.compute((6, 8), lambda t, i: state[t - 1, i] + twice[t, i], name="update")
    out = te.scan(init, update, state)
    s = te.create_schedule(out.op)
    assert [stage.op.name for stage in s.stages if stage.group is not None] == ["update"]
    result = tessera.nd.array(np.zeros((6, 8), "float32"))
    tessera.build(s, [out], "llvm")(result)
    np.testing.assert_array_equal(result.numpy(), np.cumsum(2.0 * np.add.outer(np.arange(6), np.arange(8)), axis=0))


def test_a_stage_of_a_scan_stays_in_its_group():
    x = te.placeholder((8, 4), name="x")
    state = te.placeholder((8, 4), name="state")
    first = te.compute((1, 4), lambda _, i: x[0, i], name="first")
    twice = te.compute((8, 4), lambda t, i: state[t - 1, i] * 2.0, name="twice")
    update = te.compute((8, 4), lambda t, i: twice[t, i] + x[t, i], name="update")
    scan = te.scan(first, update, state)
    result = te.compute((8, 4), lambda i, j: scan[i, j] + 1.0, name="result")
    s = te.create_schedule(result.op)
    with pytest.raises(tessera.TVMError, match="within the same group"):
        s[twice].compute_at(s[result], result.op.axis[0])
