#include "kernel/rules/extent_versions.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/structural/expr_equal.h"
#include "relay/slots.h"
#include "relay/type/infer_type.h"
#include "relay/type/retyped.h"
#include "relay/type/rule.h"

namespace tessera::kernel {
namespace {

constexpr const char* kName = "extent_versions";

/// Two extents, of which the first is a variable: they are equal or one of them is 1.
struct Pair {
  PrimExpr var, other;
  bool operator==(const Pair& pair) const { return var.same_as(pair.var) && expr_equal(other, pair.other); }
};

/// The primitive function with its assumptions about extents.
struct Assumed {
  relay::Function function;
  std::vector<Pair> pairs;  // that may be broadcast to each other
};

/// Alternatives of a condition that are equations between extents.
void add_pairs(const PrimExpr& condition, std::vector<Pair>* out) {
  if (auto* either = condition.as<Or>()) {
    add_pairs(either->a, out);
    add_pairs(either->b, out);
    return;
  }
  auto* equation = condition.as<EQ>();
  if (!equation || is_one(equation->a) || is_one(equation->b)) return;
  auto is_extent = [](const PrimExpr& e) { return e.as<VarNode>() || as_int(e); };
  if (!is_extent(equation->a) || !is_extent(equation->b)) return;
  if (equation->b.as<VarNode>()) out->push_back({equation->b, equation->a});
  else if (equation->a.as<VarNode>()) out->push_back({equation->a, equation->b});
}

Assumed assumed(const relay::Function& primitive) {
  relay::ExtentAssumptions given;
  std::vector<Type> types;
  for (const relay::Var& param : primitive->params) types.push_back(relay::checked_type(param));
  Assumed out{downcast<relay::Function>(relay::infer_type(relay::Expr(relay::retyped(primitive, types)))), {}};
  for (const PrimExpr& condition : given.conditions)
    if (condition.as<Or>()) add_pairs(condition, &out.pairs);
  return out;
}

relay::Function with_extent(const relay::Function& primitive, const PrimExpr& var, const PrimExpr& value) {
  std::vector<Type> types;
  for (const relay::Var& param : primitive->params)
    types.push_back(relay::map_extents(relay::checked_type(param),
                                       [&](const PrimExpr& extent) { return extent.same_as(var) ? value : extent; }));
  return relay::retyped(primitive, types);
}

/// The version in which all pairs that `chosen` names are equal.
ExtentVersion where_equal(const relay::Function& primitive, const std::function<bool(const Pair&)>& chosen) {
  ExtentVersion out{bool_imm(true), primitive};
  for (;;) {
    const Assumed now = assumed(out.function);
    out.function = now.function;
    auto pair = std::find_if(now.pairs.begin(), now.pairs.end(), chosen);
    if (pair == now.pairs.end()) return out;
    out.condition = logical_and(out.condition, equal(pair->var, pair->other));
    ++out.equations;
    out.function = with_extent(out.function, pair->var, pair->other);
  }
}

/// The version in which a variable is 1.
ExtentVersion where_one(const relay::Function& primitive, const PrimExpr& var) {
  return {equal(var, PrimExpr(1)), assumed(with_extent(primitive, var, int_imm(var.dtype(), 1))).function, 1};
}

/// True of pairs along the last axis of a parameter.
bool is_last(const relay::Function& primitive, const Pair& pair) {
  for (const relay::Var& param : primitive->params)
    for (const TensorType& type : tensors_of(relay::checked_type(param)))
      if (!type->shape.empty() && (type->shape.back().same_as(pair.var) || type->shape.back().same_as(pair.other)))
        return true;
  return false;
}

bool only_broadcasts(const Workload& workload) {
  return relay::fusion_of(Op(workload.anchor->op.as<OpNode>())) <= relay::Fusion::Broadcast;
}

bool has_dynamic_extents(const relay::Function& primitive) {
  for (const relay::Var& param : primitive->params)
    for (const TensorType& type : tensors_of(relay::checked_type(param)))
      for (const PrimExpr& extent : type->shape)
        if (extent.as<VarNode>()) return true;
  return false;
}

/// Those that the anchor broadcasts itself: matmuls do so matrix by matrix, not element by element.
std::vector<Pair> pairs_of_anchor(const Workload& workload) {
  relay::Function alone = with(workload.primitive, &relay::FunctionNode::body, relay::Expr(workload.anchor));
  return assumed(with(alone, &relay::FunctionNode::ret_type, Type())).pairs;
}

PrimFunc scheduled(Subject& subject, const relay::Function& function) {
  static const std::vector<ScheduleRule> rules = [] {
    std::vector<ScheduleRule> out = schedule_rules();
    std::erase_if(out, [](const ScheduleRule& rule) { return std::string_view(rule.name) == kName; });
    return out;
  }();
  const Workload workload = workload_of(function, subject.workload->target);
  Subject inner{.environment = subject.environment, .kernel = subject.kernel, .workload = &workload};
  ICHECK(apply_cheapest(rules, RuleScope::Kernel, inner)) << "programs of blocks fit any kernel";
  for (const std::string& rule : inner.chosen.rules)
    if (std::ranges::find(subject.chosen.rules, rule) == subject.chosen.rules.end())
      subject.chosen.rules.push_back(rule);
  subject.chosen.plans.insert(subject.chosen.plans.end(), inner.chosen.plans.begin(), inner.chosen.plans.end());
  return inner.scheduled;
}

/// The program of a version, on buffers of the whole kernel.
Stmt on_buffers(const PrimFunc& version, const std::vector<Buffer>& buffers) {
  Stmt body = version->body;
  ICHECK(buffers.size() == version->params.size()) << "a kernel has a parameter for each of its tensors";
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Var& data = version->buffer_map[version->params[i]]->data;
    BufferNode flat(*buffers[i]);
    flat.shape = {int_imm(DataType::Int(64), 1)};
    const PrimExpr first = make_load(make(std::move(flat)), {int_imm(DataType::Int(64), 0)});
    body = make(
        LetStmt{.var = data, .value = make_call(DataType::Handle(), builtin::address_of(), {first}), .body = body});
  }
  return body;
}

}  // namespace

