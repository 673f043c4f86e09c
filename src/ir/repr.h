#pragma once
// The plain node printer, `repr(x)` in Python and what error messages show: (x + 1), A[i, j], for (i, 0, 8) { ... }

#include <functional>
#include <string>

#include "ir/json/node_table.h"

namespace tessera {

/// Collects the text of one object. Rooms teach it their nodes through ReprRows.
class ReprPrinter {
 public:
  std::string text;

  void print(const Object* node);
  template <class T>
  ReprPrinter& operator<<(const Ref<T>& ref) {
    print(ref.get());
    return *this;
  }
  ReprPrinter& operator<<(std::string_view part) {
    text += part;
    return *this;
  }
  ReprPrinter& operator<<(const char* part) { return *this << std::string_view(part); }
  ReprPrinter& operator<<(int64_t number);
  ReprPrinter& operator<<(int32_t number) { return *this << static_cast<int64_t>(number); }
  /// a, b, c
  template <class List>
  ReprPrinter& list(const List& items) {
    bool first = true;
    for (const auto& item : items) {
      if (!first) text += ", ";
      first = false;
      *this << item;
    }
    return *this;
  }

  void print_indent() { text.append(static_cast<size_t>(indent_), ' '); }
  /// Prints what `body` prints two columns further in.
  template <class F>
  void nested(F&& body) {
    indent_ += 2;
    body();
    indent_ -= 2;
  }

 private:
  int indent_ = 0;
};

using ReprHandler = std::function<void(ReprPrinter&, const Object*)>;
void set_repr(const NodeInfo& type, ReprHandler handler);

/// For use at namespace scope: `static ReprRows rows{[](ReprPrinter& p, const Add* op) { ... }, ...};`
struct ReprRows {
  template <class... F>
  explicit ReprRows(F... handlers) {
    (add(handlers), ...);
  }

 private:
  template <class F>
  void add(F handler) {
    using T = typename detail::HandlerNode<F>::type;
    set_repr(T::info, [handler](ReprPrinter& p, const Object* node) { handler(p, static_cast<const T*>(node)); });
  }
};

std::string repr(const Object* node);
/// Where the object is, for those that have nothing else to tell them apart: 0x55d0c8a3e2a0
std::string address_text(const Object* node);
/// A number as C++ streams write it by default: six significant digits.
std::string short_number(double value);

}  // namespace tessera
