"""Documents as Python text."""

import ast

import pytest
from tessera.runtime import ObjectPath
from tessera.script.printer.doc import (
    AssertDoc,
    AssignDoc,
    CallDoc,
    ClassDoc,
    DictDoc,
    ExprStmtDoc,
    ForDoc,
    FunctionDoc,
    IdDoc,
    IfDoc,
    LambdaDoc,
    ListDoc,
    LiteralDoc,
    OperationDoc,
    ReturnDoc,
    ScopeDoc,
    SliceDoc,
    StmtBlockDoc,
    TupleDoc,
    WhileDoc,
)
from tessera.script.printer.doc import OperationKind as K
from tessera.script.printer.doc_printer import to_python_script

a, b, c = IdDoc("a"), IdDoc("b"), IdDoc("c")


def op(kind, *operands):
    return OperationDoc(kind, list(operands))


@pytest.mark.parametrize(
    "doc, text",
    [
        (LiteralDoc(None), "None"),
        (LiteralDoc(True), "True"),
        (LiteralDoc(-1.5), "-1.5"),
        (LiteralDoc('say "x"\n'), '"say \\"x\\"\\n"'),
        (a.attr("x").attr("y"), "a.x.y"),
        (a[b, 1:2] if False else a[b, SliceDoc(LiteralDoc(1), LiteralDoc(2))], "a[b, 1:2]"),
        (a[()], "a[()]"),
        (a[SliceDoc(None, b, c)], "a[:b:c]"),
        (a.call(b, x=c), "a(b, x=c)"),
        (CallDoc(LambdaDoc([a], b), c), "(lambda a: b)(c)"),
        (LambdaDoc([], a), "lambda: a"),
        (TupleDoc([]), "()"),
        (TupleDoc([a]), "(a,)"),
        (ListDoc([a, b]), "[a, b]"),
        (DictDoc({LiteralDoc("x"): a}), '{"x": a}'),
        (op(K.IfThenElse, a, b, c), "b if a else c"),
        (op(K.Not, op(K.And, a, b)), "not (a and b)"),
        (op(K.Add, a, op(K.Add, b, c)), "a + (b + c)"),
        (op(K.Add, op(K.Add, a, b), c), "a + b + c"),
        (op(K.Mult, op(K.Add, a, b), c), "(a + b) * c"),
        (op(K.Pow, op(K.USub, a), b), "(-a) ** b"),
        (op(K.Pow, a, op(K.USub, b)), "a ** -b"),
        (op(K.USub, op(K.Pow, a, b)), "-a ** b"),
        (op(K.Lt, op(K.Lt, a, b), c), "(a < b) < c"),
        (op(K.BitAnd, op(K.BitOr, a, b), op(K.Invert, c)), "(a | b) & ~c"),
        (op(K.Add, a, b).attr("x"), "(a + b).x"),
    ],
)
def test_expressions(doc, text):
    assert to_python_script(doc) == text + "\n"
    ast.parse(text)


def test_parentheses_keep_the_order_of_operators():
    values = {"a": 7, "b": 3, "c": 2}

    def value(doc):
        if isinstance(doc, IdDoc):
            return values[doc.name]
        parts = [f"({value(x)})" for x in doc.operands]
        plain = to_python_script(OperationDoc(doc.kind, [IdDoc("x"), IdDoc("y")][: len(parts)]))
        return eval(plain, dict(zip("xy", (eval(p) for p in parts))))

    binary = [
        K.Add,
        K.Sub,
        K.Mult,
        K.Div,
        K.FloorDiv,
        K.Mod,
        K.Pow,
        K.LShift,
        K.RShift,
        K.BitAnd,
        K.BitOr,
        K.BitXor,
        K.Lt,
        K.Eq,
        K.And,
        K.Or,
    ]
    integral = set(binary) - {K.Div}
    for outer in binary:
        for inner in binary:
            if {outer, inner} & {K.LShift, K.RShift, K.BitAnd, K.BitOr, K.BitXor} and not {outer, inner} <= integral:
                continue
            for doc in (op(outer, op(inner, a, b), c), op(outer, a, op(inner, b, c))):
                try:
                    wanted = value(doc)
                except (ZeroDivisionError, ValueError):
                    continue
                assert eval(to_python_script(doc), dict(values)) == wanted, to_python_script(doc)


