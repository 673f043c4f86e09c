"""Names that are not taken yet."""

import pytest
import tessera
from tessera import relay
from tessera.ir.supply import GlobalVarSupply, NameSupply


def test_a_name_is_given_once():
    names = NameSupply("model")
    assert [names.fresh_name("f") for _ in range(3)] == ["model_f", "model_f_1", "model_f_2"]
    assert names.reserve_name("g", add_prefix=False) == "g" and names.contains_name("g", False)
    assert names.fresh_name("g", add_prefix=False) == "g_1"
    assert not names.contains_name("g") and NameSupply().fresh_name("a.b") == "a_b"


def test_global_variables_of_modules_are_taken():
    x = relay.var("x", shape=(2,))
    mod = tessera.IRModule.from_expr(relay.Function([x], x))
    supply = GlobalVarSupply(mod)
    assert supply.unique_global_for("main").same_as(mod.get_global_var("main"))
    assert supply.fresh_global("main").name_hint == "main_1"
    other = tessera.ir.GlobalVar("main")
    with pytest.raises(ValueError, match="another global variable main already"):
        supply.reserve_global(other)
    supply.reserve_global(other, allow_conflict=True)
    assert supply.unique_global_for("main").same_as(mod.get_global_var("main"))


def test_supplies_share_names():
    names = NameSupply("p")
    supply = GlobalVarSupply(names)
    assert supply.fresh_global("f").name_hint == "p_f" and names.contains_name("f")
