"""Targets, passes and their options as texts of the command line."""

import pytest
import tessera
from tessera.driver import _ffi_api as driver


def test_a_target_is_named_with_its_options():
    target = driver.target_from_text("llvm -mcpu=skylake -mattr=+avx2,+fma", {})
    assert target.kind.name == "llvm" and target.mcpu == "skylake" and list(target.mattr) == ["+avx2", "+fma"]
    assert driver.target_from_text('{"kind": "llvm", "mcpu": "znver3"}', {}).mcpu == "znver3"


def test_a_target_is_read_from_a_file(tmp_path):
    (tmp_path / "target.json").write_text('{"kind": "c"}\n')
    assert driver.target_from_text(str(tmp_path / "target.json"), {}).kind.name == "c"


def test_a_second_target_is_the_host():
    both = driver.target_from_text("cuda -arch=sm_80, llvm -mcpu=skylake", {})
    assert both.kind.name == "cuda" and both.host.mcpu == "skylake"
    assert driver.target_from_text("cuda,llvm", {}).host.kind.name == "llvm"


def test_options_of_a_kind_are_added():
    assert driver.target_from_text("llvm", {"llvm": {"mcpu": "znver3"}}).mcpu == "znver3"
    assert driver.target_from_text("llvm -mcpu=skylake", {"llvm": {"mcpu": "znver3"}}).mcpu == "znver3"
    assert driver.target_from_text('{"kind": "llvm"}', {"llvm": {"mcpu": "znver3"}}).mcpu == "znver3"
    options = {"llvm": {"mattr": "+avx2,+fma"}, "cuda": {"arch": "sm_80"}}
    both = driver.target_from_text("cuda, llvm -mcpu=skylake", options)
    assert both.arch == "sm_80" and both.host.mcpu == "skylake" and list(both.host.mattr) == ["+avx2", "+fma"]


@pytest.mark.parametrize(
    "text, options, message",
    [
        ("", {}, "no target is named"),
        ("llvm, c, cuda", {}, "names 3"),
        ("llvm,, c", {}, "empty entry"),
        ("llvm, llvm -mcpu=skylake", {}, "llvm is named twice"),
        ("ethos-u -accelerator_config=x, c", {}, '"ethos-u" is an external code generator'),
        ("llvm -no-such=1", {}, "no-such"),
        ("no-such-kind", {}, "no-such-kind"),
        ("llvm", {"cuda": {"arch": "sm_80"}}, r"--target-cuda-arch\), but the target is \"llvm\""),
        ("llvm", {"llvm": {"colour": "red"}}, "colour"),
    ],
)
def test_what_is_no_target_is_told(text, options, message):
    with pytest.raises((ValueError, NotImplementedError), match=message):
        driver.target_from_text(text, options)


def test_passes_are_named_between_commas():
    assert list(driver.parse_pass_list("FoldConstant, AlterOpLayout")) == ["FoldConstant", "AlterOpLayout"]
    assert not driver.parse_pass_list("")
    with pytest.raises(ValueError, match=r'no pass "MyPass"; the passes are .*FoldConstant'):
        driver.parse_pass_list("FoldConstant,MyPass")


def test_options_of_passes_have_the_type_of_their_key():
    read = driver.parse_pass_configs(["tir.disable_vectorize=TRUE", "relay.FuseOps.max_depth = 10"])
    with tessera.transform.PassContext(config=dict(read.items())) as context:
        assert int(context.config["relay.FuseOps.max_depth"]) == 10 and bool(context.config["tir.disable_vectorize"])
    ((phase, unroll),) = driver.parse_pass_configs(["tir.add_lower_pass=1,tir.transform.UnrollLoop"])[
        "tir.add_lower_pass"
    ]
    assert int(phase) == 1 and unroll.info.name == "tir.UnrollLoop"


@pytest.mark.parametrize(
    "text, message",
    [
        ("tir.disable_vectorize", "has no value"),
        ("tir.disable_vectorize=maybe", 'a number, true or false, not "maybe"'),
        ("tir.add_lower_pass=1", "phases and passes in turn"),
        ("tir.add_lower_pass=1,NoSuchPass", "no pass tir.transform.NoSuchPass"),
        ("tir.UnrollLoop=1", "cannot be given as text"),
        ("x.y=1", 'no option "x.y" of passes; the options are .*tir.disable_vectorize'),
    ],
)
def test_what_is_no_option_of_passes_is_told(text, message):
    with pytest.raises(ValueError, match=message):
        driver.parse_pass_configs([text])
