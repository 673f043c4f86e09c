#pragma once
// Low-level programs written by hand, compiled and run: what the tests of code generation share.

#include <cstring>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/target/target.h"
#include "runtime/module/module.h"
#include "runtime/registry.h"
#include "tir/function.h"

namespace tessera::test {

inline constexpr DataType f32 = DataType::Float(32), i32 = DataType::Int(32), i64 = DataType::Int(64);

template <class T>
DataType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DataType::Bool();
  if constexpr (std::is_floating_point_v<T>) return DataType::Float(sizeof(T) * 8);
  return DataType(std::is_signed_v<T> ? DataType::kInt : DataType::kUInt, sizeof(T) * 8);
}

inline Module build(const IRModule& mod, const std::string& target = "llvm") {
  return get_global("target.build.llvm")(mod, Target::parse(target)).to<Module>();
}

inline IRModule module_of(PrimFunc function, const std::string& name = "f") {
  if (!function->attrs.has(attr::kGlobalSymbol)) function = with_attr(function, attr::kGlobalSymbol, String(name));
  GlobalVarNode var;
  var.name_hint = name;
  IRModule mod;
  mod.update(make(std::move(var)), function);
  return mod;
}

/// A plain C function of pointers, compiled; keeps its module.
struct Compiled {
  Module module;
  void* address;
  template <class... A>
  int operator()(A... args) const {
    return reinterpret_cast<int (*)(A...)>(address)(args...);
  }
};

inline Compiled compile(const PrimFunc& function, const std::string& target = "llvm") {
  Module module = build(module_of(function), target);
  void* address = get_global("codegen.llvm_symbol_address")(module, std::string("f")).to<void*>();
  return {module, address};
}

inline Stmt loop(const Var& var, PrimExpr extent, Stmt body, LoopKind kind = LoopKind::Serial) {
  return make(For{.loop_var = var,
                  .min = make_zero(var->dtype),
                  .extent = std::move(extent),
                  .kind = kind,
                  .body = std::move(body)});
}
inline Stmt store(const Buffer& buffer, PrimExpr value, PrimExpr index) {
  return make(BufferStore{.buffer = buffer, .value = std::move(value), .indices = {std::move(index)}});
}
inline PrimExpr load(const Buffer& buffer, PrimExpr index) { return make_load(buffer, {std::move(index)}); }

/// A function whose parameters are the buffers' pointers.
inline PrimFunc function_of(const std::vector<Buffer>& buffers, Stmt body) {
  Array<Var> params;
  for (const Buffer& buffer : buffers) params.push_back(buffer->data);
  return with_attr(make_prim_func(params, std::move(body)), "tir.noalias", bool_imm(true));
}

/// Out[i] = f(In0[i], In1[i], ...) for i < n, `lanes` elements at a time; n is a multiple of lanes.
template <class F>
Compiled elementwise(DataType out, const std::vector<DataType>& in, int n, int lanes, F f,
                     const std::string& target = "llvm") {
  Var i = make_var("i");
  PrimExpr index = lanes == 1 ? PrimExpr(i) : make_ramp(i * PrimExpr(lanes), PrimExpr(1), lanes);
  std::vector<Buffer> buffers;
  std::vector<PrimExpr> values;
  for (size_t k = 0; k < in.size(); ++k) {
    buffers.push_back(decl_buffer({PrimExpr(n)}, in[k], "in" + std::to_string(k)));
    values.push_back(load(buffers.back(), index));
  }
  buffers.push_back(decl_buffer({PrimExpr(n)}, out, "out"));
  return compile(function_of(buffers, loop(i, PrimExpr(n / lanes), store(buffers.back(), f(values), index))), target);
}

/// The same from C++ values to C++ values, once scalar and once with vectors; the two must agree bit by bit.
template <class Out, class... In, class F>
std::vector<Out> run(DataType out, const std::vector<DataType>& in, F f, const std::vector<In>&... data) {
  size_t n = std::get<0>(std::tie(data...)).size();
  std::vector<Out> results[2];
  for (int lanes : {1, 8}) {
    ICHECK(n % 8 == 0) << "tests give multiples of 8 elements";
    Compiled code = elementwise(out, in, static_cast<int>(n), lanes, f);
    auto& result = results[lanes == 8];
    result.resize(n);
    int status = code(data.data()..., result.data());
    ICHECK(status == 0) << "the function failed";
  }
  ICHECK(std::memcmp(results[0].data(), results[1].data(), n * sizeof(Out)) == 0) << "scalar and vector code differ";
  return results[0];
}

}  // namespace tessera::test
