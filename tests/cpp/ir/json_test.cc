#include "ir/json/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "ir/prim/ops.h"
#include "ir/structural/equal.h"
#include "runtime/ndarray.h"
#include "tir/function.h"

namespace tessera {
namespace {

using testing::HasSubstr;

std::string load_error(const std::string& text) {
  try {
    load_json(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), "ValueError");
    return error.message();
  }
  return "(no error)";
}

PrimFunc sample() {
  Buffer a = decl_buffer({8}, DataType::Float(32), "A");
  Var param = make_var("a", DataType::Handle()), i = make_var("i");
  BufferStore store;
  store.buffer = a;
  store.indices = {i};
  store.value = make_load(a, {i}) + float_imm(DataType::Float(32), 0.1);
  For loop;
  loop.loop_var = i;
  loop.min = 0;
  loop.extent = 8;
  loop.kind = LoopKind::Parallel;
  loop.body = make(std::move(store));
  loop.annotations = {{"note", String("a \"quoted\"\nline")}};
  return make_prim_func({param}, make(std::move(loop)), {{param, a}});
}

TEST(Json, AFunctionComesBackEqual) {
  PrimFunc function = sample();
  ObjectRef again = load_json(save_json(function));
  assert_structural_equal(function, again);
  EXPECT_EQ(save_json(again), save_json(function));
}

TEST(Json, SharingAndTensorsSurvive) {
  int64_t shape[] = {2, 2};
  NDArray tensor = NDArray::empty(shape, DataType::Float(32));
  for (int i = 0; i < 4; ++i) tensor.data<float>()[i] = static_cast<float>(i) / 3;
  String text(std::string("\xff\x00 bytes", 8));
  Array<ObjectRef> list{tensor, text, tensor, text, ObjectRef(nullptr), Map<ObjectRef, ObjectRef>{{PrimExpr(1), text}}};
  auto again = downcast<Ref<ArrayNode>>(load_json(save_json(list)));
  EXPECT_TRUE(again->items[0].same_as(again->items[2]));
  EXPECT_EQ(again->items[1].as<StringNode>()->text, text.str());
  assert_structural_equal(list, again);
}

TEST(Json, TwoHundredThousandNodesInAChainAreFine) {
  Var x = make_var("x");
  PrimExpr e = x;
  for (int i = 0; i < 200000; ++i) {
    Add add;
    add.dtype = e.dtype();
    add.a = e;
    add.b = e;
    e = make(std::move(add));
  }
  ObjectRef again = load_json(save_json(e));
  EXPECT_TRUE(structural_equal(e, again, true));
}

TEST(Json, TheFormatIsThatOfOldFiles) {
  ObjectRef again = load_json(
      R"({"attrs": {}, "b64ndarrays": [], "nodes": [{"type_key": ""}, {"attrs": {"a": "2", "b": "5", "dtype": "int32", )"
      R"("span": "0"}, "type_key": "tir.Add"}, {"attrs": {"dtype": "int32", "name": "3", "span": "0", "type_annotation": )"
      R"("4"}, "type_key": "tir.Var"}, {"repr_str": "x", "type_key": "runtime.String"}, {"attrs": {"dtype": "int32"}, )"
      R"("type_key": "PrimType"}, {"attrs": {"dtype": "int32", "span": "0", "value": "1"}, "type_key": "IntImm"}], "root": 1})");
  EXPECT_EQ(to_text(again), "(x + 1)");
}

TEST(Json, WhatIsWrongIsNamed) {
  auto one = [](const std::string& node) { return R"({"root": 1, "nodes": [{"type_key": ""}, )" + node + "]}"; };
  EXPECT_THAT(load_error("{"), HasSubstr("JSON"));
  EXPECT_THAT(load_error("[]"), HasSubstr("an object is wanted"));
  EXPECT_THAT(load_error(R"({"root": 3, "nodes": []})"), HasSubstr("a node that is not there: 3 of 0"));
  EXPECT_THAT(load_error(R"({"root": -1, "nodes": []})"), HasSubstr("not there"));
  EXPECT_THAT(load_error(one(R"({"type_key": "no.Such"})")), HasSubstr("node 1 has the unknown type \"no.Such\""));
  EXPECT_THAT(load_error(one(R"({"type_key": "PrimExpr", "attrs": {"dtype": "int32"}})")),
              HasSubstr("cannot be loaded"));
  EXPECT_THAT(load_error(one(R"({"type_key": "runtime.PackedFunc"})")), HasSubstr("cannot be loaded"));
  EXPECT_THAT(load_error(one(R"({"type_key": "Array", "data": [1]})")), HasSubstr("refers to itself"));
  EXPECT_THAT(load_error(one(R"({"type_key": "Array", "data": ["x"]})")), HasSubstr("an integer is wanted"));
  EXPECT_THAT(load_error(one(R"({"type_key": "IntImm", "attrs": {"dtype": "int32"}})")),
              HasSubstr("no value for IntImm.value"));
  EXPECT_THAT(load_error(one(R"({"type_key": "IntImm", "attrs": {"dtype": "int32", "value": "1x"}})")),
              HasSubstr("no integer in value"));
  EXPECT_THAT(load_error(one(R"({"type_key": "tir.Not", "attrs": {"dtype": "bool", "a": "0"}})")),
              HasSubstr("a is empty, expected PrimExpr"));
  EXPECT_THAT(
      load_error(one(R"({"type_key": "tir.Not", "attrs": {"dtype": "bool", "a": "2"}}, {"type_key": "Array"})")),
      HasSubstr("a is Array, expected PrimExpr"));
  EXPECT_THAT(load_error(one(R"({"type_key": "Map", "keys": ["a", "b"], "data": [0]})")),
              HasSubstr("more keys than values"));
  EXPECT_THAT(load_error(one(R"({"type_key": "runtime.NDArray", "data": [0]})")),
              HasSubstr("tensor that is not there"));
  EXPECT_THAT(
      load_error(R"({"root": 0, "nodes": [{"type_key": "runtime.NDArray", "data": [0]}], "b64ndarrays": ["!!"]})"),
      HasSubstr("base64"));
  EXPECT_THAT(load_error(one(R"({"type_key": "Op", "repr_str": "tir.no_such"})")),
              HasSubstr("operator that does not exist"));
}

TEST(Json, DamagedTextIsAnErrorAndNeverACrash) {
  std::string good = save_json(sample());
  std::mt19937 random(7);
  int survived = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bad = good;
    for (int k = 0; k < 3; ++k) {
      size_t at = random() % bad.size();
      if (random() % 2) bad[at] = "0123456789\"{}[],:x"[random() % 18];
      else bad.erase(at, random() % 20);
    }
    try {
      ObjectRef loaded = load_json(bad);
      to_text(loaded);
      ++survived;
    } catch (const Error&) {}
  }
  EXPECT_LT(survived, 2000);
}

}  // namespace
}  // namespace tessera
