#pragma once
// The printer behind text_form (tir/print.h): types are shown where a variable or buffer first occurs, names are made
// unique as they are met, and objects without a text are numbered as meta[type][index].

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/json/node_table.h"
#include "tir/function.h"

namespace tessera {

class TextPrinter {
 public:
  std::string text;

  void print(const Object* node);
  template <class T>
  TextPrinter& operator<<(const Ref<T>& ref) {
    print(ref.get());
    return *this;
  }
  TextPrinter& operator<<(std::string_view part) {
    text += part;
    return *this;
  }
  TextPrinter& operator<<(const char* part) { return *this << std::string_view(part); }
  TextPrinter& operator<<(int64_t number) { return *this << std::to_string(number); }
  TextPrinter& operator<<(int32_t number) { return *this << std::to_string(number); }
  TextPrinter& operator<<(DataType dtype) { return *this << dtype.str(); }
  /// a, b, c
  template <class List>
  TextPrinter& list(const List& items) {
    bool first = true;
    for (const auto& item : items) {
      if (!first) text += ", ";
      first = false;
      *this << item;
    }
    return *this;
  }
  void newline() { text.append("\n").append(static_cast<size_t>(indent_), ' '); }
  template <class F>
  void nested(F&& body) {
    indent_ += 2;
    body();
    indent_ -= 2;
  }
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

  int indent_ = 0;
  std::unordered_map<const Object*, std::string> names_;
  std::unordered_map<std::string, int> taken_;
  std::vector<std::pair<std::string, std::vector<ObjectRef>>> metadata_;
};

using TextHandler = std::function<void(TextPrinter&, const Object*)>;
void set_text(const NodeInfo& type, TextHandler handler);

/// For use at namespace scope, as ReprRows.
struct TextRows {
  template <class... F>
  explicit TextRows(F... handlers) {
    (add(handlers), ...);
  }

 private:
  template <class F>
  void add(F handler) {
    using T = typename detail::HandlerNode<F>::type;
    set_text(T::info, [handler](TextPrinter& p, const Object* node) { handler(p, static_cast<const T*>(node)); });
  }
};

}  // namespace tessera
