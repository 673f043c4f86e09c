// FuseAttention: a matmul, a softmax along its rows and a second matmul become one kernel, in which a block of rows goes
// through all three while it is in the cache; the scores are not written to memory.
//
//   %0 = nn.batch_matmul(%q, %k); %1 = add(multiply(%0, %scale), %mask); %2 = nn.softmax(%1); nn.batch_matmul(%2, %v)
//     =>   fn (%q, %k, %mask, %v, Primitive=1, tessera.rule="attention") { ... }
//
// What moves elements about on the way in (heads that are split off and transposed, slices of one projection) and on the way
// out (the transposition back) becomes part of the kernel too: it reads and writes with strides. Where the copy engine of a GPU
// brings operands, that is done if each is then a tensor whose strides it takes, but for a factor that all of its elements have.

#include <algorithm>
#include <unordered_set>

#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "relay/op_names.h"
#include "relay/slots.h"
#include "relay/transform/fuse/kernel_groups.h"
#include "relay/transform/fuse/strided_view.h"
#include "relay/transform/passes.h"
#include "topi/gpu/attention.h"

namespace tessera::relay {
namespace {

constexpr int64_t kMaxScores = 8192;    // of scores: a few rows have to fit the cache
constexpr int64_t kMinSteps = 1 << 14;  // multiplications of a matmul below which its panels do not pay
constexpr size_t kMaxAttentionMembers = 64;
constexpr int kMaxPath = 8;            // from the softmax to the first matmul
constexpr size_t kMaxMoves = 16;       // of an operand that the copy engine brings
constexpr size_t kMaxBatchDigits = 3;  // by which it finds a matrix

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

/// Attention that the target has a kernel for, with what moves elements on the way in and out: of float32, and on GPUs also what fits
/// warp groups.
class AttentionFinder {
 public:
  AttentionFinder(const Expr& body, const topi::GpuMachine& gpu) : consumers_(body), gpu_(gpu) {}

  std::vector<KernelGroup> operator()() {
    std::vector<KernelGroup> out;
    for (const Expr& expr : consumers_.expressions()) {
      const Call* softmax = as_call(expr, ops::softmax);
      if (!softmax) continue;
      KernelGroup group;
      group.rule = "attention";
      if (!take_core(softmax, &group)) continue;
      if (!by_warp_groups(Expr(group.root))) take_moves_before(&group);
      take_moves_after(&group);
      if (group.members.size() <= kMaxAttentionMembers) out.push_back(std::move(group));
    }
    return out;
  }

 private:
  /// A matmul of matrices, one of each for each of the leading dimension, of sizes for which panels pay.
  bool is_matmul(const Call* call) const {
    if (!call || op_name(call) != ops::batch_matmul) return false;
    auto a = fixed_shape(checked_type(call->args[0])), b = fixed_shape(checked_type(call->args[1]));
    auto c = fixed_shape(checked_type(Expr(call)));
    if (!a || !b || !c || !is_computed(dtype_of(call->args[0])) || dtype_of(call->args[0]) != dtype_of(call->args[1]) ||
        (!by_warp_groups(call->args[0]) && dtype_of(Expr(call)) != DataType::Float(32)))
      return false;
    return (*a)[0] == (*b)[0] && (*c)[1] * (*c)[2] * depth_of(call) >= kMinSteps;
  }
  bool is_computed(DataType dtype) const {
    const bool is_narrow = dtype.is_floating() && dtype.bits == 16;
    return dtype == DataType::Float(32) || (gpu_ && gpu_->has_wgmma && is_narrow);
  }
  /// A matrix of attention, or its result: of 16 bits where warp groups multiply.
  bool by_warp_groups(const Expr& matrix) const { return gpu_ && dtype_of(matrix).bits == 16; }
  static int64_t depth_of(const Call* matmul) {
    auto a = fixed_shape(checked_type(matmul->args[0]));
    return matmul->attrs_as<BatchMatmulAttrs>()->transpose_a ? (*a)[1] : (*a)[2];
  }

