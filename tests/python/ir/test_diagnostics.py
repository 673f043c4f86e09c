"""tvm.ir.diagnostics: what is wrong with a program, as objects."""

import pytest
import tessera as tvm
from tessera.ir import diagnostics
from tessera.ir.diagnostics import Diagnostic, DiagnosticContext, DiagnosticLevel, DiagnosticRenderer

BAD = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32], %y: Tensor[(3), float32]) { add(%x, %y) }'


def test_a_context_raises_what_it_collected():
    context = DiagnosticContext(tvm.IRModule())
    context.emit(Diagnostic(DiagnosticLevel.NOTE, None, "by the way"))
    context.render()
    context.emit(Diagnostic(DiagnosticLevel.ERROR, None, "this cannot be"))
    with pytest.raises(tvm.error.DiagnosticError, match="note: by the way\nerror: this cannot be"):
        context.render()
    assert [d.level for d in context.diagnostics] == [DiagnosticLevel.NOTE, DiagnosticLevel.ERROR]


def test_a_renderer_is_given_the_context():
    seen = []
    context = DiagnosticContext(tvm.IRModule(), DiagnosticRenderer(lambda ctx: seen.append(len(ctx.diagnostics))))
    context.emit(Diagnostic(DiagnosticLevel.HELP, None, "try again"))
    context.render()
    assert seen == [1]


@pytest.mark.parametrize(
    "text, message, line",
    [(BAD, "add", 2), ('#[version = "0.0.5"]\ndef @main() { frobnicate(1) }', "frobnicate", 2)],
)
def test_an_overriding_renderer_sees_errors_of_types_and_of_the_parser(text, message, line):
    seen = []
    diagnostics.override_renderer(lambda ctx: seen.extend((d, ctx.text(d)) for d in ctx.diagnostics))
    try:
        with pytest.raises(tvm.error.DiagnosticError):
            tvm.parser.parse(text)
    finally:
        diagnostics.override_renderer(None)
    ((diagnostic, shown),) = seen
    assert message in diagnostic.message and diagnostic.span.line == line
    assert shown.startswith("error: ") and "^" in shown
    with pytest.raises(tvm.error.DiagnosticError):
        tvm.parser.parse(text)
    assert len(seen) == 1


def test_the_renderer_in_use_can_be_asked_for():
    assert isinstance(diagnostics.get_renderer(), DiagnosticRenderer)
