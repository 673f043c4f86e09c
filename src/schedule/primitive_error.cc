#include "schedule/primitive_error.h"

#include "tir/print/script.h"

namespace tessera::schedule {
namespace {

/// The lines of a marked script, each followed by a line of carets where it has marks.
std::string with_carets(std::string_view marked) {
  std::string out, line, carets;
  bool is_marked = false;
  auto end_line = [&] {
    out += line + "\n";
    while (!carets.empty() && carets.back() == ' ') carets.pop_back();
    if (!carets.empty()) out += carets + "\n";
    line.clear();
    carets.clear();
  };
  for (char c : marked) {
    if (c == ScriptPrinter::kMarkBegin) is_marked = true;
    else if (c == ScriptPrinter::kMarkEnd) is_marked = false;
    else if (c == '\n') end_line();
    else {
      line += c;
      carets += is_marked ? '^' : ' ';
    }
  }
  if (!line.empty()) end_line();
  return out;
}

}  // namespace

std::string render_error(RenderLevel level, const IRModule& mod, std::string method, const std::string& message,
                         const std::vector<Stmt>& statements) {
  if (level == RenderLevel::None) return "(not rendered)";
  for (char& c : method)
    if (c == '_') c = '-';
  std::string head = "An error occurred in the schedule primitive '" + method + "'.\n";
  if (level == RenderLevel::Fast || statements.empty()) return head + "Error message: " + message;
  ScriptPrinter printer("T");
  for (size_t i = 0; i < statements.size(); ++i)
    printer.mark(statements[i].get(), std::string(statements[i]->type_key()) + "#" + std::to_string(i));
  Map<GlobalVar, BaseFunc> programs;
  for (const auto& [var, function] : mod->functions)
    if (function.as<PrimFuncNode>()) programs.set(var, function);
  printer.module(IRModule(programs).get());
  return head + "The IR with diagnostic is:\n" + with_carets(printer.text) + "Error message: " + message;
}

}  // namespace tessera::schedule
