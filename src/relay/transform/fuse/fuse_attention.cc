// FuseAttention: a matmul, a softmax along its rows and a second matmul become one kernel, in which a block of rows goes
// through all three while it is in the cache; the scores are not written to memory.
//
//   %0 = nn.batch_matmul(%q, %k); %1 = add(multiply(%0, %scale), %mask); %2 = nn.softmax(%1); nn.batch_matmul(%2, %v)
//     =>   fn (%q, %k, %mask, %v, Primitive=1, tessera.rule="attention") { ... }
//
// What moves elements about on the way in (heads that are split off and transposed, slices of one projection) and on the way
// out (the transposition back) becomes part of the kernel too: it reads and writes with strides.

#include <algorithm>
#include <unordered_set>

#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "relay/op_names.h"
#include "relay/slots.h"
#include "relay/transform/fuse/kernel_groups.h"
#include "relay/transform/passes.h"

namespace tessera::relay {
namespace {

constexpr int64_t kMaxScores = 8192;    // of scores: a few rows have to fit the cache
constexpr int64_t kMinSteps = 1 << 14;  // multiplications of a matmul below which its panels do not pay
constexpr size_t kMaxAttentionMembers = 64;
constexpr int kMaxPath = 8;  // from the softmax to the first matmul

/// Elements moved, each found by arithmetic on indices alone.
bool is_move(const Expr& expr) {
  if (expr.as<TupleGetItem>()) return true;
  auto* call = expr.as<Call>();
  if (!call) return false;
  return moves_by_index(call) ||
         (op_name(call) == ops::take && scalar_value(call->args[1]) && rank_of(call->args[1]) == 0);
}

Fusion kind_of(const Expr& expr) {
  auto* call = expr.as<Call>();
  auto* op = call ? call->op.as<OpNode>() : nullptr;
  return op ? fusion_of(Op(op)) : Fusion::Opaque;
}

class AttentionFinder {
 public:
  explicit AttentionFinder(const Expr& body) : consumers_(body) {}

  std::vector<KernelGroup> operator()() {
    std::vector<KernelGroup> out;
    for (const Expr& expr : consumers_.expressions()) {
      const Call* softmax = as_call(expr, ops::softmax);
      if (!softmax) continue;
      KernelGroup group;
      group.rule = "attention";
      if (!take_core(softmax, &group)) continue;
      take_moves_before(&group);
      take_moves_after(&group);
      if (group.members.size() <= kMaxAttentionMembers) out.push_back(std::move(group));
    }
    return out;
  }

 private:
  /// A matmul of float32 matrices, one of each for each of the leading dimension, of sizes for which panels pay.
  static bool is_matmul(const Call* call) {
    if (!call || op_name(call) != ops::batch_matmul || dtype_of(Expr(call)) != DataType::Float(32)) return false;
    auto a = fixed_shape(checked_type(call->args[0])), b = fixed_shape(checked_type(call->args[1]));
    auto c = fixed_shape(checked_type(Expr(call)));
    if (!a || !b || !c || dtype_of(call->args[0]) != DataType::Float(32) ||
        dtype_of(call->args[1]) != DataType::Float(32))
      return false;
    const int64_t k = call->attrs_as<BatchMatmulAttrs>()->transpose_a ? (*a)[1] : (*a)[2];
    return (*a)[0] == (*b)[0] && (*c)[1] * (*c)[2] * k >= kMinSteps;
  }

  /// The call that reads `expr` and is the only one to.
  const Call* next(const Expr& expr) const {
    const RelayExprNode* consumer = consumers_.only(expr);
    return consumer ? Expr(consumer).as<Call>() : nullptr;
  }

  static bool same_last(const Expr& a, const Expr& b) {
    auto left = fixed_shape(checked_type(a)), right = fixed_shape(checked_type(b));
    return left && right && left->size() >= 2 && right->size() >= 2 && left->back() == right->back() &&
           (*left)[left->size() - 2] == (*right)[right->size() - 2];
  }

