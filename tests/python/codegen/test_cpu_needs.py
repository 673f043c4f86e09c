"""Compiled code says which instructions it may contain, and is rejected by CPUs that lack one of them."""

import os
import re

import pytest
import tessera
from tessera import te, tir
from test_llvm import vector_add

needs_of = tessera.get_global_func("runtime.cpu_needs")
checked = tessera.get_global_func("runtime.checked_cpu_features")
llvm_features = tessera.get_global_func("codegen.llvm_features")
cpu_has = tessera.get_global_func("runtime.cpu_has")

on_x86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="the CPUs here are x86-64")

#: What LLVM calls features and is nothing that a loader could check, as patterns by architecture.
NOT_CHECKED = {
    "x86_64": [
        r"64bit|cmov|cx8|fxsr|mmx|nopl|sse|sse2|x87",  # every x86-64 CPU
        r"invpcid|pconfig|sgx|wbnoinvd|xsaves",  # privileged
        r"evex512|ermsb|fsrm|\d\dbit-mode|soft-float|tagged-globals|sse-unaligned-mem",  # no instructions of their own
        r"(fast|slow|false-deps|prefer|no-bypass|use|faster|tuning)-.*|lea-.*|.*fusion|branch-hint|vzeroupper",
        r"allow-light-256-bit|pad-short-functions|idiv.*|sbb-dep-breaking|inline-asm-use-gpr32",  # tuning
        r"harden-.*|lvi-.*|retpoline.*|seses",  # ways to write the same
    ],
    "aarch64": [
        r"fp-armv8|v\d(\.\d)?[ar]|all|crypto|fmv",  # every CPU with Linux; names of sets
        r"CONTEXTIDREL2|am|amvs|apple-a7-sysreg|brbe|ccidx|chk|clrbhb|cpa|d128|ecv|el2vmsa|el3|ete|fgt|gcs|hcx|ite|lor",
        r"ls64|mec|mpam|nmi|nv|pan|pan-rwv|pauth-lr|perfmon|predres|ras|rasv2|rme|sel2|spe|spe-eef|specres2|specrestrict",
        r"the|tlb-rmi|tlbiw|tme|tpidr.*|tracev8.4|trbe|uaops|vh|xs|fpac",  # of the system, or accelerators
        r"(a\d\d|ampere|apple|cortex|exynos|neoverse|thunderx|oryon).*|carmel|falkor|kryo|saphira|tsv110",  # tuning
        r"(reserve|call-saved|fuse|disable|harden|use|fix|no|slow|enable|outline|store|stp|ldp|alu|arith|cmp)-.*|zc[mz].*",
        r"addr-lsl-slow-14|aggressive-fma|alternate-.*|ascend-.*|balance-fp-ops|force-32bit-.*|predictable-.*|prfm-.*",
        r"strict-align|tagged-globals",
    ],
    "arm": [
        r"armv.*|v4t|v5t|v5te|v6[kmt]2?|v7clrex|v[89]\..*|v9a|v8m.*|[amr]class|(a|m|r)\d+.*|32bit|crypto",  # sets, versions
        r"fp-armv8.*sp|fp16|fp64|fpregs.*|vfp[234].*",  # parts of what is checked
        r"8msecext|cde.*|lob|mve.*|pacbti|noarm|iwmmxt2?|xscale",  # of microcontrollers, and of CPUs before version 6
        r"clrbhb|db|dfb|mp|perfmon|ras|trustzone|virtualization|read-tp-.*",  # of the system
        r"cortex-.*|exynos|krait|kryo|swift|neoverse.*|thumb.*|soft-float|atomics-32|big-endian.*|execute-only|long-calls",
        r"(avoid|cheap|disable|dont|expand|fix|fuse|harden|loop|muxed|neon|no|prefer|prof|reserve|ret|slow|splat|use|vldn)-.*",
        r"slowfp.*|vmlx.*|wide-stride-vfp|zcz|neonfp|nonpipelined-vfp|fpao|nacl-trap|strict-align|aapcs-frame-chain",
    ],
    "riscv64": [
        r"32bit|64bit|i|e|b|h|experimental|(experimental-)?rv[abim]\d.*|zk|zkn|zks|zkr|zce|zv?k(n|nc|ng|s|sc|sg)|z?vkt|zkt",
        r"zvk(n|nc|ng|s|sc|sg|t)|zmmul|zaamo|zalrsc|zic(sr|ntr)|zifencei|zihpm",  # sets, and parts of what is checked
        r"experimental-(sm|ss|su).*|experimental-zi.*|experimental-zalasr|s[hmsv][a-z0-9]+",  # of the system
        r"za(64|128)rs|zama16b|zic64b|zicbom|zicbop|zicc.*|zihint.*|zimop|zcmop|ztso|xsfcease|xsifive.*",  # hints, caches
        r"auipc.*|conditional-.*|.*-fusion|dlen-.*|forced-.*|no-.*|optimized-.*|predictable-.*|prefer-.*|relax|reserve-.*",
        r"save-restore|short-.*|sifive7|tagged-globals|unaligned-.*|use-.*|ventana-veyron",  # tuning
    ],
}  # fmt: skip


