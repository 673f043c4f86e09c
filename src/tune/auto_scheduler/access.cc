// Reads of a DAG, gathered once.

#include "tune/auto_scheduler/access.h"

#include <algorithm>
#include <unordered_set>

#include "ir/builtin.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"

namespace tessera::auto_scheduler {
namespace {

/// Reads of an operation as they stand in its bodies, and whether these branch or call functions that take long.
struct Extracted {
  std::vector<std::pair<te::Operation, std::vector<Array<PrimExpr>>>> reads;
  bool has_branch = false, is_expensive = false;
};

Extracted extract(const te::ComputeOp* op) {
  Extracted out;
  std::unordered_map<const Object*, size_t> seen;
  for (const PrimExpr& body : op->body)
    walk(
        body,
        [&](const ProducerLoad* load) {
          auto* tensor = load->producer.as<te::TensorNode>();
          if (!tensor) return;
          auto [it, is_new] = seen.try_emplace(tensor->op.get(), out.reads.size());
          if (is_new) out.reads.push_back({tensor->op, {}});
          out.reads[it->second].second.push_back(load->indices);
        },
        [&](const Select*) { out.has_branch = true; },
        [&](const Call* call) {
          if (is_call(call, "tir.if_then_else")) out.has_branch = true;
          if (is_call(call, "tir.exp")) out.is_expensive = true;
        });
  return out;
}

struct Simple {
  bool holds = true, axis_missing = false, axis_duplicated = false, same_order = true;
};

Simple simple_access(const te::ComputeOp* op, const Array<PrimExpr>& indices) {
  Simple out;
  std::vector<size_t> order;
  std::vector<int> counts(op->axis.size());
  for (const PrimExpr& index : indices) {
    if (as_int(index)) continue;
    size_t at = 0;
    while (at < op->axis.size() && !is_shifted(index, op->axis[at])) ++at;
    if (at == op->axis.size()) return {false};
    order.push_back(at);
    ++counts[at];
  }
  for (int count : counts) {
    out.axis_missing |= count == 0;
    out.axis_duplicated |= count > 1;
  }
  out.same_order = std::is_sorted(order.begin(), order.end());
  return out;
}

bool needs_tiling(const te::ComputeOp* op, const Extracted& extracted) {
  if (op->attrs.count("auto_scheduler_simplify_const_tensor_indices")) return false;
  int missing = 0;
  for (const auto& [producer, accesses] : extracted.reads) {
    std::unordered_set<const Object*> vars;
    for (const Array<PrimExpr>& indices : accesses)
      for (const PrimExpr& index : indices) walk(index, [&](const VarNode* var) { vars.insert(var); });
    bool is_missing = false;
    for (const IterVar& axis : op->axis) {
      const int64_t* extent = as_int(axis->dom->extent);
      is_missing |= !vars.count(axis->var.get()) && (!extent || *extent > 1);
    }
    missing += is_missing;
    if (missing >= 2 || (missing >= 1 && !op->reduce_axis.empty())) return true;
  }
  return false;
}

bool same_shape(const Array<IterVar>& a, const Array<IterVar>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!expr_equal(a[i]->dom->extent, b[i]->dom->extent)) return false;
  return true;
}

}  // namespace

bool is_shifted(const PrimExpr& index, const IterVar& axis) {
  if (index.same_as(axis->var)) return true;
  auto* sum = index.as<BinaryNode>();
  if (!sum || !(index.as<Add>() || index.as<Sub>())) return false;
  if (sum->a.same_as(axis->var) && as_int(sum->b)) return true;
  return index.as<Add>() && sum->b.same_as(axis->var) && as_int(sum->a);
}

Accesses::Accesses(const Array<te::Operation>& ops) {
  for (const te::Operation& op : ops) {
    OpFacts& facts = facts_[op.get()];
    facts.is_simple_access = true;
    auto* compute = op.as<te::ComputeOp>();
    if (!compute) continue;
    Extracted extracted = extract(compute);
    facts.is_strictly_inlineable = !extracted.has_branch && !extracted.is_expensive;
    for (const auto& [producer, accesses] : extracted.reads)
      for (const Array<PrimExpr>& indices : accesses) {
        Simple simple = simple_access(compute, indices);
        facts.is_simple_access &= simple.holds;
        facts.is_strictly_inlineable &= simple.holds && simple.same_order && !simple.axis_duplicated;
      }
    if (extracted.reads.empty()) facts.is_strictly_inlineable = true;  // a constant
    facts.needs_multi_level_tiling = needs_tiling(compute, extracted);
    for (const auto& [producer, accesses] : extracted.reads) facts_[producer.get()].consumers.push_back(op);
    facts_[op.get()].reads = std::move(extracted.reads);
  }
  for (const te::Operation& op : ops)
    if (op.as<te::ComputeOp>()) facts_[op.get()].is_output = facts_[op.get()].consumers.empty();
}

const OpFacts& Accesses::of(const te::Operation& op) const {
  auto found = facts_.find(op.get());
  if (found == facts_.end()) throw Error(ValueError) << "auto_scheduler: " << op->name << " is not part of the DAG";
  return found->second;
}

int Accesses::common_outer_axes(const te::Operation& op, const te::Operation& consumer) const {
  auto *producer = op.as<te::ComputeOp>(), *reader = consumer.as<te::ComputeOp>();
  if (!producer || !reader) return 0;
  const std::vector<Array<PrimExpr>>* accesses = nullptr;
  for (const auto& [read, list] : of(consumer).reads)
    if (read.same_as(op)) accesses = &list;
  if (!accesses) return 0;
  size_t count = 0;
  for (; count < std::min(producer->axis.size(), reader->axis.size()); ++count) {
    if (!expr_equal(producer->axis[count]->dom->extent, reader->axis[count]->dom->extent)) break;
    bool is_same = true;
    for (const Array<PrimExpr>& indices : *accesses) is_same &= is_shifted(indices[count], reader->axis[count]);
    if (!is_same) break;
  }
  return static_cast<int>(count);
}

bool Accesses::is_elementwise_match(const te::Operation& op, const te::Operation& target) const {
  for (te::Operation at = op; !at.same_as(target);) {
    const OpFacts& facts = of(at);
    if (facts.consumers.size() != 1) return false;
    te::Operation next = facts.consumers[0];
    auto *from = at.as<te::ComputeOp>(), *to = next.as<te::ComputeOp>();
    if (!from || !to || !same_shape(from->axis, to->axis)) return false;
    for (const auto& [read, accesses] : of(next).reads) {
      if (!read.same_as(at)) continue;
      for (const Array<PrimExpr>& indices : accesses) {
        Simple simple = simple_access(to, indices);
        if (!simple.holds || simple.axis_missing || simple.axis_duplicated || !simple.same_order) return false;
      }
    }
    at = next;
  }
  return true;
}

}  // namespace tessera::auto_scheduler
