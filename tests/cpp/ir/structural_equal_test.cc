#include "ir/structural/equal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/module.h"
#include "ir/prim/ops.h"
#include "runtime/ndarray.h"
#include "tir/function.h"

namespace tessera {
namespace {

using testing::HasSubstr;

/// Equal objects have equal hashes; the other way round is only very likely.
void expect_equal(const ObjectRef& a, const ObjectRef& b, bool map_free_vars = false) {
  EXPECT_TRUE(structural_equal(a, b, map_free_vars)) << to_text(a) << " and " << to_text(b);
  EXPECT_EQ(structural_hash(a, map_free_vars), structural_hash(b, map_free_vars));
}
void expect_different(const ObjectRef& a, const ObjectRef& b, bool map_free_vars = false) {
  EXPECT_FALSE(structural_equal(a, b, map_free_vars)) << to_text(a) << " and " << to_text(b);
  EXPECT_NE(structural_hash(a, map_free_vars), structural_hash(b, map_free_vars));
}

std::string mismatch(const ObjectRef& a, const ObjectRef& b) {
  auto pair = first_structural_mismatch(a, b);
  return pair ? path_text((*pair)->lhs_path) + " | " + path_text((*pair)->rhs_path) : "";
}

Stmt loop(const Var& i, const PrimExpr& value) {
  For node;
  node.loop_var = i;
  node.min = 0;
  node.extent = 8;
  node.body = evaluate(value);
  return make(std::move(node));
}

TEST(StructuralEqual, FreeVariablesAreEqualOnlyToThemselvesUnlessTold) {
  Var x = make_var("x"), y = make_var("x");
  expect_equal(x + 1, x + 1);
  EXPECT_FALSE(structural_equal(x + 1, y + 1));
  expect_equal(x + 1, y + 1, true);
  expect_different(x + x, x + y, true);
  expect_different(make_var("f", DataType::Float(32)), make_var("f"), true);
}

TEST(StructuralEqual, BoundVariablesMatchWhateverTheirNames) {
  Var i = make_var("i"), j = make_var("j"), free = make_var("n");
  expect_equal(loop(i, i * 2), loop(j, j * 2));
  expect_different(loop(i, i * 2), loop(j, j * 3));
  EXPECT_FALSE(structural_equal(loop(i, i), loop(j, i)));
  expect_equal(loop(i, free), loop(j, free));
}

TEST(StructuralEqual, FloatsCompareByBits) {
  PrimExpr zero = float_imm(DataType::Float(32), 0.0), minus = float_imm(DataType::Float(32), -0.0);
  PrimExpr nan = float_imm(DataType::Float(32), NAN);
  expect_different(zero, minus);
  expect_equal(nan, float_imm(DataType::Float(32), NAN));
}

TEST(StructuralEqual, MapsCompareWithoutOrder) {
  Map<String, ObjectRef> a{{"x", PrimExpr(1)}, {"y", String("s")}}, b{{"y", String("s")}, {"x", PrimExpr(1)}};
  expect_equal(a, b);
  b.set("z", PrimExpr(2));
  expect_different(a, b);
  EXPECT_EQ(mismatch(a, b), "<root>[<missing entry>] | <root>[\"z\"]");
}

TEST(StructuralEqual, TensorsCompareByContent) {
  int64_t shape[] = {4};
  NDArray a = NDArray::empty(shape, DataType::Float(32)), b = NDArray::empty(shape, DataType::Float(32));
  for (int i = 0; i < 4; ++i) a.data<float>()[i] = b.data<float>()[i] = static_cast<float>(i);
  expect_equal(Array<ObjectRef>{a}, Array<ObjectRef>{b});
  b.data<float>()[3] = 7;
  expect_different(Array<ObjectRef>{a}, Array<ObjectRef>{b});
}

TEST(StructuralEqual, ScopesGlobalAndEmptyAreOne) {
  expect_equal(pointer_type(DataType::Float(32), ""), pointer_type(DataType::Float(32), "global"));
  expect_different(pointer_type(DataType::Float(32), ""), pointer_type(DataType::Float(32), "shared"));
}

TEST(StructuralEqual, FunctionsOfModulesMatchByName) {
  auto module_of = [](const char* callee, int value) {
    GlobalVarNode f, g;
    f.name_hint = "f";
    g.name_hint = callee;
    GlobalVar fv = make(std::move(f)), gv = make(std::move(g));
    Call call;
    call.dtype = DataType::Int(32);
    call.op = gv;
    call.args = {PrimExpr(value)};
    Map<GlobalVar, BaseFunc> functions;
    functions.set(gv, make_prim_func({}, evaluate(0)));
    functions.set(fv, make_prim_func({}, evaluate(make(std::move(call)))));
    return IRModule(functions);
  };
  expect_equal(module_of("g", 1), module_of("g", 1));
  expect_different(module_of("g", 1), module_of("g", 2));
  expect_different(module_of("g", 1), module_of("h", 1));
}

TEST(StructuralEqual, BuffersAreMatchedWhereTheyAreFirstMet) {
  auto copy = [](const Buffer& from, const Buffer& to) -> Stmt {
    BufferStore store;
    store.buffer = to;
    store.value = make_load(from, {PrimExpr(0)});
    store.indices = {PrimExpr(0)};
    return make(std::move(store));
  };
  Buffer a = decl_buffer({8}, DataType::Float(32), "A"), b = decl_buffer({8}, DataType::Float(32), "B");
  Buffer c = decl_buffer({8}, DataType::Float(32), "C"), d = decl_buffer({8}, DataType::Float(32), "D");
  expect_equal(copy(a, b), copy(c, d));
  expect_different(copy(a, b), copy(c, c));
  expect_different(copy(a, b), copy(c, decl_buffer({9}, DataType::Float(32), "D")));
}

TEST(StructuralEqual, TheMismatchIsNamedByItsPath) {
  Var i = make_var("i");
  EXPECT_EQ(mismatch(loop(i, i + 1), loop(i, i + 2)), "<root>.body.value.b.value | <root>.body.value.b.value");
  Array<PrimExpr> two{PrimExpr(1), PrimExpr(2)}, three{PrimExpr(1), PrimExpr(2), PrimExpr(3)};
  EXPECT_EQ(mismatch(two, three), "<root>[<missing element #2>] | <root>[2]");
  EXPECT_EQ(mismatch(two, Array<PrimExpr>{PrimExpr(1), PrimExpr(5), PrimExpr(3)}), "<root>[1].value | <root>[1].value");
  try {
    assert_structural_equal(i + 1, i + 2);
    FAIL() << "these differ";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), "ValueError");
    EXPECT_THAT(error.message(), HasSubstr("caused by lhs at <root>.b.value:\n1\nand rhs at <root>.b.value:\n2"));
  }
}

