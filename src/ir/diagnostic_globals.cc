// Diagnostics as Python sees them, and the renderer that a user may put in place of ours.

#include <mutex>

#include "ir/diagnostic.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

std::mutex renderer_mutex;

DiagnosticRenderer& chosen_renderer() {
  static DiagnosticRenderer renderer;
  return renderer;
}

DiagnosticRenderer make_renderer(PackedFunc show) {
  DiagnosticRendererNode node;
  node.show = std::move(show);
  return make(std::move(node));
}

DiagnosticRenderer current_renderer() {
  std::lock_guard lock(renderer_mutex);
  return chosen_renderer() ? chosen_renderer() : make_renderer(nullptr);
}

DiagnosticContext make_context(const IRModule& mod, const DiagnosticRenderer& renderer) {
  DiagnosticContextNode node;
  node.module = mod ? mod : IRModule();
  node.renderer = renderer ? renderer : current_renderer();
  return make(std::move(node));
}

/// Shows everything, and raises when there is an error among it.
void render(const DiagnosticContext& context) {
  bool is_error = false;
  std::string text;
  for (const Diagnostic& diagnostic : context->diagnostics) {
    is_error |= diagnostic->level <= DiagnosticLevel::Error;
    text += (text.empty() ? "" : "\n") + diagnostic_text(diagnostic.get(), context->module->source_map);
  }
  if (context->renderer && context->renderer->show) context->renderer->show(context);
  if (is_error) throw Error(DiagnosticError) << text;
}

register_types<DiagnosticNode, DiagnosticRendererNode, DiagnosticContextNode> diagnostic_types;

Globals diagnostic_globals{
    {"diagnostics.Diagnostic",
     [](int level, Span span, String message) {
       return make_diagnostic(static_cast<DiagnosticLevel>(level), span, message);
     }},
    {"diagnostics.DiagnosticRenderer", make_renderer},
    {"diagnostics.DiagnosticRendererRender",
     [](DiagnosticRenderer renderer, DiagnosticContext context) {
       if (renderer->show) renderer->show(context);
     }},
    {"diagnostics.DiagnosticContext", make_context},
    {"diagnostics.Default", [](IRModule mod) { return make_context(mod, nullptr); }},
    {"diagnostics.Emit",
     [](DiagnosticContext context, Diagnostic diagnostic) { context.edit()->diagnostics.push_back(diagnostic); }},
    {"diagnostics.DiagnosticContextRender", render},
    {"diagnostics.GetRenderer", current_renderer},
    {"diagnostics.SetRenderer",
     [](DiagnosticRenderer renderer) {
       std::lock_guard lock(renderer_mutex);
       chosen_renderer() = renderer;
     }},
    {"diagnostics.Text",
     [](DiagnosticContext context, Diagnostic diagnostic) {
       return diagnostic_text(diagnostic.get(), context->module->source_map);
     }},
};

}  // namespace

void show_to_user(const IRModule& mod, const Array<Diagnostic>& diagnostics) {
  DiagnosticRenderer renderer = current_renderer();
  if (!renderer->show) return;
  DiagnosticContext context = make_context(mod, renderer);
  context.edit()->diagnostics = diagnostics;
  renderer->show(context);
}

}  // namespace tessera