  /// What a kernel of warp groups takes; panels take all that is_matmul lets pass.
  bool fits(const Call* scores, const Call* values, KernelGroup* group) const {
    auto s = fixed_shape(checked_type(Expr(scores))), o = fixed_shape(checked_type(Expr(values)));
    if (!gpu_) return true;
    const topi::GpuAttentionSize size{(*s)[1], (*s)[2], depth_of(scores), (*o)[2]};
    if (!by_warp_groups(scores->args[0])) return topi::has_thread_attention(size, gpu_);
    return topi::has_gpu_attention(size, dtype_of(scores->args[0]), gpu_) &&
           take_strided_operands({scores->args[0], scores->args[1], values->args[1]}, group);
  }

  // ---- operands that the copy engine moves ----------------------------------------------------------------------------
  /// A product with a number.
  static bool is_scaled(const Expr& expr) {
    auto* call = expr.as<Call>();
    if (!call || op_name(call) != ops::multiply) return false;
    const bool is_first = scalar_value(call->args[0]).has_value();
    return (is_first || scalar_value(call->args[1])) && rank_of(call->args[is_first ? 1 : 0]) == rank_of(expr);
  }
  static Expr below(const Expr& expr) {
    if (auto* item = expr.as<TupleGetItem>()) return item->tuple;
    auto* call = expr.as<Call>();
    return call->args[is_scaled(expr) && scalar_value(call->args[0]) ? 1 : 0];
  }

  /// What makes an operand of something else by moves, from the operand on.
  static std::vector<Expr> moves_of_operand(const Expr& operand) {
    std::vector<Expr> out;
    for (Expr at = operand; out.size() < kMaxMoves && (is_move(at) || is_scaled(at)); at = below(at)) out.push_back(at);
    return out;
  }

  /// Whether what the path makes of what is below it is matrices whose strides are multiples of 16 bytes.
  static bool has_copied_lines(const Expr& operand, const std::vector<Expr>& path) {
    constexpr int64_t kUnitBytes = 16;
    const int64_t unit = kUnitBytes / dtype_of(operand).bytes();
    std::optional<StridedView> view = whole_view(checked_type(path.empty() ? operand : below(path.back())));
    for (size_t i = path.size(); view && i-- > 0;)
      if (!is_scaled(path[i]) && !checked_type(path[i]).as<TupleType>()) view = moved_view(path[i], *view);
    if (!view || view->axes.size() != 3 || view->offset % unit != 0) return false;
    const auto &batch = view->axes[0], &rows = view->axes[1], &columns = view->axes[2];
    if (batch.size() > kMaxBatchDigits || rows.size() != 1 || columns.size() != 1) return false;
    auto is_line = [&](int64_t step, int64_t other) { return step == 1 && other % unit == 0; };
    return (is_line(columns[0].step, rows[0].step) || is_line(rows[0].step, columns[0].step)) &&
           std::all_of(batch.begin(), batch.end(), [&](const auto& digit) { return digit.step % unit == 0; });
  }

