#include "tir/print/text.h"

#include "base/stack.h"
#include "ir/json/json.h"
#include "ir/repr.h"
#include "tir/print.h"
#include "tir/print/letter.h"

namespace tessera {
namespace {

NodeTable<TextHandler>& text_table() {
  static auto* table = new NodeTable<TextHandler>;
  return *table;
}

/// Only these are whole texts of their own; other objects are shown by the plain printer.
bool has_text_form(const Object* node) {
  return node->is_a(PrimExprNode::info) || node->is_a(PrimFuncNode::info) || node->is_a(IRModuleNode::info);
}

std::string metadata_section(const TextPrinter& printer) {
  Map<String, ObjectRef> sections;
  for (const auto& [key, objects] : printer.metadata_objects()) sections.set(key, Array<ObjectRef>(objects));
  return "#[metadata]\n" + save_json(sections);
}

std::string print_all(const ObjectRef& object, bool show_metadata) {
  if (!object || !has_text_form(object.get())) return repr(object.get());
  TextPrinter printer;
  printer << object;
  if (!printer.metadata_objects().empty()) {
    printer.text += "\n";
    if (show_metadata) printer.text += metadata_section(printer);
  }
  return std::move(printer.text);
}

}  // namespace

void set_text(const NodeInfo& type, TextHandler handler) { text_table().set(type, std::move(handler)); }

void TextPrinter::print(const Object* node) {
  if (!node) return void(text += "(nullptr)");
  if (const TextHandler* row = text_table().find(node)) {
    on_enough_stack([&] { (*row)(*this, node); });
  } else {
    metadata(node);
  }
}

void TextPrinter::body(const Stmt& stmt) {
  *this << " {";
  nested([&] {
    newline();
    *this << stmt;
  });
  newline();
  *this << "}";
}

void TextPrinter::scope(const Stmt& stmt, const char* end) {
  if (stmt.as<SeqStmt>()) return body(stmt);
  *this << end;
  newline();
  *this << stmt;
}

std::string TextPrinter::unique(const std::string& wanted) {
  std::string name = wanted;
  while (taken_.count(name)) name = wanted + "_" + std::to_string(++taken_[wanted]);
  taken_.emplace(name, 0);
  return name;
}

const std::string& TextPrinter::name_of(const VarNode* var) {
  auto [it, added] = names_.try_emplace(var);
  if (added) {
    const std::string& wanted = var->name.str();
    it->second = unique(wanted.empty() || !is_letter(wanted[0]) ? "v" + wanted : wanted);
  }
  return it->second;
}

const std::string& TextPrinter::name_of(const BufferNode* buffer) {
  auto [it, added] = names_.try_emplace(buffer);
  if (added) {
    const std::string& wanted = buffer->name.str();
    it->second = unique(wanted.empty() || !is_letter(wanted[0]) ? "buf_" + wanted : wanted);
  }
  return it->second;
}

void TextPrinter::metadata(const Object* node) {
  std::string key = node->type_key();
  std::vector<ObjectRef>* objects = nullptr;
  for (auto& [name, list] : metadata_)
    if (name == key) objects = &list;
  if (!objects) objects = &metadata_.emplace_back(key, std::vector<ObjectRef>()).second;
  size_t index = 0;
  while (index < objects->size() && (*objects)[index].get() != node) ++index;
  if (index == objects->size()) objects->push_back(ObjectRef(node));
  *this << "meta[" << key << "][" << std::to_string(index) << "]";
}

std::string text_form(const ObjectRef& object) { return print_all(object, false); }

std::string text_form_with_metadata(const ObjectRef& object, bool show_metadata) {
  return "#[version = \"0.0.5\"]\n" + print_all(object, show_metadata);
}

}  // namespace tessera
