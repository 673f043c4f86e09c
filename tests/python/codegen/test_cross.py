"""Code for other machines: what the target's options mean, how it is linked, and who rejects to run it."""

from __future__ import annotations

import os
import re
import subprocess

import numpy as np
import pytest
import tessera
from tessera import te
from tessera.contrib import cc
from test_agreement import MACHINES, ROOT, Machine, cross_runner, run


def vector_add(n=64, lanes=8, dtype="float32"):
    a = te.placeholder((n,), dtype, name="A")
    b = te.placeholder((n,), dtype, name="B")
    c = te.compute((n,), lambda i: a[i] * b[i] + a[i], name="C")
    s = te.create_schedule(c.op)
    _, inner = s[c].split(c.op.axis[0], lanes)
    s[c].vectorize(inner)
    return s, [a, b, c]


def assembly(target, **kwargs):
    return tessera.build(*vector_add(**kwargs), target=target).get_source("asm")


def test_options_choose_the_instructions():
    arm = "llvm -mtriple=armv7l-linux-gnueabihf"
    assert re.search(r"vm(ul|la)\.f32\s+q", assembly(arm + " -mattr=+neon"))
    scalar = assembly(arm + " -mattr=-neon")
    assert re.search(r"vm(ul|la)\.f32\s+s", scalar) and not re.search(r"\.f32\s+q", scalar)
    assert re.search(r"fm(ul|la)\s+v\d+\.4s", assembly("llvm -mtriple=aarch64-linux-gnu"))
    # where the length of SVE's vectors is not known they are not used
    assert not re.search(r"\bz\d", assembly("llvm -mtriple=aarch64-linux-gnu -mattr=+sve"))
    riscv = "llvm -mtriple=riscv64-linux-gnu"
    assert "vsetivli" in assembly(riscv + " -mattr=+v") and "vsetivli" not in assembly(riscv)
    assert "fmadd.s" in assembly(riscv)  # floats in registers of their own
    assert "fmadd.s" not in assembly(riscv + " -mcpu=generic-rv64 -mattr=+m,+a -mabi=lp64")


def test_floats_travel_as_the_abi_says():
    a, f = te.placeholder((4,), name="A"), te.var("f", "float32")
    c = te.compute((4,), lambda i: tessera.tir.call_pure_extern("float32", "floorf", a[i]) + f, name="C")
    program = (te.create_schedule(c.op), [a, f, c])
    hard = tessera.build(*program, target="llvm -mtriple=armv7l-linux-gnueabi -mfloat-abi=hard").get_source("asm")
    soft = tessera.build(*program, target="llvm -mtriple=armv7l-linux-gnueabihf -mfloat-abi=soft").get_source("asm")
    assert ".eabi_attribute\t28, 1" in hard and ".eabi_attribute\t28, 1" not in soft  # Tag_ABI_VFP_args


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("llvm -mtriple=aarch64-linux-gnu -mattr=+avx2", r'mattr "\+avx2" names no feature of aarch64'),
        ("llvm -mtriple=riscv64-linux-gnu -mcpu=cortex-a72", 'mcpu "cortex-a72" is not a CPU of riscv64'),
        (
            "llvm -mtriple=armv7l-linux-gnueabihf -mfloat-abi=softfp",
            'mfloat-abi .* is "softfp"; it may be hard or soft',
        ),
        ("llvm -mtriple=vax-linux-gnu", "no back end for .* is built in"),
        ("llvm -mtriple=aarch64-linux-gnu -vector-width=256", "vector-width is the length of vectors of SVE, and gen"),
        ("llvm -mcpu=haswell -vector-width=256", "haswell of x86_64.* has none; -mattr=.sve says that it does"),
        ("llvm -mtriple=aarch64-linux-gnu -mattr=+sve -vector-width=384", "is 384; it may be 128, 256, 512, 1024 or"),
    ],
)
def test_a_target_that_does_not_exist_is_rejected(target, message):
    with pytest.raises(ValueError, match=message):
        tessera.build(*vector_add(), target=target)


def test_the_compiler_of_a_triple():
    if not MACHINES["aarch64"].missing_tools():
        assert cc.find_cross_compiler("aarch64-unknown-linux-gnu") == "aarch64-linux-gnu-g++"
    if not MACHINES["armv7-neon"].missing_tools():
        assert cc.find_cross_compiler("armv7l-linux-gnueabihf") == "arm-linux-gnueabihf-g++"
    assert cc.find_cross_compiler(f"{os.uname().machine}-linux-gnu") is None
    with pytest.raises(RuntimeError, match="the package g\\+\\+-m68k-linux-gnu"):
        cc.find_cross_compiler("m68k-linux-gnu")


