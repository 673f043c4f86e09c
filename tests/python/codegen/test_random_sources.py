"""Random tensor programs through the source targets give NumPy's answers."""

import random
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera.contrib import utils

sys.path.insert(0, str(Path(__file__).parents[1] / "te"))
sys.path.insert(0, str(Path(__file__).parents[1] / "driver"))
from random_programs import Program
from test_compiled_random_programs import REJECTED, mark_loops

# What cannot run on a device whatever the code generator does.
NOT_FOR_A_DEVICE = ("Memory verification failed", "in global memory inside a kernel", "has no constant size")


def answers(function, program, device):
    given = [tessera.nd.array(array, device) for array in program.env["given"]]
    results = [tessera.nd.array(np.full(want.shape, -77, "int32"), device) for want in program.env["want"]]
    function(*given, *results)
    return [result.numpy() for result in results]


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
@pytest.mark.parametrize("first", [0, 1000])
def test_programs_in_c_give_numpys_answers(first):
    """All in one library, so that gcc starts once."""
    mod = tessera.IRModule({})
    programs = {}
    for seed in range(first, first + 30):
        program = Program(seed)
        try:
            mark_loops(program.env["s"], random.Random(seed))
            mod.update(tessera.lower(program.env["s"], program.env["args"], name=f"program_{seed}"))
            programs[seed] = program
        except tessera.TVMError as error:
            if not any(text in str(error) for text in REJECTED):
                raise
    assert len(programs) > 20
    folder = utils.tempdir()
    tessera.build(mod, target="c").export_library(folder.relpath("programs.so"), options=["-O1"])
    library = tessera.runtime.load_module(folder.relpath("programs.so"))
    for seed, program in programs.items():
        got = answers(library[f"program_{seed}"], program, tessera.cpu())
        for want, result in zip(program.env["want"], got):
            np.testing.assert_array_equal(result, want, err_msg=f"seed {seed}\n{program.text}")


@pytest.mark.skipif(not tessera.opencl(0).exist, reason="no OpenCL device")
def test_programs_on_opencl_give_numpys_answers():
    ran = 0
    for seed in range(60):
        program = Program(seed, threads=True)
        try:
            mod = tessera.build(program.env["s"], program.env["args"], "opencl", name="f")
        except (tessera.TVMError, ValueError) as error:
            if not any(text in str(error) for text in NOT_FOR_A_DEVICE):
                raise AssertionError(f"seed {seed}: {error}\n{program.text}") from error
            continue
        if "__local" in mod.imported_modules[0].get_source():
            continue  # stages that all threads compute in the same shared memory race with each other by their schedule
        ran += 1
        got = answers(mod["f"], program, tessera.opencl(0))
        for want, result in zip(program.env["want"], got):
            np.testing.assert_array_equal(result, want, err_msg=f"seed {seed}\n{program.text}")
    assert ran >= 5
