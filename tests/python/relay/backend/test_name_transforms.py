"""Names for generated C."""

import pytest
from tessera.relay.backend.name_transforms import (
    prefix_generated_name,
    prefix_name,
    sanitize_name,
    to_c_constant_style,
    to_c_function_style,
    to_c_variable_style,
)


def test_styles_of_c():
    assert [to_c_function_style(n) for n in ("TVM_Woof", "TVM_woof_woof", "TVMGen_woof")] == [
        "TVMWoof",
        "TVMWoofWoof",
        "TVMGenWoof",
    ]
    assert to_c_variable_style("TVM_woof_Woof") == "tvm_woof_woof"
    assert to_c_constant_style("TVM_woof_Woof") == "TVM_WOOF_WOOF"
    for style, what in (
        (to_c_function_style, "Function"),
        (to_c_variable_style, "Variable"),
        (to_c_constant_style, "Constant"),
    ):
        with pytest.raises(ValueError, match=f"{what} not TVM prefixed"):
            style("Cat_Spoof")
        with pytest.raises(ValueError, match=f"{what} name is empty"):
            style("")


def test_prefixes():
    assert prefix_name("Woof") == prefix_name(["Woof"]) == "TVM_Woof" and prefix_name(["woof", "moo"]) == "TVM_woof_moo"
    assert prefix_generated_name(["Woof", "woof"]) == "TVMGen_Woof_woof"
    for wrong, text in (("", "Name is empty"), ([], "Name segments empty"), (["a", ""], "Name segment is empty")):
        with pytest.raises(ValueError, match=text):
            prefix_name(wrong)


def test_other_characters_become_underscores():
    assert [sanitize_name(n) for n in ("+_+ ", "input+", "input++", "in_1")] == ["____", "input_", "input__", "in_1"]
