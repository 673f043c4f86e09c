#pragma once
// The printer behind text_form (tir/print.h): types are shown where a variable or buffer first occurs, names are made
// unique as they are met, and objects without a text are numbered as meta[type][index].

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/json/node_table.h"
#include "tir/function.h"
#include "tir/print/printer.h"

namespace tessera {

class TextPrinter : public PrinterOf<TextPrinter, 2> {
 public:
  void print(const Object* node);
  ///  { newline, the statement two columns further in, }
  void body(const Stmt& stmt);
  /// What follows a statement that holds inside its body: braces for a sequence, else `end` and the next line.
  void scope(const Stmt& stmt, const char* end);

  /// The name of a variable or buffer; a new one the first time.
  const std::string& name_of(const VarNode* var);
  const std::string& name_of(const BufferNode* buffer);
  bool knows(const Object* variable_or_buffer) const { return names_.count(variable_or_buffer) > 0; }
  /// Buffer(data: Pointer(float32), float32, [8], []) with whatever differs from the usual.
  void declare(const BufferNode* buffer);
  void region(const BufferNode* buffer, const Array<Range>& ranges);
  void function(const PrimFuncNode* function);
  void module(const IRModuleNode* mod);
  void metadata(const Object* node);

  /// Objects shown as meta[...], by type key in order of appearance.
  const std::vector<std::pair<std::string, std::vector<ObjectRef>>>& metadata_objects() const { return metadata_; }

 private:
  std::string unique(const std::string& wanted);

  std::unordered_map<const Object*, std::string> names_;
  std::unordered_map<std::string, int> taken_;
  std::vector<std::pair<std::string, std::vector<ObjectRef>>> metadata_;
};

using TextHandler = std::function<void(TextPrinter&, const Object*)>;
void set_text(const NodeInfo& type, TextHandler handler);
using TextRows = PrintRows<TextPrinter, set_text>;

}  // namespace tessera
