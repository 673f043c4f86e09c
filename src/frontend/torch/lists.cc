#include "frontend/torch/lists.h"

#include "frontend/common/loops.h"
#include "frontend/torch/scope.h"
#include "relay/attrs/loop.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"

namespace tessera::torch {
namespace {

Expr row_of(const Operation& in, const Value& item) {
  if (!item.is_tensor() && !item.is_number()) in.unsupported("a list of lists or texts whose length a run decides");
  if (item.quantized || item.is_complex)
    in.unsupported("a list of quantised or complex tensors whose length a run decides");
  for (Cell* at = item.cell.get(); at; at = at->base.get()) at->is_copied = true;
  return item.is_number() ? in.number_expr(item) : item.expr();
}

}  // namespace

bool has_rows(const Value& list) {
  return list.kind == Value::List && list.items->size() == 1 && (*list.items)[0].kind == Value::Rows;
}

Value list_of_rows(const Expr& rows, Value::Kind item) {
  Value all = Value::number(Value::Rows, rows);
  all.integer = item;
  return Value::of(std::vector<Value>{all});
}

Value::Kind item_kind(const Operation& in, const Value& list, const Value& like) {
  if (has_rows(list)) return static_cast<Value::Kind>((*list.items)[0].integer);
  const Value& item = list.items->empty() ? like : list.items->back();
  if (has_rows(item)) in.unsupported("a list of lists whose length a run decides");
  return item.kind;
}

Expr rows_of(const Operation& in, const Value& list, const Value& like) {
  if (has_rows(list)) return (*list.items)[0].expr();
  if (list.items->empty()) return frontend::no_rows(in, row_of(in, like));
  Array<Expr> rows;
  for (const Value& item : *list.items) rows.push_back(row_of(in, item));
  return relay::stack(rows, 0);
}

Value item_like(const Operation& in, const Value& list) {
  const Expr rows = (*list.items)[0].expr();
  Array<PrimExpr> shape = in.shape(rows), row;
  for (size_t i = 1; i < shape.size(); ++i) row.push_back(shape[i]);
  relay::Var like = relay::make_local("item", TensorType(row, in.dtype(rows)));
  like->checked_type_ = like->type_annotation;
  return Value::number(item_kind(in, list, Value()), like);
}

void append_to(const Operation& in, const Value& list, const Value& item) {
  if (!has_rows(list)) {
    in.importer().change(list).push_back(item);
    return;
  }
  const Value& rows = (*list.items)[0];
  in.importer().change(rows.cell, relay::call_op(relay::ops::append, {rows.expr(), row_of(in, item)},
                                                 relay::make_attrs<relay::AppendAttrs>([](auto&) {})));
}

}  // namespace tessera::torch
