#pragma once
// Patterns of dataflow: what a piece of a graph looks like, as a graph of its own.

#include "relay/pattern.h"
#include "runtime/packed_func.h"

namespace tessera::relay {

struct DFPatternNode : Object {
  static constexpr NodeInfo info{"relay.dataflow_pattern.DFPattern", &Object::info};
  static void fields(auto) {}
};
using DFPattern = Ref<DFPatternNode>;

/// Exactly this expression, compared in structure: an operator, a constant.
struct ExprPattern : DFPatternNode {
  Expr expr;
  static constexpr NodeInfo info{"relay.dataflow_pattern.ExprPattern", &DFPatternNode::info};
  static void fields(auto f) { f("expr", &ExprPattern::expr); }
};

/// A variable; of that name unless it is empty.
struct VarPattern : DFPatternNode {
  String name;
  static constexpr NodeInfo info{"relay.dataflow_pattern.VarPattern", &DFPatternNode::info};
  static void fields(auto f) { f("name", &VarPattern::name); }
};

struct ConstantPattern : DFPatternNode {
  static constexpr NodeInfo info{"relay.dataflow_pattern.ConstantPattern", &DFPatternNode::info};
  static void fields(auto) {}
};

/// A call; no `args` means any arguments. add and multiply take theirs in either order.
struct CallPattern : DFPatternNode {
  DFPattern op;
  Array<DFPattern> args = nullptr;
  static constexpr NodeInfo info{"relay.dataflow_pattern.CallPattern", &DFPatternNode::info};
  static void fields(auto f) {
    f("op", &CallPattern::op);
    f("args", &CallPattern::args, Optional);
  }
};

/// A function; no `params` means any.
struct FunctionPattern : DFPatternNode {
  Array<DFPattern> params = nullptr;
  DFPattern body;
  static constexpr NodeInfo info{"relay.dataflow_pattern.FunctionPattern", &DFPatternNode::info};
  static void fields(auto f) {
    f("params", &FunctionPattern::params, Optional);
    f("body", &FunctionPattern::body);
  }
};

struct LetPattern : DFPatternNode {
  DFPattern var, value, body;
  static constexpr NodeInfo info{"relay.dataflow_pattern.LetPattern", &DFPatternNode::info};
  static void fields(auto f) {
    f("var", &LetPattern::var);
    f("value", &LetPattern::value);
    f("body", &LetPattern::body);
  }
};

struct IfPattern : DFPatternNode {
  DFPattern cond, true_branch, false_branch;
  static constexpr NodeInfo info{"relay.dataflow_pattern.IfPattern", &DFPatternNode::info};
  static void fields(auto f) {
    f("cond", &IfPattern::cond);
    f("true_branch", &IfPattern::true_branch);
    f("false_branch", &IfPattern::false_branch);
  }
};

/// A tuple; no `fields` means any.
struct TuplePattern : DFPatternNode {
  Array<DFPattern> fields_ = nullptr;
  static constexpr NodeInfo info{"relay.dataflow_pattern.TuplePattern", &DFPatternNode::info};
  static void fields(auto f) { f("fields", &TuplePattern::fields_, Optional); }
};

/// A field of a tuple; -1 means any.
struct TupleGetItemPattern : DFPatternNode {
  DFPattern tuple;
  int32_t index = -1;
  static constexpr NodeInfo info{"relay.dataflow_pattern.TupleGetItemPattern", &DFPatternNode::info};
  static void fields(auto f) {
    f("tuple", &TupleGetItemPattern::tuple);
    f("index", &TupleGetItemPattern::index);
  }
};

struct AltPattern : DFPatternNode {
  DFPattern left, right;
  static constexpr NodeInfo info{"relay.dataflow_pattern.AltPattern", &DFPatternNode::info};
  static void fields(auto f) {
    f("left", &AltPattern::left);
    f("right", &AltPattern::right);
  }
};

struct WildcardPattern : DFPatternNode {
  static constexpr NodeInfo info{"relay.dataflow_pattern.WildcardPattern", &DFPatternNode::info};
  static void fields(auto) {}
};

struct TypePattern : DFPatternNode {
  DFPattern pattern;
  Type wanted;
  static constexpr NodeInfo info{"relay.dataflow_pattern.TypePattern", &DFPatternNode::info};
  static void fields(auto f) {
    f("pattern", &TypePattern::pattern);
    f("type", &TypePattern::wanted);
  }
};

struct ShapePattern : DFPatternNode {
  DFPattern pattern;
  Array<PrimExpr> shape;
  static constexpr NodeInfo info{"relay.dataflow_pattern.ShapePattern", &DFPatternNode::info};
  static void fields(auto f) {
    f("pattern", &ShapePattern::pattern);
    f("shape", &ShapePattern::shape);
  }
};

struct DataTypePattern : DFPatternNode {
  DFPattern pattern;
  DataType dtype;
  static constexpr NodeInfo info{"relay.dataflow_pattern.DataTypePattern", &DFPatternNode::info};
  static void fields(auto f) {
    f("pattern", &DataTypePattern::pattern);
    f("dtype", &DataTypePattern::dtype);
  }
};

/// `pattern`, with these attributes: slots of an operator, attributes of a call or of a function.
struct AttrPattern : DFPatternNode {
  DFPattern pattern;
  DictAttrs attrs;
  static constexpr NodeInfo info{"relay.dataflow_pattern.AttrPattern", &DFPatternNode::info};
  static void fields(auto f) {
    f("pattern", &AttrPattern::pattern);
    f("attrs", &AttrPattern::attrs);
  }
};

/// `child`, whose value depends on `parent` through `path` only: every way between them consists of `path`.
struct DominatorPattern : DFPatternNode {
  DFPattern parent, path, child;
  static constexpr NodeInfo info{"relay.dataflow_pattern.DominatorPattern", &DFPatternNode::info};
  static void fields(auto f) {
    f("parent", &DominatorPattern::parent);
    f("path", &DominatorPattern::path);
    f("child", &DominatorPattern::child);
  }
};

/// What to replace a match by.
struct DFPatternCallbackNode : Object {
  DFPattern pattern;
  PackedFunc function;  // (before, after, matched) -> expression
  bool require_type = false, rewrite_once = false;
  static constexpr NodeInfo info{"relay.dataflow_pattern.DFPatternCallback", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("pattern", &DFPatternCallbackNode::pattern);
    f("function", &DFPatternCallbackNode::function);
    f("require_type", &DFPatternCallbackNode::require_type);
    f("rewrite_once", &DFPatternCallbackNode::rewrite_once);
  }
};
using DFPatternCallback = Ref<DFPatternCallbackNode>;

/// The expressions that each part of a pattern met.
using MatchedNodes = Map<DFPattern, Array<Expr>>;

/// Does the whole of `expr` fit the pattern?
bool matches(const DFPattern& pattern, const Expr& expr);
/// Replaces what fits, again and again until nothing changes (once where the callback says so).
Expr rewrite_patterns(const Array<DFPatternCallback>& callbacks, const Expr& expr, const IRModule& mod = IRModule());
/// Moves what fits, and passes `check`, into functions of its own, with `attrs` on them.
Expr partition_pattern(const DFPattern& pattern, const Expr& expr, const Map<String, ObjectRef>& attrs,
                       const std::function<bool(const Expr&)>& check);

}  // namespace tessera::relay
