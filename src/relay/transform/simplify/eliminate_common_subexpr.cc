// Equal calls become one:  add(exp(%x), exp(%x))   =>   %0 = exp(%x); add(%0, %0)

#include <unordered_map>

#include "ir/rewrite.h"
#include "ir/structural/equal.h"
#include "relay/slots.h"
#include "relay/transform/passes.h"

namespace tessera::relay {
namespace {

/// What two calls, or two fields of tuples, must have in common: the operator and the same operands. Equal scalars are
/// the same operand.
struct Key {
  std::vector<const Object*> parts;
  int index = 0;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  size_t operator()(const Key& key) const {
    size_t hash = static_cast<size_t>(key.index);
    for (const Object* part : key.parts) hash = hash * 1000003 ^ std::hash<const void*>()(part);
    return hash;
  }
};

bool is_stateful(const OpNode* op) {
  Any value = Op(op).slot(kIsStateful);
  return !value.is_null() && value.to<bool>();
}

/// One object for all scalar constants of a type and value.
class Scalars {
 public:
  const Object* operator()(const Expr& expr) {
    auto* constant = expr.as<Constant>();
    if (!constant || !constant->is_scalar() || constant->data.device().device_type != kDLCPU) return expr.get();
    std::string value = constant->data.dtype().str() + ":";
    value.append(constant->data.data<char>(), constant->data.bytes());
    return first_.try_emplace(std::move(value), expr).first->second.get();
  }

 private:
  std::unordered_map<std::string, Expr> first_;
};

}  // namespace

/// `skip` keeps the calls it is true for apart.
Expr eliminate_common_subexpr(const Expr& root, const PackedFunc& skip) {
  std::unordered_map<Key, std::vector<Expr>, KeyHash> known;
  Scalars one_of;
  auto find_or_add = [&](Key key, const Expr& expr, auto&& is_same) -> Expr {
    std::vector<Expr>& candidates = known[std::move(key)];
    for (const Expr& candidate : candidates)
      if (is_same(candidate)) return candidate;
    candidates.push_back(expr);
    return expr;
  };
  Rewriter rewriter;
  rewriter.on([&](Rewriter& self, const Call* call) -> Expr {
    Ref<Call> post = self.children(call);
    auto* op = post->op.as<OpNode>();
    if (!op || is_stateful(op) || (skip && skip(post).to<bool>())) return post;
    Key key{{op}};
    for (const Expr& arg : post->args) key.parts.push_back(one_of(arg));
    return find_or_add(std::move(key), post,
                       [&](const Expr& other) { return structural_equal(other.as<Call>()->attrs, post->attrs); });
  });
  rewriter.on([&](Rewriter& self, const TupleGetItem* item) -> Expr {
    Ref<TupleGetItem> post = self.children(item);
    if (skip && skip(post).to<bool>()) return post;
    return find_or_add(Key{{post->tuple.get()}, post->index + 1}, post, [](const Expr&) { return true; });
  });
  return rewriter(root);
}

}  // namespace tessera::relay
