#pragma once
// What printers of programs share: text that grows, line by line, and tables of functions, one for each type of node.

#include <functional>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "ir/json/node_table.h"

namespace tessera {

/// `Self::print(const Object*)` adds the text of a node. Bodies stand `columns` further in than what they belong to.
template <class Self, int columns>
class PrinterOf {
 public:
  std::string text;

  template <class T>
  Self& operator<<(const Ref<T>& ref) {
    self().print(ref.get());
    return self();
  }
  Self& operator<<(std::string_view part) {
    text += part;
    return self();
  }
  Self& operator<<(const char* part) { return *this << std::string_view(part); }
  Self& operator<<(int64_t number) { return *this << std::to_string(number); }
  Self& operator<<(int32_t number) { return *this << std::to_string(number); }
  Self& operator<<(DataType dtype) { return *this << dtype.str(); }
  /// a, b, c
  template <class List>
  Self& list(const List& items) {
    bool first = true;
    for (const auto& item : items) {
      if (!first) text += ", ";
      first = false;
      *this << item;
    }
    return self();
  }
  void newline() { text.append("\n").append(static_cast<size_t>(indent_), ' '); }
  template <class F>
  void nested(F&& body) {
    indent_ += columns;
    body();
    indent_ -= columns;
  }

 protected:
  int indent_ = 0;

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

/// For use at namespace scope, as ReprRows. `set` puts one function into the printer's table.
template <class Printer, void (*set)(const NodeInfo&, std::function<void(Printer&, const Object*)>)>
struct PrintRows {
  template <class... F>
  explicit PrintRows(F... handlers) {
    (add(handlers), ...);
  }

 private:
  template <class F>
  void add(F handler) {
    using T = typename detail::HandlerNode<F>::type;
    set(T::info, [handler](Printer& p, const Object* node) { handler(p, static_cast<const T*>(node)); });
  }
};

}  // namespace tessera
