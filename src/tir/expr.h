#pragma once
// Expressions that only make sense inside a loop program or a tensor computation.

#include "tir/buffer.h"

namespace tessera {

/// What an iteration is; the values are v0.10's.
enum class IterType : int32_t {
  DataPar = 0,
  ThreadIndex = 1,
  CommReduce = 2,
  Ordered = 3,
  Opaque = 4,
  Unrolled = 5,
  Vectorized = 6,
  Parallelized = 7,
  Tensorized = 8,
};
const char* iter_type_name(IterType type);  // "DataPar", "ThreadIndex", ...

/// One dimension of an iteration space.
struct IterVarNode : Object {
  Range dom;  // empty where bounds are yet to be inferred
  Var var;
  IterType iter_type = IterType::DataPar;
  String thread_tag;
  Span span;
  static constexpr NodeInfo info{"tir.IterVar", &Object::info};
  static void fields(auto f) {
    f("dom", &IterVarNode::dom, Optional | Binds);
    f("var", &IterVarNode::var, Binds);
    f("iter_type", &IterVarNode::iter_type);
    f("thread_tag", &IterVarNode::thread_tag);
    f("span", &IterVarNode::span, Ignored | Optional);
  }
};
using IterVar = Ref<IterVarNode>;
IterVar make_iter_var(Range dom, Var var, IterType type, String thread_tag = "");

/// A commutative, associative combination of tuples: result in terms of lhs and rhs.
struct CommReducerNode : Object {
  Array<Var> lhs, rhs;
  Array<PrimExpr> result, identity_element;
  Span span;
  static constexpr NodeInfo info{"tir.CommReducer", &Object::info};
  static void fields(auto f) {
    f("lhs", &CommReducerNode::lhs, Binds);
    f("rhs", &CommReducerNode::rhs, Binds);
    f("result", &CommReducerNode::result);
    f("identity_element", &CommReducerNode::identity_element);
    f("span", &CommReducerNode::span, Ignored | Optional);
  }
  /// The result with `a` and `b` in place of lhs and rhs.
  Array<PrimExpr> operator()(const Array<PrimExpr>& a, const Array<PrimExpr>& b) const;
};
using CommReducer = Ref<CommReducerNode>;

/// Component `value_index` of the reduction of `source` over `axis` where `condition` holds, from `init` (or from the
/// identity when empty). Only at the top of a TE computation.
struct Reduce : PrimExprNode {
  CommReducer combiner;
  Array<PrimExpr> source;
  Array<PrimExpr> init;
  Array<IterVar> axis;
  PrimExpr condition;
  int32_t value_index = 0;
  static constexpr NodeInfo info{"tir.Reduce", &PrimExprNode::info};
  static void fields(auto f) {
    f("combiner", &Reduce::combiner, Opaque);
    f("source", &Reduce::source);
    f("init", &Reduce::init);
    f("axis", &Reduce::axis, Binds);
    f("condition", &Reduce::condition);
    f("value_index", &Reduce::value_index);
  }
};

/// Something that produces tensors (a TE tensor) and can be loaded from before buffers exist.
struct DataProducerNode : Object {
  static constexpr NodeInfo info{"DataProducer", &Object::info, Role::Identity};
  static void fields(auto) {}
};
using DataProducer = Ref<DataProducerNode>;

struct ProducerLoad : PrimExprNode {
  DataProducer producer;
  Array<PrimExpr> indices;
  static constexpr NodeInfo info{"tir.ProducerLoad", &PrimExprNode::info};
  static void fields(auto f) {
    f("producer", &ProducerLoad::producer, Opaque);
    f("indices", &ProducerLoad::indices);
  }
};

}  // namespace tessera
