"""How long values live: ManifestLifetimes and AnnotateUsedMemory."""

import tessera as tvm
from tessera import relay
from tessera.relay import transform

HEAD = '#[version = "0.0.5"]\n'


def check_kills(before, after):
    got = transform.ManifestLifetimes()(tvm.parser.fromtext(HEAD + before))
    wanted = transform.InferType()(tvm.parser.fromtext(HEAD + after))
    tvm.ir.assert_structural_equal(got, wanted)


def test_a_value_is_killed_behind_its_last_use():
    check_kills(
        """def @main(%x: Tensor[(4), float32]) {
             let %a = exp(%x); let %b = %a; let %c = add(%b, %a); let %d = multiply(%c, %c); %d }""",
        """def @main(%x: Tensor[(4), float32]) {
             let %a = exp(%x); let %k0 = memory.kill(%x);
             let %c = add(%a, %a); let %k1 = memory.kill(%a);
             let %d = multiply(%c, %c); let %k2 = memory.kill(%c); %d }""",
    )


def test_what_a_branch_reads_lives_until_the_branch():
    check_kills(
        """def @main(%x: Tensor[(4), float32], %p: bool) {
             let %a = exp(%x);
             let %b = if (%p) { let %t = sqrt(%a); %t } else { let %u = log(%x); %u };
             add(%b, %b) }""",
        """def @main(%x: Tensor[(4), float32], %p: bool) {
             let %a = exp(%x);
             let %b = if (%p) { let %t = sqrt(%a); let %k0 = memory.kill(%a); %t }
                      else { let %u = log(%x); let %k1 = memory.kill(%x); %u };
             let %k2 = memory.kill(%p);
             let %r = add(%b, %b); let %k5 = memory.kill(%b);
             %r }""",
    )


def primitive(*args, body):
    function = relay.Function(list(args), body).with_attr("Primitive", tvm.tir.IntImm("int32", 1))
    return function


def test_primitive_functions_say_what_lives_while_they_run():
    x = relay.var("x", shape=(1, 2, 2, 4), dtype="int8")
    y = relay.var("y", shape=(1, 2, 2, 4), dtype="int8")
    first = relay.Call(primitive(y, body=relay.nn.max_pool2d(y)), [x])
    z = relay.var("z", shape=(1, 2, 2, 4), dtype="int8")
    wide = relay.Call(primitive(z, body=relay.cast(z, "int32")), [first])
    last = relay.add(relay.cast(x, "int32"), wide)
    mod = tvm.IRModule.from_expr(relay.Function([x], last))
    for change in (transform.InferType(), transform.ToANormalForm(), transform.AnnotateUsedMemory()):
        mod = change(mod)
    found = []
    relay.analysis.post_order_visit(
        mod["main"],
        lambda e: found.append([int(n) for n in e.attrs["used_memory"]])
        if isinstance(e, relay.Function) and e.attrs and "used_memory" in e.attrs
        else None,
    )
    # the cast of x lives all the time: with x and the first result, and with that and the wide one
    assert sorted(found) == [[64 + 16 + 16], [64 + 16 + 64]]
    assert int(mod["main"].attrs["io_used_memory"]) == 16 + 64
