// Says of every value on which device it is. Programs mark values by `on_device`; what an operator takes and gives is on
// one device, a variable is where its value is, a called function's parameters are where its arguments are. What nothing
// says anything of is on the default device, and conditions are on the host. Where a marked value is used elsewhere, it
// is copied:
//
//   add(on_device(exp(%x), cuda), %y)   =>   %0 = exp(%x); %1 = device_copy(%0, cuda, cpu); add(%1, %y)
//
// Afterwards there is no `on_device`, and the field `virtual_device_` of variables, functions (where their result is) and
// calls tells the device.

#include <memory>
#include <numeric>

#include "ir/rewrite.h"
#include "ir/structural/equal.h"
#include "ir/target/virtual_device.h"
#include "relay/attrs/annotation.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/print_text.h"
#include "relay/rename.h"
#include "relay/scopes.h"
#include "relay/transform/passes.h"
#include "relay/type/infer_type.h"
#include "runtime/device.h"

namespace tessera::relay {
namespace {

/// Where a value is: a domain, or, of a function, the domains of its parameters and, last, of its result.
struct Domain {
  int id = -1;
  std::shared_ptr<std::vector<Domain>> parts;
};

std::string device_words(const VirtualDevice& device) {
  if (!device || device->device_type_int < 0) return "some device";
  return device_text({static_cast<DLDeviceType>(device->device_type_int), std::max(device->virtual_device_id, 0)});
}

/// The device domains of a program, merged where they must be one.
class DomainSolver {
 public:
  explicit DomainSolver(CompilationConfig config) : config_(std::move(config)) {}

  Domain fresh(const Type& type) {
    Domain out;
    auto* function = type.as<FuncType>();
    if (!function) {
      out.id = static_cast<int>(parents_.size());
      parents_.push_back(out.id);
      devices_.emplace_back();
      return out;
    }
    out.parts = std::make_shared<std::vector<Domain>>();
    for (const Type& arg : function->arg_types) out.parts->push_back(fresh(arg));
    out.parts->push_back(fresh(function->ret_type));
    return out;
  }

  void same(const Domain& a, const Domain& b, const Expr& where) {
    if (a.parts && b.parts && a.parts->size() == b.parts->size()) {
      for (size_t i = 0; i < a.parts->size(); ++i) same((*a.parts)[i], (*b.parts)[i], where);
    } else if (a.parts) {  // a function where its type is not known: all its values are in one domain
      for (const Domain& part : *a.parts) same(part, b, where);
    } else if (b.parts) {
      same(b, a, where);
    } else {
      merge(root(a.id), root(b.id), where);
    }
  }

  void is_on(const Domain& domain, const VirtualDevice& device, const Expr& where) {
    if (domain.parts) {
      is_on(domain.parts->back(), device, where);
      return;
    }
    int at = root(domain.id);
    VirtualDevice merged = join(devices_[at], with_target(config_, device));
    if (!merged) clash(devices_[at], device, where);
    devices_[at] = merged;
  }

  /// The device of a value; of a function, of its result.
  VirtualDevice device(const Domain& domain) {
    if (domain.parts) return device(domain.parts->back());
    VirtualDevice& known = devices_[root(domain.id)];
    if (!known) known = config_->default_primitive_virtual_device;
    return known;
  }

 private:
  int root(int at) {
    while (parents_[at] != at) at = parents_[at] = parents_[parents_[at]];
    return at;
  }
  void merge(int a, int b, const Expr& where) {
    if (a == b) return;
    bool open = !devices_[a] || !devices_[b];
    VirtualDevice merged = open ? (devices_[a] ? devices_[a] : devices_[b]) : join(devices_[a], devices_[b]);
    if (!open && !merged) clash(devices_[a], devices_[b], where);
    parents_[b] = a;
    devices_[a] = merged;
  }
  [[noreturn]] static void clash(const VirtualDevice& a, const VirtualDevice& b, const Expr& where) {
    throw Error(ValueError) << "PlanDevices: a value would have to be on " << device_words(a) << " and on "
                            << device_words(b) << " at once; on_device around one of the operands copies it. In:\n"
                            << text_of(where);
  }

  CompilationConfig config_;
  std::vector<int> parents_;
  std::vector<VirtualDevice> devices_;
};

class DevicePlanner {
 public:
  DevicePlanner(IRModule mod, CompilationConfig config) : mod_(std::move(mod)), config_(config), solver_(config) {}

  IRModule run() {
    for (const auto& [var, function] : mod_.sorted_functions())
      if (function.as<FunctionNode>()) solver_.same(of(Expr(var)), collect(function), function);
    IRModule out = mod_.copy();
    for (const auto& [var, function] : mod_.sorted_functions())
      if (function.as<FunctionNode>()) out.update(var, downcast<Function>(planned(function)));
    return infer_type(out);
  }

 private:
  Domain of(const Expr& expr) {
    if (auto* global = expr.as<GlobalVarNode>()) {
      auto [at, added] = globals_.try_emplace(std::string(global->name_hint));
      if (added) at->second = solver_.fresh(checked_type(mod_.lookup(global->name_hint)));
      return at->second;
    }
    auto [at, added] = domains_.try_emplace(expr.get());
    if (added) at->second = solver_.fresh(checked_type(expr));
    return at->second;
  }
  void same(const Expr& a, const Expr& b) { solver_.same(of(a), of(b), a); }

