"""Passes made in Python, and the context they run in."""

import threading

import pytest
import tessera as tvm
from tessera import te, tir


def module():
    i = te.var("i")
    A = tir.decl_buffer((8,), "float32", name="A")
    body = tir.For(i, 0, 8, tir.ForKind.SERIAL, tir.BufferStore(A, tir.const(1.0, "float32"), [i]))
    func = tir.PrimFunc([A.data], body).with_attr("global_symbol", "main")
    return tvm.IRModule({"main": func})


def recorder(log, name, opt_level=0, required=None):
    @tvm.transform.module_pass(opt_level=opt_level, name=name, required=required)
    def run(mod, ctx):
        log.append(name)
        return mod

    return run


def test_a_module_pass_from_a_function_gets_module_and_context():
    seen = []

    @tvm.transform.module_pass(opt_level=1)
    def look(mod, ctx):
        seen.append((type(mod), type(ctx)))
        return mod

    mod = module()
    assert look(mod).same_as(mod)
    assert seen == [(tvm.IRModule, tvm.transform.PassContext)]
    assert (look.info.name, look.info.opt_level) == ("look", 1)


def test_a_module_pass_from_a_class_keeps_its_own_attributes():
    @tvm.transform.module_pass(opt_level=2)
    class Count:
        """counts"""

        def __init__(self, start):
            self.value = start

        def transform_module(self, mod, ctx):
            self.value += 1
            return mod

    count = Count(10)
    count(module())
    assert count.value == 11
    assert count.info.name == "Count"


def test_a_function_pass_changes_each_function_and_leaves_the_given_module_alone():
    @tir.transform.prim_func_pass(opt_level=0)
    def mark(func, mod, ctx):
        return func.with_attr("mark", 1)

    mod = module()
    assert int(mark(mod)["main"].attrs["mark"]) == 1
    assert "mark" not in mod["main"].attrs


def test_a_pass_without_a_level_is_rejected():
    with pytest.raises(ValueError, match="opt_level"):
        tvm.transform.module_pass(lambda mod, ctx: mod)


def test_a_pass_that_returns_nothing_is_an_error():
    lost = tvm.transform.module_pass(lambda mod, ctx: None, opt_level=0, name="lost")
    with pytest.raises(TypeError, match="returned None"):
        lost(module())


def test_sequential_obeys_level_required_and_disabled():
    log = []
    passes = [recorder(log, "a"), recorder(log, "b", 3), recorder(log, "c", 3), recorder(log, "d")]
    with tvm.transform.PassContext(opt_level=2, required_pass=["c"], disabled_pass=["d"]):
        tvm.transform.Sequential(passes)(module())
    assert log == ["a", "c"]


def test_an_error_inside_a_pass_keeps_its_type():
    @tvm.transform.module_pass(opt_level=0)
    def fail(mod, ctx):
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        fail(module())


def test_contexts_nest_and_belong_to_their_thread():
    levels = []
    with tvm.transform.PassContext(opt_level=3):
        with tvm.transform.PassContext(opt_level=1):
            assert tvm.transform.PassContext.current().opt_level == 1
        assert tvm.transform.PassContext.current().opt_level == 3
        thread = threading.Thread(target=lambda: levels.append(tvm.transform.PassContext.current().opt_level))
        thread.start()
        thread.join()
    assert levels == [2]
    assert tvm.transform.PassContext.current().opt_level == 2


def test_an_unknown_option_names_those_there_are():
    with pytest.raises(AttributeError, match=r"Invalid config option 'tir\.nope'.*tir\.UnrollLoop"):
        tvm.transform.PassContext(config={"tir.nope": 1})


def test_an_option_of_the_wrong_type_is_rejected():
    with pytest.raises(AttributeError, match=r"tir\.noalias to have type IntImm"):
        tvm.transform.PassContext(config={"tir.noalias": "yes"})


def test_a_structured_option_is_given_as_a_dictionary():
    context = tvm.transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": 16}})
    options = context.config["tir.UnrollLoop"]
    assert (options.auto_max_step, options.auto_max_depth, options.explicit_unroll) == (16, 8, True)
    with pytest.raises(AttributeError, match="auto_max_stop.*its options are auto_max_step"):
        tvm.transform.PassContext(config={"tir.UnrollLoop": {"auto_max_stop": 16}})


def test_config_keys_are_listed_with_their_types():
    configs = tvm.transform.PassContext.list_configs()
    assert configs["tir.noalias"] == {"type": "IntImm"}
    assert configs["tir.UnrollLoop"] == {"type": "tir.transform.UnrollLoopConfig"}


def test_passes_and_contexts_tell_what_they_are():
    @tvm.transform.module_pass(opt_level=1, required=["InferType"])
    def mine(mod, ctx):
        return mod

    assert str(mine.info) == (
        "The meta data of the pass - pass name: mine, opt_level: 1, required passes: [InferType, ]"
    )
    assert str(mine) == "Run Module pass: mine at the optimization level 1"
    assert str(tvm.tir.transform.Simplify()) == "Run Function pass: tir.Simplify at the optimization level 0"
    assert str(tvm.transform.Sequential([mine, mine], name="both")) == (
        "Run Sequential pass: both at the optimization level 0. The passes will be executed are: [mine mine ]"
    )
    context = tvm.transform.PassContext(opt_level=3, disabled_pass=["FoldConstant"])
    assert "\topt_level: 3\n" in str(context) and '\tdisabled passes: ["FoldConstant"]\n' in str(context)


def test_passes_are_named_by_a_list_or_a_set():
    assert list(tvm.transform.PassContext(required_pass={"FastMath"}).required_pass) == ["FastMath"]
    assert list(tvm.transform.PassContext(disabled_pass=("FastMath",)).disabled_pass) == ["FastMath"]
    with pytest.raises(TypeError, match="disabled_pass is expected to be a list, tuple, set or None, got str"):
        tvm.transform.PassContext(disabled_pass="FastMath")