  /// The two matmuls, the softmax and what lies between them: views, and functions of elements of the scores.
  bool take_core(const Call* softmax, KernelGroup* group) const {
    Expr at(softmax);
    auto shape = fixed_shape(checked_type(at));
    if (!shape || shape->size() < 2 || dtype_of(at) != DataType::Float(32) || shape->back() > kMaxScores) return false;
    const int axis = softmax->attrs_as<SoftmaxAttrs>()->axis;
    if (axis != -1 && axis + 1 != static_cast<int>(shape->size())) return false;
    group->members.insert(softmax);
    // up to the second matmul
    const Call* last = next(at);
    while (last && op_name(last) == ops::reshape && same_last(Expr(last), at)) {
      group->members.insert(last);
      last = next(Expr(last));
    }
    if (!is_matmul(last) || last->attrs_as<BatchMatmulAttrs>()->transpose_a ||
        !group->members.count(last->args[0].get()))
      return false;
    group->members.insert(last);
    group->root = last;
    return take_down(softmax->args[0], at, kMaxPath, group);
  }

  /// Down to the first matmul: one path, along which every value is a score of its own.
  bool take_down(const Expr& from, const Expr& scores, int steps, KernelGroup* group) const {
    auto* call = from.as<Call>();
    if (!call || steps == 0 || !next(from) || !same_size(from, scores) || !same_last(from, scores)) return false;
    bool found = is_matmul(call);
    if (!found && (op_name(call) == ops::reshape || kind_of(from) <= Fusion::Broadcast))
      found = std::any_of(call->args.begin(), call->args.end(),
                          [&](const Expr& arg) { return take_down(arg, scores, steps - 1, group); });
    if (found) group->members.insert(call);
    return found;
  }

  static bool same_size(const Expr& a, const Expr& b) {
    auto left = fixed_shape(checked_type(a)), right = fixed_shape(checked_type(b));
    if (!left || !right) return false;
    int64_t x = 1, y = 1;
    for (int64_t extent : *left) x *= extent;
    for (int64_t extent : *right) y *= extent;
    return x == y;
  }

  /// All that only the group reads and that moves elements, or comes after what does.
  void take_moves_before(KernelGroup* group) const {
    std::vector<Expr> found;
    std::unordered_set<const Object*> candidates;
    auto is_read_inside = [&](const Expr& expr) {
      const auto& consumers = consumers_.of(expr);
      return std::all_of(consumers.begin(), consumers.end(), [&](const RelayExprNode* consumer) {
        return consumer && (group->members.count(consumer) || candidates.count(consumer));
      });
    };
    std::vector<Expr> open;
    for (const Object* member : group->members) open.push_back(Expr(static_cast<const RelayExprNode*>(member)));
    while (!open.empty()) {
      Expr at = open.back();
      open.pop_back();
      auto offer = [&](const Expr& below) {
        if (group->members.count(below.get()) || candidates.count(below.get())) return;
        if ((!is_move(below) && kind_of(below) > Fusion::Broadcast) || !is_read_inside(below)) return;
        candidates.insert(below.get());
        found.push_back(below);
        open.push_back(below);
      };
      if (auto* call = at.as<Call>())
        for (const Expr& arg : call->args) offer(arg);
      else if (auto* get = at.as<TupleGetItem>()) offer(get->tuple);
    }
    // functions of elements stay with the matmul before them, unless something is moved below them
    std::unordered_set<const Object*> moved;
    std::sort(found.begin(), found.end(),
              [&](const Expr& a, const Expr& b) { return consumers_.position(a) < consumers_.position(b); });
    for (const Expr& expr : found) {
      bool has_move = is_move(expr);
      if (auto* call = expr.as<Call>())
        for (const Expr& arg : call->args) has_move |= moved.count(arg.get()) > 0;
      if (has_move) moved.insert(expr.get());
    }
    group->members.insert(moved.begin(), moved.end());
  }

  /// Views and transpositions of the result, up to the last transposition.
  void take_moves_after(KernelGroup* group) const {
    std::vector<const Call*> path;
    size_t last = 0;
    for (const Call* at = next(Expr(group->root)); at; at = next(Expr(at))) {
      const bool moves = op_name(at) == ops::transpose;
      if (!moves && op_name(at) != ops::reshape) break;
      path.push_back(at);
      if (moves) last = path.size();
    }
    for (size_t i = 0; i < last; ++i) group->members.insert(path[i]);
    if (last) group->root = path[last - 1];
  }

  Consumers consumers_;
};

}  // namespace

Expr fuse_attention(const Expr& body) { return close_groups(body, AttentionFinder(body)()); }

}  // namespace tessera::relay
