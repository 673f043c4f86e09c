#include "kernel/rules/leading_axes.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/equal.h"
#include "kernel/rules/group_rules.h"
#include "relay/type/infer_type.h"
#include "relay/type/retyped.h"
#include "tir/parallel.h"
#include "topi/cpu/cost_model.h"

namespace tessera::kernel {
namespace {

constexpr int64_t kMinElements = 128;       // of an iteration that reduces nothing
constexpr int64_t kMinReduced = 32;         // of one that does
constexpr int64_t kManyElements = 1 << 15;  // of an iteration that threads share
constexpr int64_t kMinReuse = 8;            // of each element of a weight in an iteration
constexpr int64_t kLikelyExtent =
    4;  // at least, of a dynamic axis inside an iteration: both of an image are enough reuse

using Extents = std::vector<Var>;

bool uses_any(const ObjectRef& root, const Extents& vars) {
  return uses_var(root, [&](const VarNode* var) {
    return std::any_of(vars.begin(), vars.end(), [&](const Var& each) { return each.get() == var; });
  });
}

/// The leading extents are the axes in order or free of them, the others free of them.
bool has_leading(const Array<PrimExpr>& shape, const Extents& axes) {
  for (size_t i = 0; i < shape.size(); ++i)
    if (!(i < axes.size() && shape[i].same_as(axes[i])) && uses_any(shape[i], axes)) return false;
  return true;
}

/// The operations behind tensors, each once.
std::vector<const te::OperationNode*> operations_of(const Array<te::Tensor>& outputs) {
  std::vector<const te::OperationNode*> out;
  std::unordered_set<const Object*> seen;
  std::vector<te::Operation> open;
  for (const te::Tensor& tensor : outputs) open.push_back(tensor->op);
  while (!open.empty()) {
    te::Operation op = open.back();
    open.pop_back();
    if (!seen.insert(op.get()).second) continue;
    out.push_back(op.get());
    for (const te::Tensor& input : te::input_tensors(op.get())) open.push_back(input->op);
  }
  return out;
}

/// Loads as zeros: what is left of an expression besides them.
PrimExpr without_loads(const PrimExpr& e) {
  return rewrite(e, [](const ProducerLoad* load) -> PrimExpr { return make_zero(load->dtype); });
}

/// Where a shape has each of the axes, once at most and alone; nothing where it uses them otherwise.
std::optional<std::vector<int>> positions_of(const Array<PrimExpr>& shape, const Extents& axes) {
  std::vector<int> out(axes.size(), -1);
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (!uses_any(shape[dim], axes)) continue;
    size_t axis = 0;
    while (axis < axes.size() && !shape[dim].same_as(axes[axis])) ++axis;
    if (axis == axes.size() || out[axis] >= 0) return std::nullopt;
    out[axis] = static_cast<int>(dim);
  }
  return out;
}

/// An iteration computes its elements from its own and from what all share. Between the first and the last tensor the axes may
/// stand anywhere, as those of Winograd's tiles do.
bool is_separate(const te::ComputeOp* op, const Extents& axes) {
  Array<PrimExpr> extents;
  for (const IterVar& axis : op->axis) extents.push_back(axis->dom->extent);
  const std::optional<std::vector<int>> mine = positions_of(extents, axes);
  if (!mine) return false;
  Extents own;  // the variables of the leading axes that this operation has
  for (int dim : *mine)
    if (dim >= 0) own.push_back(op->axis[static_cast<size_t>(dim)]->var);
  for (const IterVar& axis : op->reduce_axis)
    if (uses_any(axis->dom->min, axes) || uses_any(axis->dom->extent, axes)) return false;
  auto is_free = [&](const PrimExpr& e) {
    const PrimExpr rest = without_loads(e);
    return !uses_any(rest, own) && !uses_any(rest, axes);
  };
  auto reads_own = [&](const ProducerLoad* load) {
    const auto there = positions_of(downcast<te::Tensor>(load->producer)->shape, axes);
    if (!there) return false;
    for (size_t dim = 0; dim < load->indices.size(); ++dim) {
      const auto axis = std::find(there->begin(), there->end(), static_cast<int>(dim));
      if (axis == there->end()) {
        if (!is_free(load->indices[dim])) return false;
        continue;
      }
      const int here = (*mine)[static_cast<size_t>(axis - there->begin())];
      if (here < 0 || !load->indices[dim].same_as(op->axis[static_cast<size_t>(here)]->var)) return false;
    }
    return true;
  };
  bool fits = true;
  for (const PrimExpr& body : op->body) {
    walk(body, [&](const ProducerLoad* load) { fits = fits && reads_own(load); });
    if (auto* reduce = body.as<Reduce>()) {
      for (const PrimExpr& source : reduce->source) fits = fits && is_free(source);
      fits = fits && is_free(reduce->condition);
    } else {
      fits = fits && is_free(body);
    }
  }
  return fits;
}

int64_t known_elements(const Array<PrimExpr>& shape) {
  int64_t out = 1;
  for (const PrimExpr& extent : shape)
    if (const int64_t* number = as_int(extent)) out *= std::max<int64_t>(*number, 1);
  return out;
}

/// How often an iteration reads each element of the operand that it reads least often, of those that iterations share: a matmul of
/// few rows should see all of them at once.
int64_t least_reuse(const te::ComputeOp* op, const Extents& axes) {
  int64_t least = INT64_MAX;
  std::vector<const ProducerLoad*> loads;
  for (const PrimExpr& body : op->body) walk(body, [&](const ProducerLoad* load) { loads.push_back(load); });
  if (op->reduce_axis.empty() || loads.size() < 2) return least;
  for (const ProducerLoad* load : loads) {
    const Array<PrimExpr>& shape = downcast<te::Tensor>(load->producer)->shape;
    const auto there = positions_of(shape, axes);
    const bool has_all = there && std::find(there->begin(), there->end(), -1) == there->end();
    if (has_all || known_elements(shape) == 1) continue;
    int64_t reuse = 1;
    for (const IterVar& axis : op->axis) {
      if (uses_var(load->indices, axis->var) || uses_any(axis->dom->extent, axes)) continue;
      const int64_t* extent = as_int(axis->dom->extent);
      reuse *= extent ? *extent : kLikelyExtent;
    }
    least = std::min(least, reuse);
  }
  return least;
}

bool is_worth_it(const std::vector<const te::OperationNode*>& operations, const Extents& axes, int64_t* elements) {
  bool reduces = false, is_fixed = true;
  *elements = 1;
  for (const te::OperationNode* op : operations) {
    auto* compute = cast_or_null<te::ComputeOp>(op);
    auto* given = cast_or_null<te::PlaceholderOp>(op);
    Array<PrimExpr> shape = given ? given->shape : Array<PrimExpr>();
    if (compute) {
      for (const IterVar& axis : compute->axis) shape.push_back(axis->dom->extent);
      reduces |= !compute->reduce_axis.empty();
      if (least_reuse(compute, axes) < kMinReuse) return false;
    }
    for (const PrimExpr& extent : shape) is_fixed &= as_int(extent) || uses_any(extent, axes);
    if (uses_any(shape, axes)) *elements = std::max(*elements, known_elements(shape));
  }
  return reduces ? *elements >= kMinReduced : is_fixed && *elements >= kMinElements;
}

Type with_ones(const Type& type, const Extents& axes) {
  return relay::map_extents(type, [&](const PrimExpr& extent) {
    for (const Var& axis : axes)
      if (extent.same_as(axis)) return int_imm(extent.dtype(), 1);
    return extent;
  });
}

/// The function of one iteration; empty where its results are not those of the function with extents of 1.
relay::Function one_iteration(const relay::Function& primitive, const Extents& axes) {
  std::vector<Type> types;
  for (const relay::Var& param : primitive->params) types.push_back(with_ones(relay::checked_type(param), axes));
  auto out = downcast<relay::Function>(relay::infer_type(relay::Expr(relay::retyped(primitive, types))));
  const Type wanted = with_ones(relay::checked_type(primitive->body), axes);
  return structural_equal(relay::checked_type(out->body), wanted) ? out : nullptr;
}

/// The variables that all results begin with.
Extents leading_extents(const Type& result) {
  Extents out;
  bool is_first = true;
  for (const TensorType& tensor : tensors_of(result)) {
    Extents mine;
    for (const PrimExpr& extent : tensor->shape) {
      if (!extent.as<VarNode>()) break;
      mine.push_back(downcast<Var>(extent));
    }
    if (is_first) out = mine;
    is_first = false;
    size_t same = 0;
    while (same < std::min(out.size(), mine.size()) && out[same].same_as(mine[same])) ++same;
    out.resize(same);
  }
  for (size_t i = 0; i < out.size(); ++i)
    if (std::find_if(out.begin(), out.begin() + static_cast<long>(i),
                     [&](const Var& other) { return other.same_as(out[i]); }) != out.begin() + static_cast<long>(i)) {
      out.resize(i);
      break;
    }
  return out;
}

/// The number of the iteration as the index of the first element of its part of a tensor of this shape.
PrimExpr first_element(const Array<PrimExpr>& shape, const Extents& axes, const Var& iteration) {
  const DataType wide = DataType::Int(64);
  PrimExpr size = int_imm(wide, 1), out, rest = iteration;
  for (size_t i = shape.size(); i-- > axes.size();) size = size * cast(wide, shape[i]);
  auto has = [&](size_t i) { return i < shape.size() && shape[i].same_as(axes[i]); };
  size_t first = 0;  // all axes from it on are there, none before it
  while (first < axes.size() && !has(first)) ++first;
  bool is_suffix = true;
  for (size_t i = first; i < axes.size(); ++i) is_suffix &= has(i);
  if (first == axes.size()) return int_imm(wide, 0);
  if (is_suffix) {
    PrimExpr period = PrimExpr(1);
    for (size_t i = first; i < axes.size(); ++i) period = period * axes[i];
    return cast(wide, first == 0 ? rest : floormod(rest, period)) * size;
  }
  for (size_t i = axes.size(); i-- > 0;) {
    PrimExpr index = i == 0 ? rest : floormod(rest, axes[i]);
    if (i > 0) rest = floordiv(rest, axes[i]);
    if (!has(i)) continue;
    out = out ? out + cast(wide, index) * size : cast(wide, index) * size;
    size = size * cast(wide, axes[i]);
  }
  return out;
}

bool has_parallel_loop(const Stmt& body) {
  bool found = false;
  walk(body, [&](const For* loop) { found |= loop->kind == LoopKind::Parallel; });
  return found;
}

/// Iterations of few elements are shared between threads, not what each of them does.
Stmt without_launches(const Stmt& body, int64_t elements) {
  bool has_launch_point = false;  // its loops are numbered by thread
  walk(body, [&](const For* loop) { has_launch_point |= loop->annotations.count(attr::kParallelLaunchPoint) > 0; });
  if (has_launch_point || elements >= kManyElements) return body;
  return rewrite(body, [](Rewriter& self, const For* loop) -> Stmt {
    auto inside = self.children(loop);
    return loop->kind == LoopKind::Parallel ? with(inside, &For::kind, LoopKind::Serial) : inside;
  });
}

/// The program of one iteration in a loop over all: its pointers are those of the parameters moved by what lies before.
PrimFunc looped(const PrimFunc& one, const std::vector<TensorType>& types, const LeadingAxes& found) {
  PrimFuncNode out(*one);
  out.buffer_map = {};
  PrimExpr count = PrimExpr(1);
  for (const Var& extent : found.extents) count = count * extent;
  Var iteration = make_var("iteration");
  Stmt body = without_launches(one->body, found.elements);
  const bool is_shared = has_parallel_loop(body);
  ICHECK(types.size() == one->params.size()) << "a kernel has a parameter for each of its tensors";
  for (size_t i = 0; i < types.size(); ++i) {
    const Buffer inner = one->buffer_map[one->params[i]];
    Buffer whole = decl_buffer(types[i]->shape, inner->dtype, inner->name);
    BufferNode flat(*whole);
    PrimExpr size = int_imm(DataType::Int(64), 1);
    for (const PrimExpr& extent : types[i]->shape) size = size * cast(DataType::Int(64), extent);
    flat.shape = {size};
    out.buffer_map.set(one->params[i], whole);
    PrimExpr first = make_load(make(std::move(flat)), {first_element(types[i]->shape, found.extents, iteration)});
    body = make(LetStmt{
        .var = inner->data, .value = make_call(DataType::Handle(), builtin::address_of(), {first}), .body = body});
  }
  For loop{.loop_var = iteration, .min = PrimExpr(0), .extent = count, .body = body};
  if (!is_shared) {
    loop.kind = LoopKind::Parallel;
    const int64_t enough = topi::ParallelThreshold::elements / std::max<int64_t>(1, found.elements);
    loop.annotations = {{String(attr::kMinParallelExtent), int_imm(DataType::Int(32), std::max<int64_t>(2, enough))}};
  }
  out.body = make(std::move(loop));
  return make(std::move(out));
}

}  // namespace