TEST(StructuralEqual, AMillionNodesInAChainAreFine) {
  Var x = make_var("x");
  auto chain = [&](int last) {
    PrimExpr e = x;
    for (int i = 0; i < 1000000; ++i) {
      Add add;
      add.dtype = e.dtype();
      add.a = e;
      add.b = i == 0 ? PrimExpr(last) : PrimExpr(1);
      e = make(std::move(add));
    }
    return e;
  };
  expect_equal(chain(1), chain(1));
  expect_different(chain(1), chain(2));
  EXPECT_TRUE(first_structural_mismatch(chain(1), chain(2)).has_value());
}

TEST(StructuralEqual, SharingDoesNotCostExponentialTime) {
  Var x = make_var("x");
  auto doubled = [&] {
    PrimExpr e = x + 1;
    for (int i = 0; i < 100; ++i) {
      Add add;
      add.dtype = e.dtype();
      add.a = add.b = e;
      e = make(std::move(add));
    }
    return e;
  };
  expect_equal(doubled(), doubled());
  expect_different(doubled(), doubled() + 1);
}

TEST(ObjectPath, PrefixesAndEquality) {
  ObjectPath path = array_index_path(attr_path(root_path(), "body"), 2);
  EXPECT_EQ(path_text(path), "<root>.body[2]");
  EXPECT_TRUE(is_prefix_of(attr_path(root_path(), "body"), path));
  EXPECT_FALSE(is_prefix_of(attr_path(root_path(), "value"), path));
  EXPECT_TRUE(paths_equal(path, array_index_path(attr_path(root_path(), "body"), 2)));
  EXPECT_THROW(path_prefix(path, 4), Error);
}

}  // namespace
}  // namespace tessera
