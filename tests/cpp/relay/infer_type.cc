#include "relay/type/infer_type.h"

#include <gtest/gtest.h>

#include "ir/prim/expr.h"
#include "ir/structural/equal.h"
#include "relay/attrs/nn.h"
#include "relay/pattern.h"
#include "relay/type/type_of.h"

namespace tessera::relay {
namespace {

TensorType f32(Array<PrimExpr> shape) { return TensorType(std::move(shape), DataType::Float(32)); }

Type inferred(const Expr& expr, const IRModule& mod = IRModule()) { return checked_type(infer_type(expr, mod)); }

void expect_type(const Expr& expr, const Type& type, const IRModule& mod = IRModule()) {
  EXPECT_TRUE(structural_equal(inferred(expr, mod), type)) << to_text(inferred(expr, mod));
}

std::string error_of(const Expr& expr) {
  try {
    infer_type(expr);
  } catch (Error& error) {
    EXPECT_EQ(error.kind(), DiagnosticError);
    return error.message();
  }
  return "no error";
}

Attrs dense_attrs(PrimExpr units) {
  DenseAttrs attrs;
  attrs.units = std::move(units);
  return make(std::move(attrs));
}

TEST(InferType, ShapesAreBroadcastToEachOther) {
  Expr sum = call_op("add", {make_local("x", f32({3, 1})), make_local("y", f32({4}))});
  expect_type(sum, f32({3, 4}));
  expect_type(call_op("less", {sum, sum}), TensorType({3, 4}, DataType::Bool()));
}

TEST(InferType, AnyGivesWayToAKnownExtent) {
  AnyDim any;
  any.dtype = DataType::Int(32);
  PrimExpr unknown(make(std::move(any)));
  expect_type(call_op("add", {make_local("x", f32({unknown, 1})), make_local("y", f32({4}))}), f32({unknown, 4}));
}

TEST(InferType, AWeightGetsItsTypeFromTheAttributes) {
  Var x = make_local("x", f32({2, 8})), w = make_local("w");
  Expr typed = infer_type(make_function({x, w}, call_op("nn.dense", {x, w}, dense_attrs(5))));
  auto* function = typed.as<FunctionNode>();
  EXPECT_TRUE(structural_equal(function->params[1]->type_annotation, f32({5, 8})));
  EXPECT_TRUE(structural_equal(function->ret_type, f32({2, 5})));
}

TEST(InferType, WhatDisagreesIsNamed) {
  Expr dense = call_op("nn.dense", {make_local("x", f32({2, 8})), make_local("w", f32({5, 7}))}, dense_attrs(nullptr));
  EXPECT_NE(error_of(dense).find("8 is not 7"), std::string::npos) << error_of(dense);
  Expr sum = call_op("add", {make_local("x", f32({2})), make_local("y", f32({3}))});
  EXPECT_NE(error_of(sum).find("cannot be broadcast"), std::string::npos) << error_of(sum);
  Expr three = call_op("add", {make_local("x", f32({2}))});
  EXPECT_NE(error_of(three).find("takes 2 arguments, 1 are given"), std::string::npos) << error_of(three);
}

TEST(InferType, ImportersAskForTheTypeOfACallOfTooFewArguments) {
  try {
    type_of(call_op("add", {make_local("x", f32({3}))}));
    FAIL() << "the rule of add reads an argument that is not there";
  } catch (Error& error) {
    EXPECT_NE(error.message().find("add takes 2 arguments, 1 are given"), std::string::npos) << error.message();
  }
}

TEST(InferType, AFreeVariableWithoutATypeIsRejected) {
  Expr sum = call_op("exp", {make_local("x")});
  EXPECT_NE(error_of(sum).find("cannot be inferred"), std::string::npos) << error_of(sum);
}

TEST(InferType, AFunctionWithATypeParameterServesSeveralTypes) {
  TypeVar t = make(TypeVarNode{.name_hint = "t"});
  Var a = make_local("a", t);
  Function identity = make_function({a}, a, t, {t});
  GlobalVarNode name;
  name.name_hint = "id";
  GlobalVar id = make(std::move(name));
  IRModule mod(Map<GlobalVar, BaseFunc>{{id, identity}});
  Tuple both;
  both.fields_ = {make_call(id, {make_local("x", f32({3}))}), make_call(id, {make_local("y", f32({4, 4}))})};
  expect_type(make(std::move(both)), make(TupleType{.fields_ = {f32({3}), f32({4, 4})}}), mod);
}

TEST(InferType, AFunctionMayCallItself) {
  TensorType i32 = TensorType::scalar(DataType::Int(32));
  GlobalVarNode name;
  name.name_hint = "loop";
  GlobalVar loop = make(std::move(name));
  Var i = make_local("i", i32), acc = make_local("acc", i32);
  If branch;
  branch.cond = call_op("equal", {i, acc});
  branch.true_branch = acc;
  branch.false_branch = make_call(loop, {call_op("subtract", {i, acc}), call_op("add", {acc, i})});
  IRModule mod(Map<GlobalVar, BaseFunc>{{loop, make_function({i, acc}, make(std::move(branch)))}});
  auto typed = infer_type(mod).lookup("loop");
  EXPECT_TRUE(structural_equal(typed.as<FunctionNode>()->ret_type, i32));
}

TEST(InferType, AFieldOfATupleThatIsLearnedLater) {
  Var t = make_local("t");
  TupleGetItem get;
  get.tuple = t;
  get.index = 1;
  Var x = make_local("x", f32({3})), y = make_local("y", f32({5}));
  Tuple pair;
  pair.fields_ = {x, y};
  Expr function = make_function({t}, make(std::move(get)));
  expect_type(make_call(function, {make(std::move(pair))}), f32({5}));
}

TEST(InferType, MatchBindsTheFieldsOfConstructors) {
  GlobalTypeVar list = make(GlobalTypeVarNode{.name_hint = "List"});
  TypeVar a = make(TypeVarNode{.name_hint = "A"});
  ConstructorNode cons, nil;
  cons.name_hint = "Cons", nil.name_hint = "Nil";
  cons.belong_to = nil.belong_to = list;
  cons.inputs = {a, make(TypeCall{.func = list, .args = {a}})};
  Constructor make_cons = make(std::move(cons)), make_nil = make(std::move(nil));
  TypeDataNode data;
  data.header = list, data.type_vars = {a}, data.constructors = {make_cons, make_nil};
  IRModule mod;
  mod.edit()->type_definitions.set(list, make(std::move(data)));

  Var head = make_local("h"), tail = make_local("t"), x = make_local("x", f32({3}));
  PatternConstructor pattern;
  pattern.constructor = make_cons;
  PatternVar bind_head, bind_tail;
  bind_head.var = head, bind_tail.var = tail;
  pattern.patterns = {make(std::move(bind_head)), make(std::move(bind_tail))};
  Match match;
  match.data = make_call(make_cons, {x, make_call(make_nil, {})});
  match.clauses = {make(ClauseNode{.lhs = make(std::move(pattern)), .rhs = head}),
                   make(ClauseNode{.lhs = make(PatternWildcard()), .rhs = x})};
  expect_type(make(std::move(match)), f32({3}), mod);
}

TEST(InferType, TypedNodesAreKept) {
  Var x = make_local("x", f32({3}));
  Expr once = infer_type(make_function({x}, call_op("exp", {call_op("tanh", {x})})));
  EXPECT_TRUE(infer_type(once).same_as(once));
}

TEST(InferType, LongChainsAreFine) {
  Var x = make_local("x", f32({3}));
  Expr chain = x;
  for (int i = 0; i < 100000; ++i) chain = call_op("exp", {chain});
  expect_type(chain, f32({3}));
  Expr lets = x;
  for (int i = 0; i < 100000; ++i) {
    Let let;
    let.var = make_local("v"), let.value = call_op("exp", {x}), let.body = lets;
    lets = make(std::move(let));
  }
  expect_type(lets, f32({3}));
}

}  // namespace
}  // namespace tessera::relay