  /// Walks over the program once; what each expression says of its parts is noted.
  Domain collect(const Expr& root) {
    post_order(root, [&](const Expr& expr) { note(expr); });
    return of(root);
  }

  void note(const Expr& expr) {
    if (is_name(expr) || expr.as<Constant>()) return;
    if (auto* call = expr.as<Call>()) {
      note_call(call);
    } else if (auto* let = expr.as<Let>()) {
      same(let->var, let->value);
      same(expr, let->body);
    } else if (auto* cond = expr.as<If>()) {
      solver_.is_on(of(cond->cond), config_->host_virtual_device, expr);
      same(expr, cond->true_branch);
      same(expr, cond->false_branch);
    } else if (auto* function = expr.as<FunctionNode>()) {
      Domain domain = of(expr);
      for (size_t i = 0; i < function->params.size(); ++i)
        solver_.same((*domain.parts)[i], of(function->params[i]), expr);
      solver_.same(domain.parts->back(), of(function->body), expr);
    } else if (auto* match = expr.as<Match>()) {
      for (const Clause& clause : match->clauses) {
        for (const Var& var : pattern_vars(clause->lhs)) same(var, match->data);
        same(expr, clause->rhs);
      }
    } else {
      each_child(expr, [&](const Expr& part) { same(expr, part); });
    }
  }

  void note_call(const Call* call) {
    Expr expr(call);
    if (auto* on = call->attrs.as<OnDeviceAttrs>()) {
      if (on->constrain_body) solver_.is_on(of(call->args[0]), on->virtual_device, expr);
      if (on->constrain_result) solver_.is_on(of(expr), on->virtual_device, expr);
      return;
    }
    if (auto* copy = call->attrs.as<DeviceCopyAttrs>()) {
      solver_.is_on(of(call->args[0]), copy->src_virtual_device, expr);
      solver_.is_on(of(expr), copy->dst_virtual_device, expr);
      return;
    }
    if (call->op.as<OpNode>() || call->op.as<ConstructorNode>()) {
      auto* op = call->op.as<OpNode>();
      if (op && op->name == ops::shape_of) return solver_.is_on(of(expr), config_->host_virtual_device, expr);
      for (const Expr& arg : call->args) same(expr, arg);
      return;
    }
    Domain callee = of(call->op);
    if (!callee.parts) return same(expr, call->op);
    for (size_t i = 0; i < call->args.size(); ++i) solver_.same((*callee.parts)[i], of(call->args[i]), expr);
    solver_.same(callee.parts->back(), of(expr), expr);
  }

  // ---- the program with its devices --------------------------------------------------------------------------------

  Expr planned(const Expr& root) {
    std::unordered_map<const Object*, Expr> vars;
    post_order(root, [&](const Expr& part) {
      each_binder(part, [&](const Var& var) {
        Var copy = fresh_copy(var);
        copy->virtual_device_ = solver_.device(of(var));
        vars.emplace(var.get(), copy);
      });
    });
    Rewriter rewriter;
    rewriter.on([&](Rewriter& self, const Call* call) -> Expr {
      Expr expr(call);
      Expr first = call->args.empty() ? Expr(nullptr) : self(call->args[0]);
      if (call->attrs.as<OnDeviceAttrs>()) {
        VirtualDevice from = solver_.device(of(call->args[0])), to = solver_.device(of(expr));
        return structural_equal(from, to) ? first : copied(first, from, to);
      }
      Call copy(*call);
      copy.op = self(call->op);
      copy.args = {};
      for (const Expr& arg : call->args) copy.args.push_back(self(arg));
      copy.virtual_device_ = solver_.device(of(expr));
      return make(std::move(copy));
    });
    rewriter.on([&](Rewriter& self, const FunctionNode* function) -> Expr {
      FunctionNode copy(*function);
      copy.body = self(function->body);
      if (!is_primitive(function)) copy.virtual_device_ = solver_.device(of(Expr(function)));
      return make(std::move(copy));
    });
    rewriter.on([&](Rewriter& self, const Constant* constant) -> Expr {
      (void)self;
      Constant copy(*constant);
      copy.virtual_device_ = solver_.device(of(Expr(constant)));
      return make(std::move(copy));
    });
    return rename(rewriter(root), [&](const Var& var) {
      auto it = vars.find(var.get());
      return it == vars.end() ? Expr(nullptr) : it->second;
    });
  }

  static Expr copied(const Expr& value, const VirtualDevice& from, const VirtualDevice& to) {
    Expr out = call_op(ops::device_copy, {value}, make_attrs<DeviceCopyAttrs>([&](DeviceCopyAttrs& attrs) {
                         attrs.src_virtual_device = from;
                         attrs.dst_virtual_device = to;
                       }));
    out->virtual_device_ = to;
    return out;
  }

  IRModule mod_;
  CompilationConfig config_;
  DomainSolver solver_;
  std::unordered_map<const Object*, Domain> domains_;
  std::unordered_map<std::string, Domain> globals_;
};

}  // namespace

IRModule plan_devices(const IRModule& mod, const CompilationConfig& config) {
  return DevicePlanner(infer_type(mod), config).run();
}

}  // namespace tessera::relay
