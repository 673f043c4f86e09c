#include "tir/print.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/json/json.h"
#include "ir/prim/ops.h"
#include "ir/structural/equal.h"
#include "ir/structural/map_order.h"
#include "tir/function.h"

namespace tessera {
namespace {

/// A reduction over blocks with an allocation, a thread and a let: something of most kinds.
PrimFunc sample() {
  Buffer a = decl_buffer({8, 4}, DataType::Float(32), "A"), b = decl_buffer({8}, DataType::Float(32), "B");
  Var pa = make_var("a", DataType::Handle()), pb = make_var("b", DataType::Handle()), i = make_var("i"),
      k = make_var("k");
  IterVar vi = make_iter_var(make_range(0, 8), make_var("vi"), IterType::DataPar);
  IterVar vk = make_iter_var(make_range(0, 4), make_var("vk"), IterType::CommReduce);
  auto store = [&](PrimExpr value) -> Stmt {
    BufferStore out;
    out.buffer = b;
    out.indices = {vi->var};
    out.value = std::move(value);
    return make(std::move(out));
  };
  BlockNode block;
  block.iter_vars = {vi, vk};
  block.name_hint = "B";
  block.init = store(float_imm(DataType::Float(32), 0));
  block.body = store(make_load(b, {vi->var}) + make_load(a, {vi->var, vk->var}));
  block.annotations = {{"note", String("x")}};
  BlockRealize realize;
  realize.iter_values = {i, k};
  realize.predicate = i < 7;
  realize.block = make(std::move(block));
  For inner;
  inner.loop_var = k;
  inner.min = 0;
  inner.extent = 4;
  inner.body = make(std::move(realize));
  For outer;
  outer.loop_var = i;
  outer.min = 0;
  outer.extent = 8;
  outer.kind = LoopKind::Parallel;
  outer.body = make(std::move(inner));
  LetStmt let;
  let.var = make_var("x");
  let.value = 3;
  let.body = make(std::move(outer));
  return make_prim_func({pa, pb}, make(std::move(let)), {{pa, a}, {pb, b}});
}

TEST(Print, TheThreeFormsOfAFunction) {
  PrimFunc function = sample();
  EXPECT_EQ(tvm_script(function),
            "# from tvm.script import tir as T\n"
            "@T.prim_func\n"
            "def func(A: T.Buffer[(8, 4), \"float32\"], B: T.Buffer[8, \"float32\"]) -> None:\n"
            "    # body\n"
            "    x: T.int32 = 3\n"
            "    for i in T.parallel(8):\n"
            "        for k in T.serial(4):\n"
            "            with T.block(\"B\"):\n"
            "                T.where(i < 7)\n"
            "                vi, vk = T.axis.remap(\"SR\", [i, k])\n"
            "                T.reads()\n"
            "                T.writes()\n"
            "                T.block_attr({\"note\":\"x\"})\n"
            "                with T.init():\n"
            "                    B[vi] = T.float32(0)\n"
            "                B[vi] = B[vi] + A[vi, vk]\n");
  EXPECT_EQ(text_form(function).substr(0, 41), "primfn(a: handle, b: handle) -> ()\n  buff");
  EXPECT_EQ(to_text(function).substr(0, 16), "PrimFunc([a, b])");
}

TEST(Print, LargeMapsStandInTheOrderOfOldTexts) {
  Map<String, ObjectRef> config{{"kind", String("cuda")},           {"tag", String("")},
                                {"keys", Array<ObjectRef>()},       {"host", ObjectRef()},
                                {"thread_warp_size", PrimExpr(32)}, {"arch", String("sm_70")},
                                {"max_num_threads", PrimExpr(1024)}};
  std::string keys;
  for (const auto& [key, _] : printing_order(config.get())) keys += key.as<StringNode>()->text + " ";
  EXPECT_EQ(keys, "thread_warp_size arch max_num_threads kind host tag keys ");
}

/// A program from outside may be nonsense, but it is printed, compared and hashed, or rejected; it is never a crash.
TEST(Print, NonsenseIsAnErrorAtMost) {
  std::string good = save_json(sample());
  std::vector<std::pair<size_t, size_t>> numbers;  // where digits stand
  for (size_t i = 0; i < good.size(); ++i) {
    if (!isdigit(good[i])) continue;
    size_t end = i;
    while (isdigit(good[end])) ++end;
    numbers.emplace_back(i, end);
    i = end;
  }
  std::mt19937 random(11);
  int printed = 0;
  for (int round = 0; round < 3000; ++round) {
    auto [begin, end] = numbers[random() % numbers.size()];
    std::string bad = good.substr(0, begin) + std::to_string(random() % 120) + good.substr(end);
    try {
      ObjectRef program = load_json(bad);
      structural_hash(program);
      structural_equal(program, sample());
      to_text(program);
      text_form(program);
      tvm_script(program);
      ++printed;
    } catch (const Error&) {}
  }
  EXPECT_GT(printed, 30);
  EXPECT_LT(printed, 3000);
}

}  // namespace
}  // namespace tessera
