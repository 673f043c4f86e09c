#include "codegen/source/printer.h"

#include <algorithm>
#include <cctype>

namespace tessera::codegen {

SourcePrinter::SourcePrinter(std::vector<std::string> reserved_words)
    : reserved_(reserved_words.begin(), reserved_words.end()) {
  for (const char* word :
       {"auto",     "break",  "case",     "char",   "const",    "continue", "default", "do",     "double",  "else",
        "enum",     "extern", "float",    "for",    "goto",     "if",       "inline",  "int",    "long",    "main",
        "register", "return", "short",    "signed", "sizeof",   "static",   "struct",  "switch", "typedef", "union",
        "unsigned", "void",   "volatile", "while",  "restrict", "bool",     "true",    "false",  "NULL"})
    reserved_.insert(word);
}

void SourcePrinter::line(const std::string& text) {
  if (!text.empty()) out_.append(static_cast<size_t>(indent_) * 2, ' ');
  out_ += text;
  out_ += '\n';
}

void SourcePrinter::block(const std::string& head, const std::function<void()>& body) {
  line(head + (head.empty() ? "{" : " {"));
  ++indent_;
  body();
  --indent_;
  line("}");
}

std::string SourcePrinter::captured(const std::function<void()>& body) {
  std::string outer = std::exchange(out_, "");
  body();
  return std::exchange(out_, std::move(outer));
}

std::string SourcePrinter::fresh_name(const std::string& wanted) {
  std::string name;
  for (char c : wanted) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "v" + name;
  if (reserved_.count(name)) name += "_";
  for (;;) {
    int number = used_names_[name]++;
    if (number == 0) return name;
    std::string numbered = name + "_" + std::to_string(number);
    if (!used_names_.count(numbered) && !reserved_.count(numbered)) {
      used_names_[numbered] = 1;
      return numbered;
    }
  }
}

std::string SourcePrinter::define(const VarNode* var) { return names_[var] = fresh_name(var->name.str()); }

void SourcePrinter::need(const std::string& name, const std::string& definition) {
  if (have_helpers_.insert(name).second) helpers_.emplace_back(name, definition);
}

std::string SourcePrinter::symbol_of(const GlobalVar& var, const PrimFunc& function) const {
  ObjectRef symbol = function->attrs.get_attr(attr::kGlobalSymbol);
  return symbol ? downcast<String>(symbol).str() : var->name_hint.str();
}

void SourcePrinter::start_function() {
  names_.clear();
  memory_.clear();
  volatile_.clear();
  used_names_.clear();
  for (const auto& [var, function] : functions_) used_names_[function.first] = 1;
  for (auto& known : known_) known.clear();
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += std::string("\\") + c;
    else if (c == '\n') out += "\\n";
    else if (byte >= 32 && byte < 127) out += c;
    else
      out += {'\\', static_cast<char>('0' + byte / 64), static_cast<char>('0' + byte / 8 % 8),
              static_cast<char>('0' + byte % 8)};
  }
  return out + "\"";
}

bool is_atom(const std::string& text) {
  bool is_negative = text.starts_with("(-") && text.ends_with(")");
  std::string_view inner = is_negative ? std::string_view(text).substr(2, text.size() - 3) : std::string_view(text);
  return std::all_of(inner.begin(), inner.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; });
}

std::vector<std::pair<GlobalVar, PrimFunc>> prim_funcs(const IRModule& mod) {
  std::vector<std::pair<GlobalVar, PrimFunc>> out;
  for (const auto& [var, function] : mod.sorted_functions()) {
    PrimFunc prim = downcast_or_null<PrimFunc>(function);
    if (!prim)
      throw Error(TypeError) << "function " << var->name_hint << " is a " << function->type_key()
                             << "; only PrimFuncs become source";
    out.emplace_back(var, prim);
  }
  return out;
}

}  // namespace tessera::codegen