def test_statements():
    body = [ExprStmtDoc(a), ReturnDoc(b)]
    function = FunctionDoc(
        IdDoc("f"), [AssignDoc(a, LiteralDoc(1), IdDoc("int")), AssignDoc(b, None)], [c.call()], a, body
    )
    text = to_python_script(
        StmtBlockDoc(
            [
                AssignDoc(TupleDoc([a, b]), c),
                AssignDoc(a, None, b),
                AssertDoc(a, LiteralDoc("why")),
                IfDoc(a, [ExprStmtDoc(b)], []),
                IfDoc(a, [], [ExprStmtDoc(c)]),
                WhileDoc(a, []),
                ForDoc(a, b.call(), [ExprStmtDoc(c)]),
                ScopeDoc(a, b, [ScopeDoc(None, c, [])]),
                function,
                ClassDoc(IdDoc("K"), [a], [AssignDoc(b, c)]),
            ]
        )
    )
    assert text == (
        'a, b = c\na: b\nassert a, "why"\nif a:\n    b\nif a:\n    pass\nelse:\n    c\nwhile a:\n    pass\n'
        "for a in b():\n    c\nwith b as a:\n    with c:\n        pass\n@c()\ndef f(a: int = 1, b) -> a:\n    a\n    return b\n"
        "@a\nclass K:\n    b = c\n"
    )
    ast.parse(text.replace("a: int = 1, b", "a: int, b"))


def test_comments():
    simple, long, block, function = (
        AssignDoc(a, b),
        ExprStmtDoc(a),
        WhileDoc(a, []),
        FunctionDoc(IdDoc("f"), [], [], None, []),
    )
    simple.comment, long.comment, block.comment, function.comment = "one", "one\ntwo", "loop", "what\nit does"
    text = to_python_script(StmtBlockDoc([simple, long, block, function]), indent_spaces=2)
    assert text == (
        'a = b  # one\n# one\n# two\na\n# loop\nwhile a:\n  pass\ndef f():\n  """\n  what\n  it does\n  """\n  pass\n'
    )


def path(*names):
    out = ObjectPath.root()
    for name in names:
        out = out.attr(name)
    return out


def marked(name, *names):
    doc = IdDoc(name)
    doc.source_paths.append(path(*names))
    return doc


def test_what_a_path_names_is_marked():
    doc = StmtBlockDoc(
        [ExprStmtDoc(marked("foo", "x")), ExprStmtDoc(op(K.Add, marked("bar", "x", "y"), marked("baz", "z")))]
    )
    assert to_python_script(doc, path_to_underline=path("x", "y")) == "foo\nbar + baz\n^^^\n"
    assert to_python_script(doc, path_to_underline=path("x", "other")) == "foo\n^^^\nbar + baz\n"
    assert to_python_script(doc, path_to_underline=path("none")) == "foo\nbar + baz\n"
    numbered = to_python_script(doc, path_to_underline=path("z"), print_line_numbers=True)
    assert numbered == "1 foo\n2 bar + baz\n        ^^^\n"


def test_lines_far_from_marks_are_left_out():
    lines = [ExprStmtDoc(marked(f"line{i}", f"l{i}")) for i in range(8)]
    text = to_python_script(StmtBlockDoc(lines), num_context_lines=1, path_to_underline=path("l3"))
    assert text == "(... 2 lines skipped ...)\nline2\nline3\n^^^^^\nline4\n(... 3 lines skipped ...)\n"
    numbered = to_python_script(
        StmtBlockDoc(lines), print_line_numbers=True, num_context_lines=0, path_to_underline=path("l3")
    )
    assert numbered == "(... 3 lines skipped ...)\n4 line3\n  ^^^^^\n(... 4 lines skipped ...)\n"
    near = to_python_script(StmtBlockDoc(lines[:5]), num_context_lines=1, path_to_underline=path("l2"))
    assert near == "line0\nline1\nline2\n^^^^^\nline3\nline4\n"  # one line is not worth a note