std::optional<Plan> match_leading_axes(Subject& subject) {
  const relay::Function& primitive = subject.workload->primitive;
  Extents axes = leading_extents(relay::checked_type(primitive->body));
  if (axes.empty()) return std::nullopt;
  const KernelTensors tensors = kernel_tensors(*subject.workload, subject.environment);
  const std::vector<const te::OperationNode*> operations = operations_of(tensors.outputs);
  auto is_possible = [&] {
    return std::all_of(operations.begin(), operations.end(), [&](const te::OperationNode* op) {
      if (auto* given = cast_or_null<te::PlaceholderOp>(op)) return has_leading(given->shape, axes);
      auto* compute = cast_or_null<te::ComputeOp>(op);
      return compute && is_separate(compute, axes);
    });
  };
  for (; !axes.empty(); axes.pop_back()) {
    LeadingAxes found{.extents = axes};
    if (!is_possible() || !is_worth_it(operations, axes, &found.elements)) continue;
    found.iteration = one_iteration(primitive, axes);
    if (found.iteration) return Plan(found);
  }
  return std::nullopt;
}

void apply_leading_axes(Subject& subject, const Plan& plan) {
  const auto& found = plan.as<LeadingAxes>();
  const Workload one = workload_of(found.iteration, subject.workload->target);
  Subject inner{.environment = subject.environment, .kernel = subject.kernel, .workload = &one};
  ICHECK(apply_cheapest(schedule_rules(), RuleScope::Kernel, inner)) << "programs of blocks fit any kernel";
  std::vector<TensorType> types;
  auto add = [&](const Type& type) {
    for (const TensorType& tensor : tensors_of(type)) types.push_back(tensor);
  };
  for (const relay::Var& param : subject.workload->primitive->params) add(relay::checked_type(param));
  add(relay::checked_type(subject.workload->primitive->body));
  subject.scheduled = looped(inner.scheduled, types, found);
  subject.chosen.rules.emplace_back("leading_axes");
  for (const std::string& rule : inner.chosen.rules) subject.chosen.rules.push_back(rule);
  subject.chosen.plans.insert(subject.chosen.plans.end(), inner.chosen.plans.begin(), inner.chosen.plans.end());
}

}  // namespace tessera::kernel