std::optional<Plan> match_extent_versions(Subject& subject) {
  const Workload& workload = *subject.workload;
  if (!workload.anchor || !has_dynamic_extents(workload.primitive)) return std::nullopt;
  const relay::Function& primitive = workload.primitive;
  const bool does_more = !only_broadcasts(workload);
  const std::vector<Pair> of_anchor = does_more ? pairs_of_anchor(workload) : std::vector<Pair>();
  auto matters = [&](const Pair& pair) { return std::ranges::find(of_anchor, pair) == of_anchor.end(); };
  std::vector<Pair> pairs = assumed(primitive).pairs;
  std::erase_if(pairs, [&](const Pair& pair) { return !matters(pair); });
  if (pairs.empty()) return std::nullopt;
  std::vector<Pair> last;
  for (const Pair& pair : pairs)
    if (is_last(primitive, pair)) last.push_back(pair);
  std::vector<ExtentVersion> versions{where_equal(primitive, matters)};
  const ExtentVersion general{bool_imm(true), primitive};
  if (last.empty() || does_more) {
    versions.push_back(general);
    return Plan(versions);
  }
  const ExtentVersion rows_equal = where_equal(primitive, [&](const Pair& pair) { return is_last(primitive, pair); });
  if (last.size() < pairs.size()) versions.push_back(rows_equal);
  if (rows_equal.equations == 1) {  // where it does not hold, one of the two is 1
    versions.push_back(where_one(primitive, last[0].var));
    if (last[0].other.as<VarNode>()) versions.push_back(where_one(primitive, last[0].other));
    versions.back().condition = bool_imm(true);  // there is no other case
  } else {
    versions.push_back(general);
  }
  return Plan(versions);
}

void apply_extent_versions(Subject& subject, const Plan& plan) {
  const relay::Function& primitive = subject.workload->primitive;
  std::vector<TensorType> types;
  auto add = [&](const Type& type) {
    for (const TensorType& tensor : tensors_of(type)) types.push_back(tensor);
  };
  for (const relay::Var& param : primitive->params) add(relay::checked_type(param));
  add(relay::checked_type(primitive->body));
  subject.chosen.rules.emplace_back(kName);
  std::vector<Buffer> buffers;
  for (const TensorType& type : types)
    buffers.push_back(decl_buffer(type->shape, type->dtype, "t" + std::to_string(buffers.size())));
  const auto& versions = plan.as<std::vector<ExtentVersion>>();
  PrimFunc last;
  Stmt body;
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    PrimFunc function = scheduled(subject, version->function);
    Stmt part = on_buffers(function, buffers);
    body = !body ? part : Stmt(make(IfThenElse{.condition = version->condition, .then_case = part, .else_case = body}));
    if (!last) last = function;
  }
  PrimFuncNode out(*last);
  out.buffer_map = {};
  for (size_t i = 0; i < buffers.size(); ++i) out.buffer_map.set(out.params[i], buffers[i]);
  out.body = body;
  subject.scheduled = make(std::move(out));
}

}  // namespace tessera::kernel
