#pragma once
// The operators that texts write between their operands: one table for every form that has them.

#include "ir/prim/expr.h"

namespace tessera {

/// Calls add.operator()<Add>(" + ") and so on for each; forms differ only in how they write the truncating division.
template <class F>
void each_infix(const char* division, F add) {
  add.template operator()<Add>(" + ");
  add.template operator()<Sub>(" - ");
  add.template operator()<Mul>("*");
  add.template operator()<Div>(division);
  add.template operator()<Mod>(" % ");
  add.template operator()<EQ>(" == ");
  add.template operator()<NE>(" != ");
  add.template operator()<LT>(" < ");
  add.template operator()<LE>(" <= ");
  add.template operator()<GT>(" > ");
  add.template operator()<GE>(" >= ");
  add.template operator()<And>(" && ");
  add.template operator()<Or>(" || ");
}

/// Rows of a printer that write (a OP b); `Rows` takes handlers as ReprRows does.
template <class Rows, class Printer>
struct InfixRows {
  explicit InfixRows(const char* division) {
    each_infix(division, []<class T>(const char* op) {
      Rows{[op](Printer& p, const T* e) { p << "(" << e->a << op << e->b << ")"; }};
    });
  }
};

}  // namespace tessera
