// Replacing and moving what fits a pattern.

#include "ir/rewrite.h"

#include "ir/structural/equal.h"
#include "relay/dataflow/group.h"
#include "relay/type/infer_type.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

constexpr int kMaxRounds = 100;

/// One pass over a graph: `replace` is asked for the root of each group, its operands being done.
template <class F>
Expr replace_groups(const PatternGroups& found, const Expr& root, F&& replace) {
  Rewriter rewriter;
  rewriter.on([&](Rewriter& self, const RelayExprNode* node) -> Expr {
    Expr post = self.children(node);
    if (post.get() != node) post->checked_type_ = nullptr;  // what it is now may have another type
    auto it = found.by_root.find(node);
    return it == found.by_root.end() ? post : replace(self, found.groups[it->second], post);
  });
  return rewriter(root);
}

Expr rewrite_once(const DFPatternCallback& callback, const Expr& expr) {
  PatternGroups found = find_groups(callback->pattern, expr);
  if (found.groups.empty()) return expr;
  return replace_groups(found, expr, [&](Rewriter& self, const PatternGroup& group, const Expr& post) -> Expr {
    MatchedNodes after;
    for (const auto& [pattern, met] : group.matched) {
      Array<Expr> done;
      // the root itself is on its way; what it became is `post`
      for (const Expr& e : met) done.push_back(e.same_as(group.root) ? post : self(e));
      after.set(pattern, done);
    }
    Any result = callback->function(group.root, post, after);
    return result.to<Expr>();
  });
}

DFPattern given(const DFPattern& pattern) {
  if (!pattern) throw Error(TypeError) << "a pattern is missing (None)";
  return pattern;
}

}  // namespace

Expr rewrite_patterns(const Array<DFPatternCallback>& callbacks, const Expr& expr, const IRModule& mod) {
  Expr last, post = expr;
  bool once = false;
  int rounds = 0;
  do {
    last = post;
    once = true;
    for (const DFPatternCallback& callback : callbacks) {
      if (callback->require_type) post = infer_type(post, mod);
      post = rewrite_once(callback, post);
      once = once && callback->rewrite_once;
    }
  } while (++rounds < kMaxRounds && !once && !structural_equal(last, post, true));
  return post;
}

Expr partition_pattern(const DFPattern& pattern, const Expr& expr, const Map<String, ObjectRef>& attrs,
                       const std::function<bool(const Expr&)>& check) {
  PatternGroups found = find_groups(pattern, expr);
  return replace_groups(found, expr, [&](Rewriter& self, const PatternGroup& group, const Expr& post) -> Expr {
    if (!check(group.root)) return post;
    FunctionNode function(*group.function);
    function.attrs = function.attrs.with(attr::kPartitionedFromPattern, String(group.name));
    for (const auto& [key, value] : attrs) function.attrs = function.attrs.with(key, value);
    Array<Expr> args;
    for (const Expr& arg : group.args) args.push_back(self(arg));
    return make_call(make(std::move(function)), args);
  });
}