@pytest.mark.parametrize("architecture", NOT_CHECKED)
def test_every_feature_that_llvm_knows_is_checked_or_known_to_need_no_check(architecture):
    triple = {"arm": "armv7l-linux-gnueabihf"}.get(architecture, f"{architecture}-linux-gnu")
    known, mine = {str(name) for name in llvm_features(triple)}, {str(name) for name in checked(architecture)}
    assert mine <= known
    left = [name for name in known - mine if not any(re.fullmatch(x, name) for x in NOT_CHECKED[architecture])]
    assert not left


@on_x86
def test_this_cpu_is_seen_as_llvm_sees_it():
    said = str(tessera.get_global_func("target.llvm_host_features")()).split(",")
    seen = {x[1:]: x[0] == "+" for x in said}
    mine = [str(name) for name in checked("x86_64") if str(name) in seen]
    assert len(mine) > 90
    assert {name: bool(cpu_has(name)) for name in mine} == {name: seen[name] for name in mine}
    assert not cpu_has("a-feature-of-tomorrow")


def exported(folder, target):
    path = str(folder / "add.so")
    tessera.build(*vector_add(), target=target, name="add").export_library(path)
    return path


@on_x86
@pytest.mark.parametrize(
    ("cpu", "feature"), [("znver5", "avx512vp2intersect"), ("graniterapids", "amx-fp16"), ("sierraforest", "avxifma")]
)
def test_a_library_for_a_cpu_with_one_instruction_more_is_rejected(tmp_path, cpu, feature):
    if cpu_has(feature):
        pytest.skip(f"this CPU has {feature}")
    path = exported(tmp_path, f"llvm -mcpu={cpu}")
    with pytest.raises(tessera.TVMError, match=f"compiled for {cpu} and needs instructions .*: .*{feature}"):
        tessera.runtime.load_module(path)


@on_x86
def test_code_that_this_cpu_cannot_run_is_rejected_in_memory_too():
    if cpu_has("amx-fp16"):
        pytest.skip("this CPU has amx-fp16")
    built = tessera.build(*vector_add(), target="llvm -mcpu=graniterapids", name="add")
    with pytest.raises(tessera.TVMError, match="the module was compiled for graniterapids and needs .*amx-fp16"):
        built["add"]


@on_x86
def test_features_of_options_count_and_those_of_the_system_do_not(tmp_path):
    (text,) = needs_of(exported(tmp_path, "llvm -mcpu=skylake-avx512 -mattr=+avx512bf16,-adx"))
    features = str(text).split(" for ")[0].split(",")
    assert {"avx512bf16", "avx512f", "movbe", "cx16"} <= set(features)
    assert not {"adx", "pku", "clwb", "xsavec", "invpcid", "prefer-256-bit", "sse2"} & set(features)


@on_x86
def test_an_instruction_that_a_program_names_is_needed(tmp_path):
    out = te.compute((4,), lambda i: tir.call_llvm_pure_intrin("int32", "llvm.x86.rdpid", tir.const(0, "uint32")))
    path = str(tmp_path / "named.so")
    tessera.build(te.create_schedule(out.op), [out], target="llvm -mcpu=znver2", name="named").export_library(path)
    assert "rdpid" in str(needs_of(path)[0]) and "clzero" in str(needs_of(path)[0])
    assert "rdpid" not in str(needs_of(exported(tmp_path, "llvm -mcpu=znver2"))[0])


@on_x86
def test_a_library_of_code_for_several_cpus_needs_what_each_of_them_needs(tmp_path):
    main = tessera.build(*vector_add(), target="llvm -mcpu=x86-64-v2", name="add")
    main.import_module(tessera.build(*vector_add(), target="llvm -mcpu=x86-64", name="plain"))
    main.import_module(tessera.build(*vector_add(), target="llvm -mcpu=graniterapids", name="helper"))
    path = str(tmp_path / "both.so")
    main.export_library(path)
    assert [str(text).split(" for ")[1] for text in needs_of(path)] == ["x86-64-v2", "graniterapids"]
    if not cpu_has("amx-fp16"):
        with pytest.raises(tessera.TVMError, match="compiled for graniterapids"):
            tessera.runtime.load_module(path)


@on_x86
def test_native_is_the_cpu_of_this_machine(tmp_path):
    def needs(target):
        return [str(x) for x in needs_of(exported(tmp_path, target))]

    assert needs("llvm -mcpu=native") == needs("llvm")
    with pytest.raises(ValueError, match='mcpu "native" is this machine\'s CPU, which is not of aarch64'):
        exported(tmp_path, "llvm -mtriple=aarch64-linux-gnu -mcpu=native")
