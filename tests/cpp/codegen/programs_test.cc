// Control flow, memory, calls and parallel loops.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "codegen/jit.h"
#include "runtime/ndarray.h"
#include "tessera/c_api.h"

namespace tessera::test {
namespace {

Buffer buffer(const char* name, DataType dtype = i32, int size = 16) {
  return decl_buffer({PrimExpr(size)}, dtype, name);
}

Stmt allocate(const Buffer& buffer, Stmt body) {
  return make(Allocate{.buffer_var = buffer->data,
                       .dtype = buffer->dtype,
                       .extents = buffer->shape,
                       .condition = bool_imm(true),
                       .body = std::move(body)});
}

TEST(Programs, LoopsOfNegativeExtentDoNothing) {
  Buffer out = buffer("out");
  Var i = make_var("i"), n = make_var("n");
  Compiled code = compile(make_prim_func({out->data, n}, loop(i, n, store(out, PrimExpr(i) * PrimExpr(2), i))));
  std::vector<int> data(16, -1);
  EXPECT_EQ(code(data.data(), -5), 0);
  EXPECT_EQ(data[0], -1);
  EXPECT_EQ(code(data.data(), 3), 0);
  EXPECT_EQ(data, (std::vector<int>{0, 2, 4, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
}

TEST(Programs, WhileRunsUntilItsConditionFails) {
  Buffer out = buffer("out");
  Stmt body = sequence({store(out, load(out, 1) + load(out, 0), 1), store(out, load(out, 0) - PrimExpr(1), 0)});
  Compiled code = compile(function_of({out}, make(While{.condition = load(out, 0) > PrimExpr(0), .body = body})));
  std::vector<int> data = {10, 0};
  EXPECT_EQ(code(data.data()), 0);
  EXPECT_EQ(data[1], 55);
}

TEST(Programs, IfThenElseTouchesOnlyTheSideItTakes) {
  Buffer in = buffer("in", f32), out = buffer("out", f32);
  Var i = make_var("i");
  PrimExpr value =
      if_then_else(PrimExpr(i) < PrimExpr(4), load(in, PrimExpr(i) * PrimExpr(1 << 28)), make_const(f32, 7));
  Compiled code =
      compile(function_of({in, out}, make(For{.loop_var = i, .min = 4, .extent = 8, .body = store(out, value, i)})));
  std::vector<float> a(16, 1), b(16, 0);
  EXPECT_EQ(code(a.data(), b.data()), 0);
  EXPECT_EQ(b[4], 7);
  EXPECT_EQ(b[11], 7);
  EXPECT_EQ(b[12], 0);
}

TEST(Programs, AllocationsAreLocalAndAccumulatorsStayInRegisters) {
  Buffer a = buffer("a", f32, 64), out = buffer("out", f32, 16), sum = buffer("sum", f32, 16);
  Var k = make_var("k");
  PrimExpr lanes = make_ramp(PrimExpr(0), PrimExpr(1), 16);
  Stmt body =
      sequence({store(sum, make_const(f32.with_lanes(16), 0.0), lanes),
                loop(k, PrimExpr(4),
                     store(sum, load(sum, lanes) + load(a, make_ramp(k * PrimExpr(16), PrimExpr(1), 16)), lanes)),
                store(out, load(sum, lanes), lanes)});
  Compiled code = compile(function_of({a, out}, allocate(sum, body)));
  std::vector<float> x(64), y(16);
  for (int i = 0; i < 64; ++i) x[i] = i;
  EXPECT_EQ(code(x.data(), y.data()), 0);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(y[i], 4 * i + 96);
  EXPECT_EQ(code.module->get_source("ll").find("alloca"), std::string::npos);
}

TEST(Programs, VectorIndicesOfEveryPattern) {
  Buffer in = buffer("in", i32, 64), out = buffer("out", i32, 64);
  auto at = [](PrimExpr base, int stride) { return make_ramp(std::move(base), PrimExpr(stride), 8); };
  PrimExpr table = load(in, at(PrimExpr(0), 1));
  Stmt body = sequence({
      store(out, load(in, at(PrimExpr(7), -1)), at(PrimExpr(0), 1)),              // reversed load
      store(out, load(in, at(PrimExpr(1), 3)), at(PrimExpr(15), -1)),             // strided load, reversed store
      store(out, load(in, make_broadcast(PrimExpr(5), 8)), at(PrimExpr(16), 2)),  // one element, strided store
      store(out, load(in, table * make_broadcast(PrimExpr(2), 8)), at(PrimExpr(40), 1)),  // gather
  });
  Compiled code = compile(function_of({in, out}, body));
  std::vector<int> x(64), y(64, -1);
  for (int i = 0; i < 64; ++i) x[i] = i;
  EXPECT_EQ(code(x.data(), y.data()), 0);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(y[i], 7 - i);
    EXPECT_EQ(y[15 - i], 1 + 3 * i);
    EXPECT_EQ(y[16 + 2 * i], 5);
    EXPECT_EQ(y[40 + i], 2 * i);
  }
  EXPECT_EQ(y[17], -1);
}

TEST(Programs, MaskedLanesTouchNoMemory) {
  Buffer in = buffer("in", f32), out = buffer("out", f32);
  Var n = make_var("n");
  PrimExpr lanes = make_ramp(PrimExpr(0), PrimExpr(1), 16);
  PrimExpr mask = make_binary<LT>(lanes, make_broadcast(n, 16));
  auto address = [&](const Buffer& b) { return make_call(DataType::Handle(), "tir.address_of", {load(b, lanes)}); };
  PrimExpr value =
      make_call(f32.with_lanes(16), "tir.masked_load", {address(in), mask, make_const(f32.with_lanes(16), 0.0)});
  Stmt body = evaluate(make_call(DataType::Void(), "tir.masked_store",
                                 {address(out), value + make_const(f32.with_lanes(16), 1.0), mask}));
  Compiled code = compile(make_prim_func({in->data, out->data, n}, body));
  std::vector<float> x(16, 2), y(16, -1);
  EXPECT_EQ(code(x.data(), y.data(), 5), 0);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(y[i], i < 5 ? 3 : -1);
}

TEST(Programs, LetShuffleBroadcastAndVectorHalves) {
  Buffer in = buffer("in", i32), out = buffer("out", i32, 32);
  PrimExpr four = load(in, make_ramp(PrimExpr(0), PrimExpr(1), 4));
  Var x = make_var("x", i32.with_lanes(4));
  PrimExpr swapped = make_shuffle({x, x}, {PrimExpr(3), PrimExpr(2), PrimExpr(5), PrimExpr(0)});
  auto lanes = [](int base, int n) { return make_ramp(PrimExpr(base), PrimExpr(1), n); };
  PrimExpr high = make_call(i32.with_lanes(2), "tir.vectorhigh", {four});
  PrimExpr low = make_call(i32.with_lanes(2), "tir.vectorlow", {four});
  Stmt body = sequence({store(out, make_let(x, four, swapped + swapped), lanes(0, 4)),
                        store(out, make_call(i32.with_lanes(4), "tir.vectorcombine", {high, low}), lanes(4, 4)),
                        store(out, make_shuffle({four}, {PrimExpr(2)}), PrimExpr(8))});
  Compiled code = compile(function_of({in, out}, body));
  std::vector<int> a = {10, 11, 12, 13}, b(32);
  EXPECT_EQ(code(a.data(), b.data()), 0);
  EXPECT_EQ(std::vector<int>(b.begin(), b.begin() + 9), (std::vector<int>{26, 24, 22, 20, 12, 13, 10, 11, 12}));
}

TEST(Programs, ExternFunctionsAndIntrinsicsOfLLVM) {
  Buffer in = buffer("in", f32), out = buffer("out", f32);
  int64_t id = get_global("target.llvm_lookup_intrinsic_id")(std::string("llvm.fma.f32")).to<int64_t>();
  PrimExpr x = load(in, 0);
  DataType u32 = DataType::UInt(32);
  Stmt body = sequence({
      store(out, make_call(f32, "tir.call_pure_extern", {string_imm("cbrtf"), x}), 0),
      store(out, make_call(f32, "tir.call_llvm_pure_intrin", {int_imm(u32, id), int_imm(u32, 3), x, x, x}), 1),
      store(out, make_call(f32, "tir.call_extern", {string_imm("ldexpf"), x, PrimExpr(3)}), 2),
  });
  Compiled code = compile(function_of({in, out}, body));
  std::vector<float> a = {8}, b(16);
  EXPECT_EQ(code(a.data(), b.data()), 0);
  EXPECT_FLOAT_EQ(b[0], 2);
  EXPECT_EQ(b[1], 72);
  EXPECT_EQ(b[2], 64);
}

TEST(Programs, AMissingExternFunctionIsNamed) {
  Buffer out = buffer("out", f32);
  PrimFunc f =
      function_of({out}, store(out, make_call(f32, "tir.call_extern", {string_imm("no_such_function_anywhere")}), 0));
  try {
    compile(f);
    FAIL() << "it was linked";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("no_such_function_anywhere"), std::string::npos) << error.message();
  }
}

TEST(Programs, WhatHasNoMachineCodeIsAnErrorThatNamesIt) {
  Buffer out = decl_buffer({PrimExpr(4), PrimExpr(4)}, f32, "grid");
  Stmt two_dims = make(BufferStore{.buffer = out, .value = make_const(f32, 1), .indices = {PrimExpr(0), PrimExpr(1)}});
  Var i = make_var("i");
  auto message = [](Stmt body, const Buffer& b) -> std::string {
    try {
      compile(function_of({b}, body));
    } catch (const Error& error) {
      return error.message();
    }
    return "no error";
  };
  EXPECT_NE(message(two_dims, out).find("buffer grid is written with 2 indices"), std::string::npos);
  Buffer flat = buffer("flat", f32);
  Stmt vectorized = loop(i, PrimExpr(4), store(flat, make_const(f32, 1), i), LoopKind::Vectorized);
  EXPECT_NE(message(vectorized, flat).find("loop i, which is vectorized"), std::string::npos);
  EXPECT_NE(message(store(flat, make_const(f32, 1), make_var("loose")), flat).find("variable loose"),
            std::string::npos);
  Stmt sync = evaluate(make_call(i32, "tir.tvm_warp_shuffle", {PrimExpr(1)}));
  EXPECT_NE(message(sync, flat).find("tir.tvm_warp_shuffle"), std::string::npos);
  EXPECT_NE(message(sync, flat).find("in function f"), std::string::npos);
  Buffer odd = buffer("odd", DataType::Int(24));
  EXPECT_NE(message(store(odd, make_const(DataType::Int(24), 1), 0), odd).find("int24"), std::string::npos);
}

TEST(Programs, WhatTheBackEndCannotDoIsAnErrorToo) {
  Buffer out = buffer("out", f32);
  PrimExpr lanes = make_ramp(PrimExpr(0), PrimExpr(1), 4), value = load(out, lanes);
  int64_t id = get_global("target.llvm_lookup_intrinsic_id")(std::string("llvm.aarch64.neon.fmaxp")).to<int64_t>();
  ASSERT_GT(id, 0);
  DataType u32 = DataType::UInt(32);
  PrimExpr call =
      make_call(f32.with_lanes(4), "tir.call_llvm_pure_intrin", {int_imm(u32, id), int_imm(u32, 2), value, value});
  EXPECT_THROW(compile(function_of({out}, store(out, call, lanes))), Error);
  Compiled after = compile(function_of({out}, store(out, value + value, lanes)));  // LLVM goes on working
  std::vector<float> data(16, 1);
  EXPECT_EQ(after(data.data()), 0);
  EXPECT_EQ(data[3], 2);
}

TEST(Programs, ParallelLoopsCoverEveryIterationOnce) {
  for (bool strided : {false, true}) {
    for (int extent : {0, 1, 3, 1000}) {
      Buffer out = buffer("out", i32, 1024);
      Var i = make_var("i", i64), n = make_var("n");
      PrimExpr index = cast(i32, i);
      Stmt body = make(For{.loop_var = i,
                           .min = make_const(i64, 2),
                           .extent = make_const(i64, extent),
                           .kind = LoopKind::Parallel,
                           .body = store(out, load(out, index) + PrimExpr(n) + index, index)});
      if (strided) {
        body =
            make(AttrStmt{.node = i, .attr_key = "pragma_parallel_stride_pattern", .value = PrimExpr(1), .body = body});
        body = make(
            AttrStmt{.node = i, .attr_key = "pragma_parallel_barrier_when_finish", .value = PrimExpr(1), .body = body});
        body =
            make(AttrStmt{.node = i, .attr_key = "pragma_parallel_launch_point", .value = PrimExpr(1), .body = body});
      }
      Compiled code = compile(make_prim_func({out->data, n}, body));
      std::vector<int> data(1024, 0);
      EXPECT_EQ(code(data.data(), 100), 0);
      for (int k = 0; k < 1024; ++k) EXPECT_EQ(data[k], k >= 2 && k < 2 + extent ? 100 + k : 0);
    }
  }
}

TEST(Programs, AParallelLoopInsideAnotherRunsSerially) {
  Buffer out = buffer("out", i32, 64);
  Var i = make_var("i"), j = make_var("j");
  PrimExpr index = i * PrimExpr(8) + PrimExpr(j);
  Stmt inner = loop(j, PrimExpr(8), store(out, index, index), LoopKind::Parallel);
  Compiled code = compile(function_of({out}, loop(i, PrimExpr(8), inner, LoopKind::Parallel)));
  std::vector<int> data(64, -1);
  EXPECT_EQ(code(data.data()), 0);
  for (int k = 0; k < 64; ++k) EXPECT_EQ(data[k], k);
}

TEST(Programs, AFailedAssertionStopsTheProgramAndTellsWhy) {
  Buffer out = buffer("out");
  Var n = make_var("n"), i = make_var("i");
  Stmt checked = make(
      AssertStmt{.condition = PrimExpr(n) > PrimExpr(i), .message = string_imm("n is too small"), .body = make_nop()});
  for (LoopKind kind : {LoopKind::Serial, LoopKind::Parallel}) {
    Stmt body = loop(i, PrimExpr(4), sequence({checked, store(out, PrimExpr(1), i)}), kind);
    Compiled code = compile(make_prim_func({out->data, n}, body));
    std::vector<int> data(16, 0);
    EXPECT_EQ(code(data.data(), 4), 0);
    EXPECT_NE(code(data.data(), 3), 0);
    EXPECT_NE(std::string(TesseraGetLastError()).find("n is too small"), std::string::npos);
  }
}

TEST(Programs, PackedFunctionsAreFoundByNameAndCalled) {
  static std::atomic<int> calls = 0;
  auto twice = [](double x) {
    if (x < 0) throw Error(ValueError) << "twice of a negative number";
    ++calls;
    return 2 * x;
  };
  register_global("test.codegen.twice", typed("twice", twice), true);
  Var args = make_var("args", DataType::Handle()), codes = make_var("codes", DataType::Handle()),
      count = make_var("count"), ret = make_var("ret", DataType::Handle()),
      ret_code = make_var("ret_code", pointer_type(i32)), resource = make_var("resource", DataType::Handle());
  Var values = make_var("values", DataType::Handle()), types = make_var("types", pointer_type(i32));
  auto on_stack = [](const char* what) {
    return make_call(DataType::Handle(), "tir.tvm_stack_alloca", {string_imm(what), PrimExpr(2)});
  };
  auto struct_set = [](const Var& p, PrimExpr v) {
    return evaluate(make_call(i32, "tir.tvm_struct_set", {p, PrimExpr(0), PrimExpr(12), v}));
  };
  auto view = [](const Var& p) {
    return make(BufferNode{.data = p, .dtype = i32, .shape = {PrimExpr(2)}, .elem_offset = 0, .name = "codes"});
  };
  PrimExpr x = make_call(DataType::Float(64), "tir.tvm_struct_get", {args, PrimExpr(0), PrimExpr(12)});
  PrimExpr call = make_call(DataType::Float(64), "tir.tvm_call_packed_lowered",
                            {string_imm("test.codegen.twice"), values, types, PrimExpr(0), PrimExpr(1)});
  Stmt body =
      sequence({struct_set(values, x), store(view(types), PrimExpr(kTesseraFloat), 0), struct_set(ret, call),
                store(view(ret_code), PrimExpr(kTesseraFloat), 0), evaluate(make_call(i32, "tir.ret", {PrimExpr(0)}))});
  body = make(LetStmt{.var = types, .value = on_stack("arg_tcode"), .body = body});
  body = make(LetStmt{.var = values, .value = on_stack("arg_value"), .body = body});
  PrimFunc f = make_prim_func({args, codes, count, ret, ret_code, resource}, body);
  f = with_attr(f, attr::kCallingConv, int_imm(i32, int(CallingConv::CPackedFunc)));
  Module module = build(module_of(f, "packed"));
  PackedFunc packed = module.get_function("packed"), entry = module.get_function("__tvm_main__");
  module = nullptr;  // functions keep their code
  EXPECT_EQ(packed(21.0).to<double>(), 42);
  EXPECT_EQ(entry(1.5).to<double>(), 3);
  EXPECT_EQ(calls, 2);
  try {
    packed(-1.0);
    FAIL() << "the error was lost";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("twice of a negative number"), std::string::npos);
    EXPECT_EQ(error.kind(), ValueError);
  }
}

TEST(Programs, ConstantsLieInTheCode) {
  int64_t shape[] = {4};
  NDArray data = NDArray::empty(shape, f32);
  for (int i = 0; i < 4; ++i) data.data<float>()[i] = 1.5f * i;
  Buffer table = buffer("table", f32, 4), out = buffer("out", f32);
  Var i = make_var("i");
  Stmt body = make(AllocateConst{.buffer_var = table->data,
                                 .data = data,
                                 .dtype = f32,
                                 .extents = {PrimExpr(4)},
                                 .body = loop(i, PrimExpr(4), store(out, load(table, i), i))});
  Compiled code = compile(function_of({out}, body));
  std::vector<float> y(16);
  EXPECT_EQ(code(y.data()), 0);
  EXPECT_EQ(y[3], 4.5f);
}

TEST(Programs, FunctionsOfAModuleCallEachOther) {
  Buffer out = buffer("out");
  GlobalVarNode name;
  name.name_hint = "helper";
  GlobalVar helper = make(std::move(name));
  Var p = make_var("p", DataType::Handle()), v = make_var("v");
  Buffer inside =
      make(BufferNode{.data = p, .dtype = i32, .shape = {PrimExpr(16)}, .elem_offset = 0, .name = "inside"});
  PrimExpr call = make_call(DataType::Void(), RelayExpr(helper), {PrimExpr(out->data), PrimExpr(11)});
  IRModule mod = module_of(function_of({out}, evaluate(call)));
  mod.update(helper, make_prim_func({p, v}, store(inside, v, 3)));
  Module module = build(mod);
  auto* f =
      reinterpret_cast<int (*)(int*)>(get_global("codegen.llvm_symbol_address")(module, std::string("f")).to<void*>());
  std::vector<int> data(16);
  EXPECT_EQ(f(data.data()), 0);
  EXPECT_EQ(data[3], 11);
}

TEST(Programs, ImportedTextOfLLVMIsCalledAndInlined) {
  const char* text = R"(
    define i32 @add_three(ptr %p, i32 %v) noinline optnone {
      %old = load i32, ptr %p
      %new = add i32 %old, %v
      store i32 %new, ptr %p
      ret i32 0
    })";
  Buffer out = buffer("out");
  Stmt call = evaluate(make_call(i32, "tir.call_extern", {string_imm("add_three"), out->data, PrimExpr(3)}));
  Stmt body =
      make(AttrStmt{.node = out->data, .attr_key = "pragma_import_llvm", .value = string_imm(text), .body = call});
  Compiled code = compile(function_of({out}, body));
  std::vector<int> data(16, 1);
  EXPECT_EQ(code(data.data()), 0);
  EXPECT_EQ(data[0], 4);
  EXPECT_EQ(code.module->get_source("ll").find("call i32"), std::string::npos);
  Stmt broken =
      make(AttrStmt{.attr_key = "pragma_import_llvm", .value = string_imm("define i32 @x( {\n"), .body = call});
  EXPECT_THROW(compile(function_of({out}, broken)), Error);
}

TEST(Programs, SharedPartsOfAnExpressionAreComputedOnce) {
  Buffer in = buffer("in", f32), out = buffer("out", f32);
  PrimExpr x = load(in, 0);
  for (int i = 0; i < 60; ++i) x = make_binary<Add>(x, x);  // 2^60 uses
  Compiled code = compile(function_of({in, out}, store(out, x, 0)));
  std::vector<float> a = {1}, b(16);
  EXPECT_EQ(code(a.data(), b.data()), 0);
  EXPECT_EQ(b[0], std::ldexp(1.f, 60));
}

}  // namespace
}  // namespace tessera::test
