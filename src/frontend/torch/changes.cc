#include "frontend/torch/changes.h"

#include "frontend/common/loops.h"
#include "frontend/common/parts.h"
#include "frontend/torch/lists.h"
#include "ir/prim/ops.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

#include <algorithm>

namespace tessera::torch {
namespace {

/// Zeros, of unknown extents none.
Expr zeros_of_type(const Operation& in, const Expr& like) {
  std::vector<int64_t> shape;
  for (const PrimExpr& extent : in.shape(like)) shape.push_back(as_int(extent) ? *as_int(extent) : 0);
  return frontend::filled(0, shape, in.dtype(like));
}

Expr expr_of(const Operation& in, const Value& value) {
  Expr out = value.is_number() ? in.number_expr(value) : value.expr();
  relay::type_of(out);
  return out;
}

bool holds_one(const Value& value) { return value.is_tensor() || value.is_number() || value.kind == Value::Rows; }

}  // namespace

void JournalScope::undo() {
  for (size_t i = changes.tensors.size(); i-- > 0;) {
    Cell& cell = *changes.tensors[i].first;
    cell.now = changes.tensors[i].second;
    ++cell.version;
  }
  for (size_t i = changes.lists.size(); i-- > 0;) *changes.lists[i].first = changes.lists[i].second;
  changes = {};
}

void JournalScope::commit() {
  if (outer_) {
    outer_->tensors.insert(outer_->tensors.end(), changes.tensors.begin(), changes.tensors.end());
    outer_->lists.insert(outer_->lists.end(), changes.lists.begin(), changes.lists.end());
  }
  changes = {};
}

void open_values(const Operation& in, const Values& values, std::vector<Expr>* out) {
  for (const Value& value : values) {
    if (value.items) open_values(in, *value.items, out);
    else if (holds_one(value)) out->push_back(expr_of(in, value));
  }
}

Values close_values(const Values& like, const std::vector<Expr>& tensors, size_t* next) {
  Values out;
  for (const Value& value : like) {
    Value now = value;
    if (value.items) now.items = std::make_shared<Values>(close_values(*value.items, tensors, next));
    else if (holds_one(value)) now.cell = std::make_shared<Cell>(tensors.at((*next)++));
    out.push_back(std::move(now));
  }
  return out;
}

bool have_same_form(const Value& a, const Value& b) {
  if (a.quantized || b.quantized || a.is_complex != b.is_complex || has_rows(a) != has_rows(b)) return false;
  if (holds_one(a) && holds_one(b)) return a.is_number() == b.is_number() || a.is_tensor() || b.is_tensor();
  if (a.kind != b.kind || a.text != b.text) return false;
  return !a.items || std::equal(a.items->begin(), a.items->end(), b.items->begin(), b.items->end(), have_same_form);
}

Value unused_like(const Operation& in, const Value& like) {
  Value out = like;
  if (like.items) {
    out.items = std::make_shared<Values>();
    for (const Value& item : *like.items) out.items->push_back(unused_like(in, item));
  } else if (holds_one(like)) {
    out.cell = std::make_shared<Cell>(zeros_of_type(in, expr_of(in, like)));
  }
  return out;
}

Outcome::Seen Outcome::seen(const Operation& in, const Value& value) {
  Seen out{value, nullptr, {}};
  if (holds_one(value)) out.now = expr_of(in, value);
  if (value.items)
    for (const Value& item : *value.items) out.items.push_back(seen(in, item));
  return out;
}

Outcome::Outcome(const Operation& in, const Visible& outside, Values results, const Journal& changes) {
  for (const Value& result : results) results_.push_back(seen(in, result));
  for (const auto& [cell, was] : changes.tensors) {
    const auto is_known = [&](const auto& each) { return each.first == cell; };
    if (cell->base || !outside.cells.count(cell.get())) continue;  // parts follow what they are parts of
    if (std::none_of(tensors_.begin(), tensors_.end(), is_known)) tensors_.emplace_back(cell, cell->get());
  }
  for (const auto& [items, was] : changes.lists) {
    const auto is_known = [&](const Seen& each) { return each.value.items == items; };
    if (!outside.lists.count(items.get()) || std::any_of(lists_.begin(), lists_.end(), is_known)) continue;
    Value list;
    list.kind = Value::List;
    list.items = items;
    lists_.push_back(seen(in, list));
  }
}

/// Pairs of values, of which a run takes one.
class Merge {
 public:
  using Seen = Outcome::Seen;
  explicit Merge(const Operation& in) : in_(in) {}

