#include "kernel/workload.h"

#include <fmt/format.h>

#include <unordered_set>

#include "base/stack.h"
#include "ir/span_scope.h"
#include "ir/structural/equal.h"
#include "relay/slots.h"
#include "relay/walk.h"

namespace tessera::kernel {
namespace {

using relay::Expr;

void flatten(const Type& type, std::vector<TensorType>* out) {
  if (type.as<TensorTypeNode>()) return out->push_back(downcast<TensorType>(type));
  auto* tuple = type.as<TupleType>();
  if (!tuple) throw Error(TypeError) << "a kernel cannot take or give a value of type " << to_text(type);
  for (const Type& field : tuple->fields_) flatten(field, out);
}

/// The calls of operators in the order in which they are evaluated.
class CallsInOrder {
 public:
  std::vector<const relay::Call*> calls;

  void operator()(const Expr& expr) {
    if (!seen_.insert(expr.get()).second) return;
    on_enough_stack([&] {
      if (auto* call = expr.as<relay::Call>()) {
        for (const Expr& arg : call->args) (*this)(arg);
        if (call->op.as<OpNode>()) calls.push_back(call);
      } else if (auto* tuple = expr.as<relay::Tuple>()) {
        for (const Expr& field : tuple->fields_) (*this)(field);
      } else if (auto* get = expr.as<relay::TupleGetItem>()) {
        (*this)(get->tuple);
      }
    });
  }

 private:
  std::unordered_set<const Object*> seen_;
};

std::vector<const relay::Call*> calls_in_order(const relay::Function& primitive) {
  CallsInOrder walk;
  walk(primitive->body);
  return walk.calls;
}

}  // namespace

Workload workload_of(const relay::Function& primitive, const Target& target) {
  Workload out{primitive, target};
  auto most = relay::Fusion::Elementwise;
  for (const relay::Call* call : calls_in_order(primitive)) {
    const relay::Fusion fusion = relay::fusion_of(Op(call->op.as<OpNode>()));
    if (out.anchor && fusion < most) continue;
    most = fusion;
    out.anchor = call;
  }
  return out;
}

std::string kernel_name(const relay::Function& primitive) {
  constexpr size_t kMaxLength = 80;
  std::string name = "fused";
  for (const relay::Call* call : calls_in_order(primitive)) name += "_" + std::string(call->op.as<OpNode>()->name);
  if (name.size() > kMaxLength) {
    auto hash = static_cast<uint64_t>(structural_hash(primitive));
    name = fmt::format("{}_{:016x}_", name.substr(0, kMaxLength), hash);
  }
  for (char& c : name)
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

std::string source_nodes(const relay::Function& primitive) {
  std::vector<std::string> names;
  relay::post_order(primitive->body, [&](const Expr& expr) { add_node_names(expr->span, &names); });
  return source_lines(names);
}

std::vector<TensorType> tensors_of(const Type& type) {
  std::vector<TensorType> out;
  flatten(type, &out);
  return out;
}

std::pair<size_t, size_t> tensors_of_field(const TupleType* tuple, int index) {
  size_t first = 0;
  for (int i = 0; i < index; ++i) first += tensors_of(tuple->fields_[i]).size();
  return {first, first + tensors_of(tuple->fields_[index]).size()};
}

}  // namespace tessera::kernel