  /// Moves of operands become members where they end in what the copy engine takes; false where an operand is none either way.
  bool take_strided_operands(const std::vector<Expr>& operands, KernelGroup* group) const {
    std::vector<std::vector<Expr>> paths;
    for (const Expr& operand : operands) paths.push_back(moves_of_operand(operand));
    auto is_inside = [&](const RelayExprNode* consumer) {
      if (!consumer || group->members.count(consumer)) return consumer != nullptr;
      for (const auto& path : paths)
        for (const Expr& expr : path)
          if (expr.get() == consumer) return true;
      return false;
    };
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (size_t p = 0; p < paths.size(); ++p) {
        std::vector<Expr>& path = paths[p];
        const size_t before = path.size();
        for (size_t i = 0; i < path.size(); ++i) {
          const auto& consumers = consumers_.of(path[i]);
          if (!std::all_of(consumers.begin(), consumers.end(), is_inside)) path.resize(i);
        }
        while (!path.empty() && !has_copied_lines(operands[p], path)) path.pop_back();
        has_changed = has_changed || path.size() != before;
      }
    }
    for (size_t p = 0; p < paths.size(); ++p)
      if (!has_copied_lines(operands[p], paths[p])) return false;
    for (const auto& path : paths)
      for (const Expr& expr : path) group->members.insert(expr.get());
    return true;
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
    if (!shape || shape->size() < 2) return false;
    if (!gpu_ && (dtype_of(at) != DataType::Float(32) || shape->back() > kMaxScores)) return false;
    const int axis = softmax->attrs_as<SoftmaxAttrs>()->axis;
    if (axis != -1 && axis + 1 != static_cast<int>(shape->size())) return false;
    group->members.insert(softmax);
    // up to the second matmul
    const Call* last = next(at);
    while (last && is_view_or_cast(last) && same_last(Expr(last), at)) {
      group->members.insert(last);
      last = next(Expr(last));
    }
    if (!is_matmul(last) || last->attrs_as<BatchMatmulAttrs>()->transpose_a ||
        !group->members.count(last->args[0].get()))
      return false;
    group->members.insert(last);
    group->root = last;
    const Call* first = take_down(softmax->args[0], at, kMaxPath, group);
    return first && fits(first, last, group);
  }
  bool is_view_or_cast(const Call* call) const {
    return op_name(call) == ops::reshape || (gpu_ && op_name(call) == ops::cast);
  }

  /// Down to the first matmul, which it gives: one path, along which every value is a score of its own.
  const Call* take_down(const Expr& from, const Expr& scores, int steps, KernelGroup* group) const {
    auto* call = from.as<Call>();
    if (!call || steps == 0 || !next(from) || !same_size(from, scores) || !same_last(from, scores)) return nullptr;
    const Call* found = is_matmul(call) ? call : nullptr;
    if (!found && (op_name(call) == ops::reshape || kind_of(from) <= Fusion::Broadcast))
      for (const Expr& arg : call->args)
        if ((found = take_down(arg, scores, steps - 1, group))) break;
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
    const Expr result(group->root);
    std::optional<StridedView> view = whole_view(checked_type(result));
    for (const Call* at = next(result); at; at = next(Expr(at))) {
      const bool moves = op_name(at) == ops::transpose;
      if (!moves && op_name(at) != ops::reshape) break;
      path.push_back(at);
      if (gpu_ && view) view = moved_view(Expr(at), *view);
      if (gpu_ && (!view || !is_stored_by_axes(*view, result))) continue;
      if (moves) last = path.size();
    }
    for (size_t i = 0; i < last; ++i) group->members.insert(path[i]);
    if (last) group->root = path[last - 1];
  }
  /// Each axis of what becomes of the result is part of one axis of it: its elements are stored where they go.
  static bool is_stored_by_axes(const StridedView& view, const Expr& result) {
    const StridedView axes = *whole_view(checked_type(result));
    return std::all_of(view.axes.begin(), view.axes.end(), [&](const auto& digits) {
      if (digits.empty()) return true;
      return digits.size() == 1 && std::any_of(axes.axes.begin(), axes.axes.end(), [&](const auto& axis) {
               const int64_t end = axis[0].step * axis[0].extent;
               return digits[0].step >= axis[0].step && digits[0].step * digits[0].extent <= end;
             });
    });
  }

  Consumers consumers_;
  topi::GpuMachine gpu_;  // empty for CPUs
};

}  // namespace

Expr fuse_attention(const Expr& body, const GraphEnvironment& environment) {
  const Target& target = environment.target;
  const bool is_gpu = target && target.has_key("gpu");
  const topi::GpuMachine gpu = is_gpu ? topi::gpu_machine_of(target) : nullptr;
  return close_groups(body, AttentionFinder(body, gpu)());
}

}  // namespace tessera::relay
