"""Programs of the virtual machine as bytes and files, and files that are not what they say."""

import random

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.runtime import vm as runtime_vm


def floats(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


def dynamic_program():
    """A dynamic batch, a constant, two results, a reshape: most instructions without calls."""
    x = relay.var("x", shape=(relay.Any(), 4))
    w = relay.const(floats(3, 4))
    y = relay.nn.dense(x, w)
    return tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([relay.nn.relu(y), relay.reshape(x, (-1, 2))])))


def check(vm):
    a = floats(5, 4)
    out = vm.run(a)
    np.testing.assert_allclose(out[0].numpy(), np.maximum(a @ floats(3, 4).T, 0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(out[1].numpy(), a.reshape(-1, 2))


@pytest.fixture(scope="module")
def executable():
    return relay.vm.compile(dynamic_program(), "llvm")


def test_code_and_library_are_saved_apart_and_loaded_together(executable, tmp_path):
    code, lib = executable.save()
    assert isinstance(code, (bytes, bytearray))
    lib.export_library(str(tmp_path / "lib.so"))
    (tmp_path / "code.ro").write_bytes(code)
    loaded = runtime_vm.Executable.load_exec(
        bytearray((tmp_path / "code.ro").read_bytes()), tvm.runtime.load_module(str(tmp_path / "lib.so"))
    )
    assert loaded.bytecode == executable.bytecode
    assert loaded.globals == ["main"]
    assert loaded.get_function_params("main") == ["x"]
    check(runtime_vm.VirtualMachine(loaded, tvm.cpu()))


def test_one_library_file_holds_all(executable, tmp_path):
    path = str(tmp_path / "model.so")
    executable.mod.export_library(path)
    check(runtime_vm.VirtualMachine(tvm.runtime.load_module(path), tvm.cpu()))


def test_large_constants_may_lie_in_a_file_of_their_own(tmp_path):
    exe = relay.vm.compile(dynamic_program(), "llvm")
    assert [value.shape for value in exe.get_late_bound_consts(8).values()] == [(3, 4)]
    path = str(tmp_path / "consts")
    exe.move_late_bound_consts(path, byte_limit=8)
    code, lib = exe.save()
    loaded = runtime_vm.Executable.load_exec(code, lib)
    with pytest.raises(ValueError, match="is bound late and was not loaded"):
        runtime_vm.VirtualMachine(loaded, tvm.cpu())
    loaded.load_late_bound_consts(path)
    check(runtime_vm.VirtualMachine(loaded, tvm.cpu()))


def test_a_program_without_its_library_names_the_kernel_it_misses(executable):
    loaded = runtime_vm.Executable.load_exec(executable.save()[0], None)
    with pytest.raises(ValueError, match="calls vm_mod_fused_.* which its library does not have"):
        runtime_vm.VirtualMachine(loaded, tvm.cpu())


def test_text_and_statistics_say_what_is_there(executable):
    text = executable.bytecode
    for part in ("VM Function[0]: main(x)", "shape_func", "alloc_tensor_reg", "invoke_packed", "Shape Program[0]"):
        assert part in text
    assert "(3, 4)" in executable.stats and "main" in executable.stats
    assert executable.constants == "VM Const[0]: NDArray(3, 4) float32\n"


def try_to_run(code, lib):
    """Bytes from outside: an error, or a program that runs or fails; never a crash."""
    try:
        vm = runtime_vm.VirtualMachine(runtime_vm.Executable.load_exec(code, lib), tvm.cpu())
        vm.run(floats(5, 4))
    except (ValueError, TypeError, IndexError, KeyError, tvm.TVMError):
        return False
    return True


def test_a_program_cut_short_is_an_error(executable):
    code, lib = executable.save()
    for length in range(0, len(code), 1 + len(code) // 400):
        with pytest.raises(ValueError, match="corrupt VM executable"):
            runtime_vm.Executable.load_exec(code[:length], lib)
    with pytest.raises(ValueError, match="followed by something else"):
        runtime_vm.Executable.load_exec(bytes(code) + b"x", lib)


def test_flipped_bits_are_errors_or_other_programs_never_crashes(executable):
    code, lib = executable.save()
    for bit in range(8 * len(code)):
        changed = bytearray(code)
        changed[bit // 8] ^= 1 << (bit % 8)
        try_to_run(changed, lib)


def test_random_changes_are_errors_or_other_programs_never_crashes(executable):
    code, lib = executable.save()
    rng = random.Random(5)
    for _ in range(600):
        changed = bytearray(code)
        for _ in range(rng.randint(1, 6)):
            changed[rng.randrange(len(changed))] = rng.choice([0, 1, 2, 3, 5, 127, 128, 255, rng.randrange(256)])
        try_to_run(changed, lib)


def test_a_forged_length_asks_for_no_memory(executable):
    code, lib = executable.save()
    head = bytes(code[:8])
    for forged in (2**63, 2**40, 2**64 - 1):
        with pytest.raises(ValueError, match="announces"):
            runtime_vm.Executable.load_exec(head + forged.to_bytes(8, "little") + bytes(64), lib)