namespace {

template <class T>
DFPattern made(T node) {
  return make(std::move(node));
}

register_types<DFPatternNode, ExprPattern, VarPattern, ConstantPattern, CallPattern, FunctionPattern, LetPattern,
               IfPattern, TuplePattern, TupleGetItemPattern, AltPattern, WildcardPattern, TypePattern, ShapePattern,
               DataTypePattern, AttrPattern, DominatorPattern, DFPatternCallbackNode>
    rewrite_types;

DFPattern call(const DFPattern& op, const Array<DFPattern>& args) {
  CallPattern node;
  node.op = given(op);
  node.args = args;
  return made(std::move(node));
}
DFPattern function(const Array<DFPattern>& params, const DFPattern& body) {
  FunctionPattern node;
  node.params = params;
  node.body = given(body);
  return made(std::move(node));
}
DFPattern if_else(const DFPattern& cond, const DFPattern& true_branch, const DFPattern& false_branch) {
  IfPattern node;
  node.cond = given(cond);
  node.true_branch = given(true_branch);
  node.false_branch = given(false_branch);
  return made(std::move(node));
}
DFPattern let(const DFPattern& var, const DFPattern& value, const DFPattern& body) {
  LetPattern node;
  node.var = given(var);
  node.value = given(value);
  node.body = given(body);
  return made(std::move(node));
}
DFPattern alternative(const DFPattern& left, const DFPattern& right) {
  AltPattern node;
  node.left = given(left);
  node.right = given(right);
  return made(std::move(node));
}
DFPattern dominator(const DFPattern& parent, const DFPattern& path, const DFPattern& child) {
  DominatorPattern node;
  node.parent = given(parent);
  node.path = given(path);
  node.child = given(child);
  return made(std::move(node));
}
DFPattern with_attrs(const DFPattern& pattern, const DictAttrs& attrs) {
  AttrPattern node;
  node.pattern = given(pattern);
  node.attrs = attrs;
  return made(std::move(node));
}
DFPattern with_type(const DFPattern& pattern, const Type& type) {
  TypePattern node;
  node.pattern = given(pattern);
  node.wanted = type;
  return made(std::move(node));
}
DFPattern with_shape(const DFPattern& pattern, const Array<PrimExpr>& shape) {
  ShapePattern node;
  node.pattern = given(pattern);
  node.shape = shape;
  return made(std::move(node));
}
DFPattern with_dtype(const DFPattern& pattern, DataType dtype) {
  DataTypePattern node;
  node.pattern = given(pattern);
  node.dtype = dtype;
  return made(std::move(node));
}
DFPattern exactly(const Expr& expr) {
  ExprPattern node;
  node.expr = expr;
  return made(std::move(node));
}
DFPattern variable(const String& name) {
  VarPattern node;
  node.name = name;
  return made(std::move(node));
}
DFPattern tuple(const Array<DFPattern>& fields) {
  TuplePattern node;
  node.fields_ = fields;
  return made(std::move(node));
}
DFPattern get_item(const DFPattern& tuple, int index) {
  TupleGetItemPattern node;
  node.tuple = given(tuple);
  node.index = index;
  return made(std::move(node));
}
DFPatternCallback callback(const DFPattern& pattern, const PackedFunc& function, bool require_type, bool rewrite_once) {
  DFPatternCallbackNode node;
  node.pattern = given(pattern);
  node.function = function;
  node.require_type = require_type;
  node.rewrite_once = rewrite_once;
  return make(std::move(node));
}

Globals rewrite_globals{
    {"relay.dataflow_pattern.ExprPattern", exactly},
    {"relay.dataflow_pattern.VarPattern", variable},
    {"relay.dataflow_pattern.ConstantPattern", [] { return made(ConstantPattern()); }},
    {"relay.dataflow_pattern.WildcardPattern", [] { return made(WildcardPattern()); }},
    {"relay.dataflow_pattern.CallPattern", call},
    {"relay.dataflow_pattern.FunctionPattern", function},
    {"relay.dataflow_pattern.IfPattern", if_else},
    {"relay.dataflow_pattern.LetPattern", let},
    {"relay.dataflow_pattern.TuplePattern", tuple},
    {"relay.dataflow_pattern.TupleGetItemPattern", get_item},
    {"relay.dataflow_pattern.AltPattern", alternative},
    {"relay.dataflow_pattern.AttrPattern", with_attrs},
    {"relay.dataflow_pattern.TypePattern", with_type},
    {"relay.dataflow_pattern.ShapePattern", with_shape},
    {"relay.dataflow_pattern.DataTypePattern", with_dtype},
    {"relay.dataflow_pattern.DominatorPattern", dominator},
    {"relay.dataflow_pattern.DFPatternCallback", callback},
    {"relay.dataflow_pattern.match", matches},
    {"relay.dataflow_pattern.rewrite",
     [](Array<DFPatternCallback> callbacks, Expr expr, IRModule mod) {
       return rewrite_patterns(callbacks, expr, mod ? mod : IRModule());
     }},
    {"relay.dataflow_pattern.partition",
     [](DFPattern pattern, Expr expr, Map<String, ObjectRef> attrs, PackedFunc check) {
       return partition_pattern(pattern, expr, attrs.defined() ? attrs : Map<String, ObjectRef>(),
                                [&](const Expr& e) { return check(e).to<bool>(); });
     }},
};

}  // namespace
}  // namespace tessera::relay
