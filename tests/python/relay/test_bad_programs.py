"""Programs that are wrong are rejected with an error that says where; none of them ends the process."""

import random
import re
from pathlib import Path

import pytest
import tessera as tvm
from tessera import relay

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus" / "relay_text"
HEAD = '#[version = "0.0.5"]\n'

REJECTED = {
    "def @main() { %x }": "%x",
    "def @main() { @nope(1) }": "nope",
    "def @main(%x: Tensor[(2), float32], %y: Tensor[(3), float32]) { add(%x, %y) }": "add",
    "def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(5, 9), float32]) { nn.dense(%x, %w) }": "nn.dense",
    "def @main(%x: Tensor[(2), float32]) { %x(%x) }": "fn (Tensor[(2), float32])",
    "def @main(%t: Nope[int32]) { %t }": "the data type `Nope` is not defined",
    "def @f(%x: int32) { %x } def @main() { @f() }": "argument",
    "def @main(%c: bool) { if (%c) { 1 } else { 2f } }": "float32",
    "def @main(%c: Tensor[(2), float32]) { if (%c) { 1 } else { 2 } }": "bool",
    "def @main() { let %f = fn (%x) { %x(%x) }; %f(%f) }": "",
    "def @main(%x: int32) { (%x, %x).7 }": "7",
    "def @main(%x: int32) { frobnicate(%x) }": "frobnicate",
    "type T { A(int32), B, } def @main(%t: T) -> int32 { match (%t) { A => { 1 }, B => { 2 }, } }": "A",
    "def @main(%x: int32) -> Tensor[(2), int32] { %x }": "Tensor",
}


@pytest.mark.parametrize("text", REJECTED)
def test_a_wrong_program_is_rejected_with_its_position(text):
    with pytest.raises(tvm.error.DiagnosticError) as error:
        relay.transform.InferType()(tvm.parser.parse(HEAD + text))
    message = str(error.value)
    assert "from_string:2:" in message and REJECTED[text] in message
    assert "^" in message


NEGATIVE = {
    "broadcast_to": lambda x: relay.broadcast_to(x, (-3, 4)),
    "full": lambda x: relay.full(relay.const(1.0), (-3, 4)),
    "zeros": lambda x: relay.zeros((2, -1), "float32"),
    "ones": lambda x: relay.ones((-(2**31),), "float32"),
}


@pytest.mark.parametrize("op", NEGATIVE)
def test_an_operator_whose_result_would_have_a_negative_extent_is_rejected(op):
    x = relay.var("x", shape=(4,))
    with pytest.raises(tvm.error.DiagnosticError, match=rf"{re.escape(op)}\(.*has a negative extent"):
        relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], NEGATIVE[op](x))))


def test_a_variable_of_a_negative_extent_is_rejected():
    x = relay.var("x", shape=(2, -4))
    with pytest.raises(tvm.error.DiagnosticError, match=r"%x: Tensor\[\(2, -4\), float32\] has a negative extent"):
        relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], x)))


def test_a_tensor_of_more_bytes_than_can_be_counted_is_rejected():
    big = relay.zeros((2**31 - 1, 2**31 - 1, 2**31 - 1), "float32")
    with pytest.raises(tvm.error.DiagnosticError, match="zeros.*more bytes than can be counted"):
        relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([], big)))


def mutations(texts, count, seed):
    """Programs with a few tokens dropped, doubled, exchanged or replaced."""
    draw = random.Random(seed)
    token = re.compile(r'[%@]?[A-Za-z_][A-Za-z_0-9.]*|\d+\w*|"[^"]*"|/\*.*?\*/|\s+|.', re.S)
    odd = ["(", ")", "{", "}", "%0", "@main", "let", "fn", "match", "1e999", "-1", "9" * 20, '"', "/*", "\0", "ÿ", "?"]
    parts = [token.findall(text) for text in texts]
    for _ in range(count):
        tokens = list(draw.choice(parts))
        for _ in range(draw.choice([1, 1, 2, 4])):
            if not tokens:
                break
            i, j = draw.randrange(len(tokens)), draw.randrange(len(tokens))
            change = draw.randrange(5)
            if change == 0:
                del tokens[i]
            elif change == 1:
                tokens.insert(i, tokens[j])
            elif change == 2:
                tokens[i], tokens[j] = tokens[j], tokens[i]
            elif change == 3:
                tokens[i] = draw.choice(odd)
            else:
                tokens[i:i] = draw.choice(parts)[: draw.randrange(40)]
        yield "".join(tokens)


def test_mutated_programs_are_read_or_rejected():
    texts = [path.read_text(errors="replace") for path in sorted(CORPUS.iterdir())]
    texts = [text for text in texts if len(text) < 3000]
    read = 0
    for text in mutations(texts, 1500, seed=7):
        try:
            mod = tvm.parser.parse(text)
        except (tvm.error.DiagnosticError, AttributeError):  # an attribute that the operator does not have
            continue
        read += 1
        tvm.ir.assert_structural_equal(tvm.parser.parse(mod.astext()), mod)
    assert read > 20