@pytest.mark.parametrize("name", ["aarch64", "armv7-neon", "riscv64"])
def test_the_runtime_itself_works_on(name):
    machine = MACHINES[name]
    machine.skip_where_tools_are_missing()
    program = cross_runner(machine.triple).parent / "c_c_api"
    done = subprocess.run(
        [*machine.runner()[:-1], str(program)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_library_of_another_machine_is_rejected(tmp_path):
    MACHINES["aarch64"].skip_where_tools_are_missing()
    path = str(tmp_path / "add.so")
    tessera.build(*vector_add(), target="llvm -mtriple=aarch64-linux-gnu", name="add").export_library(path)
    with pytest.raises(Exception, match="it is for 64-bit ARM, and this is"):
        tessera.runtime.load_module(path)


@pytest.mark.parametrize(
    ("name", "cpu", "target", "message"),
    [
        (
            "aarch64", "cortex-a53", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76",
            "compiled for cortex-a76 and needs .* lse, fullfp16, rdm, rcpc, dotprod. .* -mcpu=generic -mattr=.neon,",
        ),
        (
            "riscv64", "rv64,v=false", "llvm -mtriple=riscv64-linux-gnu -mattr=+v",
            "needs instructions .*: v. .*-mcpu=generic-rv64 -mattr=.a,.c,.d,.f,.m,-v",
        ),
        (
            "armv7-neon", "cortex-a8", "llvm -mtriple=armv7l-linux-gnueabihf -mcpu=cortex-a7",
            "compiled for cortex-a7 and needs .*: vfp4, vfp4d16, hwdiv-arm, hwdiv. .* -mattr=.neon,.vfp3d16,-vfp4",
        ),
    ],
)  # fmt: skip
def test_a_lesser_cpu_is_told_what_it_lacks(tmp_path, name, cpu, target, message):
    machine = Machine(target, MACHINES[name].triple, MACHINES[name].qemu, cpu)
    machine.skip_where_tools_are_missing()
    path = tmp_path / "add.so"
    tessera.build(*vector_add(), target=target, name="add").export_library(str(path))
    with pytest.raises(AssertionError, match=message):
        run(machine, path, [], tmp_path)


@pytest.mark.parametrize(
    ("cpu", "message"),
    [
        ("max,sve512=on", "compiled for neoverse-512tvb with vectors of SVE of 256 bits, .* have 512. .*-vector-width=512"),
        ("max,sve128=on", "compiled for neoverse-512tvb with vectors of SVE of 256 bits, .* have 128. .*-vector-width=128"),
        ("cortex-a72", "needs instructions .*sve"),
        ("max,sve256=on", ""),
    ],
)  # fmt: skip
def test_code_for_one_length_of_vectors_is_rejected_where_they_have_another(tmp_path, cpu, message):
    target = "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-512tvb -mattr=-ccdp,-rand,-lse2"
    machine = Machine(target, MACHINES["aarch64"].triple, "qemu-aarch64", cpu)
    machine.skip_where_tools_are_missing()
    path = tmp_path / "add.so"
    tessera.build(*vector_add(), target=target, name="add").export_library(str(path))
    if not message:
        run(machine, path, [], tmp_path)
        return
    with pytest.raises(AssertionError, match=message):
        run(machine, path, [], tmp_path)


@pytest.mark.parametrize("bits", [256, 512, 2048])
def test_vectors_of_sve_are_as_long_as_the_target_says(bits):
    target = f"llvm -mtriple=aarch64-linux-gnu -mattr=+sve -vector-width={bits}"
    text = assembly(target, n=bits, lanes=bits // 32)
    assert re.search(r"fm(la|ad)\s+z\d+\.s", text) and not re.search(r"\.4s|\bq\d", text)


def test_a_lesser_x86_is_told_its_level(tmp_path):
    machine = Machine("llvm -mcpu=haswell", "", "qemu-x86_64", "Nehalem")
    if os.uname().machine != "x86_64" or machine.missing_tools():
        pytest.skip("needs an x86-64 machine and qemu-x86_64")
    path = tmp_path / "add.so"
    tessera.build(*vector_add(), target=machine.target, name="add").export_library(str(path))
    with pytest.raises(AssertionError, match='compiled for haswell .*: avx, avx2, fma.* target "llvm -mcpu=x86-64-v2"'):
        run(machine, path, [], tmp_path)


# ---- docs/cross_compilation.md ----


def blocks(language):
    text = (ROOT / "docs" / "cross_compilation.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


def test_the_commands_of_the_page_run(tmp_path, monkeypatch):
    MACHINES["aarch64"].skip_where_tools_are_missing()
    cross_runner("aarch64-linux-gnu")  # `make runtime`, the first of its commands
    compile_it, kernels = blocks("python")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build-runtime").symlink_to(ROOT / "build-runtime")
    names: dict = {}
    exec(compile_it, names)
    build, run_it = blocks("sh")
    assert build == "make runtime TARGET=aarch64-linux-gnu\n"
    done = subprocess.run(["bash", "-ec", run_it], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == blocks("text")[0], done.stderr
    exec(kernels, names)
    assert ".entry" in names["kernels"].get_source("ptx")
    for target in re.findall(r"`(llvm[^`]*)`", (ROOT / "docs" / "cross_compilation.md").read_text()):
        assert tessera.build(*vector_add(), target=target).get_source("asm")
    assert np.frombuffer((tmp_path / "output").read_bytes(), "float32")[8] == 11
