"""Names that programs mention without tuning or reaching other machines: they import, and work here."""

import numpy as np
import pytest
import tessera
from tessera import autotvm, relay, rpc, te
from tessera.relay.frontend import common


def test_templates_run_with_their_default_configuration():
    @autotvm.template("test/add")
    def add(n):
        a = te.placeholder((n,), name="a")
        b = te.compute((n,), lambda i: a[i] + 1.0, name="b")
        schedule, config = te.create_schedule(b.op), autotvm.get_config()
        config.define_split("tile", b.op.axis[0], num_outputs=2)
        config.define_knob("unroll", [0, 16])
        config["tile"].apply(schedule, b, b.op.axis[0])
        assert config["unroll"].val == 0 and config.is_fallback
        return schedule, [a, b]

    schedule, (a, b) = add(8)
    out = tessera.nd.empty((8,))
    tessera.build(schedule, [a, b], "llvm")(tessera.nd.array(np.zeros(8, "float32")), out)
    np.testing.assert_array_equal(out.numpy(), np.ones(8))


def test_computes_of_templates_are_called_without_a_configuration():
    @autotvm.register_topi_compute("test/scale")
    def scale(cfg, data, factor):
        assert isinstance(cfg, autotvm.FallbackConfigEntity)
        return te.compute(data.shape, lambda i: data[i] * factor)

    assert int(scale(te.placeholder((4,)), 2.0).shape[0]) == 4


def test_published_records_are_none_and_files_at_hand_are_read(tmp_path):
    from tessera.testing.autotvm import get_sample_records, get_sample_task

    with autotvm.tophub.context("llvm") as none:
        assert not none.best_by_targetkey
    log = tmp_path / "records.log"
    autotvm.record.append_records(str(log), [autotvm.record.encode(*pair) for pair in get_sample_records(2)])
    task, target = get_sample_task()
    context = autotvm.tophub.context("llvm", [str(log)])
    assert context.query(target, task.workload).index == 0


def test_a_session_in_this_process(tmp_path):
    x = relay.var("x", shape=(3,))
    library = relay.build(tessera.IRModule.from_expr(relay.nn.relu(x)), "llvm")
    path = tmp_path / "lib.so"
    library.export_library(str(path))
    session = rpc.LocalSession()
    session.upload(str(path))
    session.upload(b"abc", "note")
    assert session.listdir() == "lib.so,note" and session.download("note") == b"abc"
    loaded = session.load_module("lib.so")
    model = tessera.contrib.graph_executor.GraphModule(loaded["default"](session.cpu()))
    model.run(x=np.array([-1, 0, 2], "float32"))
    np.testing.assert_array_equal(model.get_output(0).numpy(), [0, 0, 2])
    with pytest.raises(ValueError, match="outside of the session's folder"):
        session.download("../secret")


def test_contrib_needs_no_import_of_its_own():
    assert tessera.contrib.cudnn.exists() in (True, False)
    assert not hasattr(tessera.contrib, "nonesuch")


def test_what_importers_share():
    attrs = common.StrAttrsDict({"axes": "(1, 2)", "flag": "True", "n": "3"})
    assert attrs.get_int_tuple("axes") == (1, 2) and attrs.get_bool("flag") and attrs.get_int("n") == 3
    with pytest.raises(tessera.error.OpAttributeRequired, match="the attribute m is required"):
        attrs.get_int("m")
    x = relay.var("x", shape=(2, 3))
    assert common.infer_shape(relay.nn.relu(x)) == (2, 3)
    assert common.infer_type(x).checked_type == relay.TensorType((2, 3))
    value = common.infer_value(
        relay.add(relay.var("p", shape=(2,)), relay.const(1.0)), {"p": tessera.nd.array(np.ones(2, "float32"))}
    )
    np.testing.assert_array_equal(value.numpy(), [2, 2])
    clip = common.AttrCvt("clip", transforms={"min": ("a_min", -1.0), "max": ("a_max", 1.0)})
    assert clip([x], {"max": 6.0}).attrs.a_max == 6.0 and clip([x], {}).attrs.a_min == -1.0
    assert common.Renamer("relu")([x], {}).op.name == "nn.relu"
    assert len(common.unbind(x, 1)) == 3
