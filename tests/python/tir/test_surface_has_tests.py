"""Each pass and analysis of TIR is named by a test of this folder."""

import pathlib
import re

import pytest
import tessera as tvm
from tessera import tir

HERE = pathlib.Path(__file__)
TEXT = "\n".join(path.read_text() for path in HERE.parent.rglob("test_*.py") if path != HERE)

#: Not passes: how passes are made, and a struct of options.
MAKERS = {"CreatePrimFuncPass", "PrimFuncPass", "HoistedConditionals", "HoistedLetBindings"}


def passes():
    registered = {
        name.removeprefix("tir.transform.")
        for name in tvm._ffi.registry.list_global_func_names()
        if name.startswith("tir.transform.")
    }
    offered = {name for name in vars(tir.transform) if name[0].isupper()}
    return sorted({name for name in registered | offered if name[0].isupper()} - MAKERS)


def analyses():
    return sorted(
        name
        for name, value in vars(tir.analysis).items()
        if callable(value) and getattr(value, "__module__", "").startswith("tessera.tir.analysis")
    )


def test_there_are_as_many_passes_as_v0_10_has():
    assert len(passes()) >= 73


@pytest.mark.parametrize("name", passes() + analyses())
def test_it_is_tested(name):
    assert re.search(rf"\b{name}\b", TEXT), (
        f"no test of this folder names {name}; write one that would fail if it were wrong"
    )
