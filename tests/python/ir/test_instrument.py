"""Instruments."""

import pytest
import tessera as tvm
from tessera.ir.instrument import PassInstrument, PassPrintingInstrument, PassTimingInstrument, pass_instrument


def passes(*names):
    return [tvm.transform.module_pass(lambda mod, ctx: mod, opt_level=0, name=name) for name in names]


def test_an_instrument_is_told_of_contexts_and_passes():
    log = []

    @pass_instrument
    class Log:
        def __init__(self, tag):
            self.tag = tag

        def enter_pass_ctx(self):
            log.append("enter " + self.tag)

        def exit_pass_ctx(self):
            log.append("exit " + self.tag)

        def run_before_pass(self, mod, info):
            log.append("before " + info.name)

        def run_after_pass(self, mod, info):
            log.append("after " + info.name)

    with tvm.transform.PassContext(instruments=[Log("x")]):
        for run in passes("a"):
            run(tvm.IRModule({}))
    assert log == ["enter x", "before a", "after a", "exit x"]


def test_an_instrument_may_skip_a_pass():
    ran = []

    class OnlyB(PassInstrument):
        def should_run(self, mod, info):
            return info.name == "b"

        def run_before_pass(self, mod, info):
            ran.append(info.name)

    with tvm.transform.PassContext(instruments=[OnlyB()]):
        for run in passes("a", "b", "c"):
            run(tvm.IRModule({}))
    assert ran == ["b"]


def test_instruments_can_be_replaced_inside_the_context():
    log = []

    @pass_instrument
    class Log:
        def enter_pass_ctx(self):
            log.append("enter")

        def exit_pass_ctx(self):
            log.append("exit")

    with tvm.transform.PassContext(instruments=[Log()]) as context:
        context.override_instruments([])
        log.append("inside")
    assert log == ["enter", "exit", "inside"]


def test_an_instrument_that_fails_on_entry_stops_the_context():
    @pass_instrument
    class Bad:
        def enter_pass_ctx(self):
            raise RuntimeError("not today")

    with pytest.raises(RuntimeError, match="not today"):
        with tvm.transform.PassContext(instruments=[Bad()]):
            raise AssertionError("entered")
    assert len(tvm.transform.PassContext.current().instruments) == 0


def test_times_of_passes_inside_passes_are_indented():
    timing = PassTimingInstrument()
    with tvm.transform.PassContext(instruments=[timing]):
        tvm.transform.Sequential(passes("a", "b"), name="both")(tvm.IRModule({}))
        text = timing.render()
    lines = text.splitlines()
    assert [line.split(":")[0] for line in lines] == ["both", "\ta", "\tb"]
    assert "us [" in lines[0] and "(100.00%; 100.00%)" in lines[0]


def test_the_printing_instrument_prints_around_the_passes_asked_for(capsys):
    with tvm.transform.PassContext(instruments=[PassPrintingInstrument(["a"], ["b"])]):
        for run in passes("a", "b"):
            run(tvm.IRModule({}))
    out = capsys.readouterr().out
    assert "before: a" in out and "after: b" in out
    assert "after: a" not in out and "before: b" not in out


def test_an_instrument_may_derive_from_another():
    seen = []

    @pass_instrument
    class First:
        def __init__(self, name):
            self.name = name

        def run_before_pass(self, mod, info):
            seen.append("first")

        def run_after_pass(self, mod, info):
            seen.append(self.name)

    @pass_instrument
    class Second(First):
        def run_before_pass(self, mod, info):
            seen.append("second")

    mod = tvm.parser.fromtext('#[version = "0.0.5"]\ndef @main(%x: float32) { exp(%x) }')
    with tvm.transform.PassContext(instruments=[Second("name")]):
        tvm.relay.transform.InferType()(mod)
    assert seen == ["second", "name"]
