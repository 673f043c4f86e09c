"""What is not there says so: every name that published programs of v0.10 use works, or one sentence tells the way around.

`names_of_programs.txt` lists the names; `tessera/_missing.py` is the table of what is said.
"""

import importlib
import re
import types
from pathlib import Path

import pytest
import tessera
import tessera.driver.tvmc
import tessera.relay
import tessera.testing.utils
import tessera.topi
from tessera._missing import MISSING, explanation

NAMES = (Path(__file__).parent / "names_of_programs.txt").read_text().split()


def missing_part(name):
    """The shortest part of a name that is not there, as its module calls it (`relay.nn` is `relay.op.nn`).

    None where all of it is, or where it is below a class or a value.
    """
    thing = tessera
    for part in name.split(".")[1:]:
        if hasattr(thing, part):
            thing = getattr(thing, part)
        elif isinstance(thing, types.ModuleType):
            try:
                thing = importlib.import_module(f"{thing.__name__}.{part}")
            except ImportError:
                return f"{thing.__name__}.{part}".replace("tessera", "tvm", 1)
        else:
            return None
    return None


ABSENT = sorted({part for part in map(missing_part, NAMES) if part})


def said_by(statement):
    with pytest.raises((ImportError, AttributeError)) as caught:
        exec(statement, {})
    return str(caught.value)


@pytest.mark.parametrize("name", ABSENT)
def test_a_name_that_programs_use_is_there_or_says_what_to_do(name):
    parent, _, last = name.replace("tvm", "tessera", 1).rpartition(".")
    wanted = explanation(name)
    assert wanted is not None, f"{name} is neither there nor in tessera/_missing.py"
    assert said_by(f"from {parent} import {last}") == wanted
    assert said_by(f"import {parent}\n{parent}.{last}") == wanted
    assert re.fullmatch(rf"{re.escape(name)} is not there yet: [^\n]+[^.\n]", wanted)


@pytest.mark.parametrize("name", ["tvm.autotvm.graph_tuner.utils", "tvm.micro", "tvm.relay.frontend.nnvm_common"])
def test_the_best_known_names_are_explained_under_both_names_of_the_package(name):
    assert said_by(f"import tessera.as_tvm\nimport {name}") == explanation(name)
    assert said_by(f"import {name.replace('tvm', 'tessera', 1)}") == explanation(name)


@pytest.mark.parametrize("name", sorted(MISSING))
def test_what_the_table_calls_missing_is_missing(name):
    module, _, last = name.rpartition(".")
    if last == "*":
        assert missing_part(module) is None
    else:
        assert missing_part(name) == name


def test_other_wrong_names_are_told_as_python_tells_them():
    assert said_by("import tessera\ntessera.nonesuch") == "module 'tessera' has no attribute 'nonesuch'"
    assert said_by("import tessera.nonesuch") == "No module named 'tessera.nonesuch'"
    assert "cannot import name 'nonesuch'" in said_by("from tessera.relay.frontend import nonesuch")


def test_a_program_may_ask_whether_a_name_is_there():
    assert not hasattr(tessera, "micro") and getattr(tessera.relay.frontend, "nnvm_common", None) is None