  Value of(const Seen& yes, const Seen& no) {
    const Value &a = yes.value, &b = no.value;
    if (a.cell ? a.cell == b.cell : a.items && a.items == b.items) return a;  // one object, whatever was done to it
    if (a.kind == Value::Uninitialized && b.kind != a.kind)
      return of(Outcome::seen(in_, unused_like(in_, then(no))), no);
    if (b.kind == Value::Uninitialized && a.kind != b.kind)
      return of(yes, Outcome::seen(in_, unused_like(in_, then(yes))));
    if (a.quantized != b.quantized || a.is_complex != b.is_complex)
      in_.unsupported("branches whose results are quantised or complex in different ways");
    if (a.is_known_number() && b.is_known_number() && a.kind == b.kind && a.as_real() == b.as_real()) return a;
    if (yes.now.defined() && no.now.defined() && a.kind != Value::Rows && b.kind != Value::Rows) {
      Value out = a;
      if (a.kind != b.kind) out.kind = Value::Tensor;
      out.cell = chosen(yes.now, no.now);
      return out;
    }
    if (a.kind != b.kind || a.text != b.text) in_.unsupported("branches whose results differ in their kinds");
    if (!a.items) return a;
    Value out = a;
    out.items = std::make_shared<Values>(items(yes, no));
    return out;
  }

  /// The items of a list; where their number differs, rows.
  Values items(const Seen& yes, const Seen& no) {
    const bool as_rows = yes.items.size() != no.items.size() || has_rows_then(yes) || has_rows_then(no);
    Values out;
    if (!as_rows) {
      for (size_t i = 0; i < yes.items.size(); ++i) out.push_back(of(yes.items[i], no.items[i]));
      return out;
    }
    if (yes.value.kind == Value::Dict) in_.unsupported("a dictionary whose keys a condition decides");
    const Value a = then(yes), b = then(no);
    const Value like = a.items->empty() ? b.items->front() : a.items->front();
    const Value::Kind kind = item_kind(in_, a.items->empty() ? b : a, like);
    Expr rows[2];
    for (int side = 0; side < 2; ++side) {
      const Value &own = side ? b : a, &other = side ? a : b;
      rows[side] = rows_of(in_, own, has_rows(other) ? item_like(in_, other) : like);
    }
    Value list = list_of_rows(rows[0], kind);
    (*list.items)[0].cell = chosen(rows[0], rows[1]);
    return *list.items;
  }

  std::shared_ptr<Cell> chosen(const Expr& yes, const Expr& no) {
    auto out = std::make_shared<Cell>(yes);
    if (yes.get() != no.get()) outer(out, yes, no);
    return out;
  }
  void outer(const std::shared_ptr<Cell>& cell, const Expr& yes, const Expr& no) {
    if (in_.dtype(yes) != in_.dtype(no)) in_.unsupported("branches whose results differ in their element types");
    cells_.push_back(cell);
    yes_.push_back(yes);
    no_.push_back(no);
  }

  void finish(const Expr& condition) {
    if (cells_.empty()) return;
    std::vector<Expr> out = choose(in_, condition, yes_, no_);
    for (size_t i = 0; i < out.size(); ++i) in_.importer().change(cells_[i], out[i]);
  }

 private:
  /// A value as it was then.
  static Value then(const Seen& seen) {
    Value out = seen.value;
    if (seen.now.defined() && out.cell) out.cell = std::make_shared<Cell>(seen.now);
    if (out.items) {
      out.items = std::make_shared<Values>();
      for (const Seen& item : seen.items) out.items->push_back(then(item));
    }
    return out;
  }
  static bool has_rows_then(const Seen& list) {
    return list.items.size() == 1 && list.items[0].value.kind == Value::Rows;
  }

  const Operation& in_;
  std::vector<std::shared_ptr<Cell>> cells_;
  std::vector<Expr> yes_, no_;
};

Values merged(const Operation& in, const Expr& condition, const Outcome& yes, const Outcome& no) {
  Merge merge(in);
  Values out;
  if (yes.results_.size() != no.results_.size()) in.invalid("the branches have different numbers of results");
  for (size_t i = 0; i < yes.results_.size(); ++i) out.push_back(merge.of(yes.results_[i], no.results_[i]));
  auto now = [](const Outcome& side, const std::shared_ptr<Cell>& cell) {
    for (const auto& [own, value] : side.tensors_)
      if (own == cell) return value;
    return cell->get();
  };
  for (const auto& [cell, value] : yes.tensors_) merge.outer(cell, value, now(no, cell));
  for (const auto& [cell, value] : no.tensors_)
    if (std::none_of(yes.tensors_.begin(), yes.tensors_.end(), [&](const auto& each) { return each.first == cell; }))
      merge.outer(cell, cell->get(), value);
  auto list_of = [&](const Outcome& side, const Outcome::Seen& list) {
    for (const Outcome::Seen& own : side.lists_)
      if (own.value.items == list.value.items) return own;
    return Outcome::seen(in, list.value);
  };
  std::vector<std::pair<Value, Values>> lists;
  for (const Outcome::Seen& list : yes.lists_) lists.emplace_back(list.value, merge.items(list, list_of(no, list)));
  for (const Outcome::Seen& list : no.lists_)
    if (std::none_of(lists.begin(), lists.end(),
                     [&](const auto& each) { return each.first.items == list.value.items; }))
      lists.emplace_back(list.value, merge.items(list_of(yes, list), list));
  merge.finish(condition);
  for (auto& [list, items] : lists) in.importer().change(list) = items;
  return out;
}

}  // namespace tessera::torch
