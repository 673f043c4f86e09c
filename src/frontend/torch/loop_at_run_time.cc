#include "frontend/torch/loop_at_run_time.h"

#include "frontend/common/loops.h"
#include "frontend/torch/changes.h"
#include "frontend/torch/lists.h"
#include "frontend/torch/promote.h"
#include "relay/inspect.h"
#include "relay/make.h"

#include <algorithm>
#include <set>

namespace tessera::torch {
namespace {

/// What the body changes is found out by importing it: each attempt knows more of that, the last one all.
class Loop {
 public:
  Loop(const Operation& in, Values states, const IterationOf& body)
      : in_(in), states_(std::move(states)), is_shared_(states_.size(), false), body_(body) {}

  Values run(const Expr& limit, const Expr& start) {
    constexpr int kMaxAttempts = 64;
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      outside_ = in_.importer().visible();
      is_whole_ = true;
      std::vector<Expr> initial;
      open_values(in_, carried(), &initial);
      LoopBody body = [this](const Expr& index, const Expr&, const std::vector<Expr>& now) {
        return iteration(index, now);
      };
      std::vector<Expr> last = recursive_loop(in_, limit, start, initial, body, 0, outside_.tensors);
      for (const auto& [list, like] : to_rows_) become_rows(list, like);
      to_rows_.clear();
      if (is_whole_) return resume(last);
    }
    in_.unsupported("a loop that changes ever more values");
  }

 private:
  /// All that goes from one iteration to the next: states, tensors that are changed in place, items of lists.
  Values carried() const {
    Values out;
    for (size_t i = 0; i < states_.size(); ++i)
      if (!is_shared_[i]) out.push_back(states_[i]);
    for (const std::shared_ptr<Cell>& cell : cells_) out.push_back(Value(cell->get()));
    out.insert(out.end(), lists_.begin(), lists_.end());
    return out;
  }

  /// Sets all that, and gives the states.
  Values resume(const std::vector<Expr>& now) {
    size_t next = 0, at = 0;
    const Values current = close_values(carried(), now, &next);
    Values states = states_;
    for (size_t i = 0; i < states.size(); ++i)
      if (!is_shared_[i]) states[i] = current[at++];
    for (const std::shared_ptr<Cell>& cell : cells_) in_.importer().change(cell, current[at++].expr());
    for (const Value& list : lists_) in_.importer().change(list) = *current[at++].items;
    return states;
  }

  LoopStep iteration(const Expr& index, const std::vector<Expr>& now) {
    JournalScope resumed(in_.importer());
    const Values before = resume(now);
    JournalScope own(in_.importer());
    Iteration step = body_(Value::number(Value::Int, index), before);
    if (step.states.size() != states_.size())
      in_.invalid("the body of a loop gives another number of values than the loop has");
    for (size_t i = 0; i < states_.size(); ++i)
      if (!is_shared_[i]) look_at_state(i, before[i], &step.states[i], own.changes);
    look_at_changes(own.changes);
    LoopStep out;
    if (!is_whole_) {
      out.condition = relay::make_scalar(0, DataType::Bool());
      out.states = now;
      return out;
    }
    out.condition = scalar_truth(in_, step.goes_on);
    Values after;
    for (size_t i = 0; i < states_.size(); ++i)
      if (!is_shared_[i]) after.push_back(step.states[i]);
    for (const std::shared_ptr<Cell>& cell : cells_) after.push_back(Value(cell->get()));
    after.insert(after.end(), lists_.begin(), lists_.end());
    open_values(in_, after, &out.states);
    if (out.states.size() != now.size()) in_.unsupported("a loop that changes the form of a value");
    return out;
  }

  void look_at_state(size_t i, const Value& before, Value* after, const Journal& changes) {
    auto holds = [](const auto& entries, const auto& object) {
      return object &&
             std::any_of(entries.begin(), entries.end(), [&](const auto& each) { return each.first == object; });
    };
    if (holds(changes.tensors, before.cell) || holds(changes.lists, before.items)) {
      if (after->cell != before.cell || after->items != before.items)
        in_.unsupported("a value that a loop of unknown length changes in place and then replaces");
      is_shared_[i] = true;
      is_whole_ = false;
      return;
    }
    const Value& was = states_[i];
    if (was.kind == Value::Uninitialized && after->kind != Value::Uninitialized) {
      states_[i] = unused_like(in_, *after);
      is_whole_ = false;
      return;
    }
    if (have_same_form(was, *after)) return;
    if (was.kind != Value::List || after->kind != Value::List)
      in_.unsupported("a loop of unknown length that changes the kind of a value");
    if (has_rows(was)) {
      *after = rows_like(*after, was);
      return;
    }
    const Value like = was.items->empty() ? after->items->back() : was.items->back();
    states_[i] =
        has_rows(*after) ? rows_like(was, *after) : list_of_rows(rows_of(in_, was, like), item_kind(in_, was, like));
    is_whole_ = false;
  }

  /// An ordinary list as rows like those of another.
  Value rows_like(const Value& list, const Value& other) const {
    const Value item = item_like(in_, other);
    return list_of_rows(rows_of(in_, list, item), item.kind);
  }

  void look_at_changes(const Journal& changes) {
    for (const auto& [cell, was] : changes.tensors) {
      if (cell->base || !outside_.cells.count(cell.get())) continue;  // parts follow what they are parts of
      if (std::find(cells_.begin(), cells_.end(), cell) != cells_.end()) continue;
      cells_.push_back(cell);
      is_whole_ = false;
    }
    std::set<const Values*> seen;
    for (const auto& [items, was] : changes.lists) {
      if (!outside_.lists.count(items.get()) || !seen.insert(items.get()).second) continue;
      Value now = Value::of(Values()), before = Value::of(Values(was));
      now.items = items;
      auto known = std::find_if(lists_.begin(), lists_.end(), [&](const Value& each) { return each.items == items; });
      if (!have_same_form(before, now)) {
        if (known != lists_.end()) lists_.erase(known);
        to_rows_.emplace_back(now, items->empty() ? was.back() : items->back());
        is_whole_ = false;
      } else if (known == lists_.end()) {
        lists_.push_back(now);
        is_whole_ = false;
      }
    }
  }

  void become_rows(const Value& list, const Value& like) const {
    if (has_rows(list)) return;
    const Value rows = like.kind == Value::Rows ? rows_like(list, Value::of(Values{like}))
                                                : list_of_rows(rows_of(in_, list, like), item_kind(in_, list, like));
    in_.importer().change(list) = *rows.items;
  }

  const Operation& in_;
  Values states_;
  std::vector<bool> is_shared_;  // states that the body changes in place: they are among what follows
  const IterationOf& body_;
  Visible outside_;
  std::vector<std::shared_ptr<Cell>> cells_;
  Values lists_;                                  // whose items change, not their number
  std::vector<std::pair<Value, Value>> to_rows_;  // lists whose number of items changes, each with an item
  bool is_whole_ = true;
};

}  // namespace

Expr scalar_truth(const Operation& in, const Value& condition) {
  Expr out = as_type(in, condition, DataType::Bool());
  return in.rank(out) == 0 ? out : relay::reshape(out, Array<PrimExpr>());
}

Values loop_at_run_time(const Operation& in, const Expr& limit, const Expr& start, Values states,
                        const IterationOf& body) {
  return Loop(in, std::move(states), body).run(limit, start);
}

}  // namespace tessera::torch
