"""Helpers shared by the tests of tensor expressions."""

import pytest
import tessera


@pytest.fixture
def phase0():
    """The loops of a schedule as text, without head and buffer list."""

    def text(s, args):
        function = tessera.get_global_func("te.ScheduleToPrimFunc")(s, args, "main", {})
        return str(function).split("} {\n", 1)[1]

    return text
