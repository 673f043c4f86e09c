#include "ir/builtin.h"

namespace tessera {
namespace builtin {
namespace {

struct Row {
  const char* name;
  int inputs;
  CallEffect effect;
  bool vectorizable;
};

constexpr Row kRows[] = {
#define TESSERA_BUILTIN_ROW(NAME, INPUTS, EFFECT, VECTORIZABLE) {#NAME, INPUTS, CallEffect::EFFECT, VECTORIZABLE},
    TESSERA_BUILTIN_OPS(TESSERA_BUILTIN_ROW)
#undef TESSERA_BUILTIN_ROW
};

/// Functions of the CUDA device library that warp operations become.
constexpr Row kCudaRows[] = {{"__activemask", 0, CallEffect::Pure, false},
                             {"__shfl_sync", 4, CallEffect::Opaque, false},
                             {"__shfl_up_sync", 4, CallEffect::Opaque, false},
                             {"__shfl_down_sync", 4, CallEffect::Opaque, false}};

/// What lowering makes use of, beyond v0.10: reinterpret, of as many bits, where vectors of them compute what their lanes
/// would; the 16 bits of a float32 that is rounded to bfloat16; y * 2^n for a whole n of y's type for which 2^(n / 2) is a
/// normal number; and (index, extent, where), an index from data made safe: for -extent <= index < extent the position that
/// it names, counted from the end where it is negative, for others 0, and the program ends with an IndexError that begins
/// with the text `where`. It reads state as the load of the index does: it is not computed where a guard is false.
constexpr Row kOwnRows[] = {{"reinterpret_lanes", 1, CallEffect::Pure, true},
                            {"rounded_to_bfloat", 1, CallEffect::Pure, true},
                            {"times_power_of_two", 2, CallEffect::Pure, true},
                            {"checked_index", 3, CallEffect::ReadState, true}};

/// Barriers in shared memory, the copy engine and wgmma of Hopper: codegen/cuda/hopper.cc says their arguments.
constexpr Row kHopperRows[] = {{"ptx_mbarrier_init", 3, CallEffect::Opaque, false},
                               {"ptx_mbarrier_fence", 0, CallEffect::Opaque, false},
                               {"ptx_mbarrier_expect", 3, CallEffect::Opaque, false},
                               {"ptx_mbarrier_wait", 3, CallEffect::Opaque, false},
                               {"ptx_mbarrier_arrive", 3, CallEffect::Opaque, false},
                               {"ptx_tensor_copy", -1, CallEffect::Opaque, false},
                               {"ptx_cluster_barrier", 0, CallEffect::Opaque, false},
                               {"ptx_set_registers", 2, CallEffect::Opaque, false},
                               {"ptx_wgmma", 9, CallEffect::Opaque, false},
                               {"ptx_wgmma_fence", 0, CallEffect::Opaque, false},
                               {"ptx_wgmma_commit", 0, CallEffect::Opaque, false},
                               {"ptx_wgmma_wait", 1, CallEffect::Opaque, false},
                               {"ptx_exchange_pairs", 4, CallEffect::Opaque, false},
                               {"ptx_wgmma_of_registers", 9, CallEffect::Opaque, false},
                               {"ptx_hold_registers", 3, CallEffect::Opaque, false},
                               {"ptx_narrow_pairs", 6, CallEffect::Opaque, false},
                               {"ptx_named_barrier", 3, CallEffect::Opaque, false},
                               {"ptx_shuffle_xor", 2, CallEffect::Opaque, false},
                               {"ptx_exp2", 1, CallEffect::Pure, true}};

Op define_builtin(const std::string& prefix, const Row& row) {
  Op op = Op::define(prefix + row.name);
  op.edit()->num_inputs = row.inputs;
  op.set("TCallEffectKind", Any(row.effect));
  op.set("TScriptPrinterName", Any(std::string(row.name)));
  if (row.vectorizable) op.set("TVectorizable", Any(true));
  return op;
}

[[maybe_unused]] const bool builtins_defined = [] {
  for (const Row& row : kRows) define_builtin("tir.", row);
  for (const Row& row : kOwnRows) define_builtin("tir.", row);
  for (const Row& row : kHopperRows) define_builtin("tir.", row);
  for (const Row& row : kCudaRows) define_builtin("tir.cuda.", row).set("TGlobalSymbol", Any(std::string(row.name)));
  // The runtime's own allocation calls are linked by their plain names.
  for (const char* name : {"TVMBackendAllocWorkspace", "TVMBackendFreeWorkspace"})
    Op::get(std::string("tir.") + name).set("TGlobalSymbol", Any(std::string(name)));
  return true;
}();

}  // namespace

#define TESSERA_DEFINE_BUILTIN(NAME, INPUTS, EFFECT, VECTORIZABLE) \
  const Op& NAME() {                                               \
    static const Op op = Op::define("tir." #NAME);                 \
    return op;                                                     \
  }
TESSERA_BUILTIN_OPS(TESSERA_DEFINE_BUILTIN)
#undef TESSERA_DEFINE_BUILTIN

CallEffect effect_of(const Call* call) {
  auto* op = call->op.as<OpNode>();
  if (!op) return CallEffect::Opaque;
  Any effect = Op(op).slot("TCallEffectKind");
  return effect.is_null() ? CallEffect::Opaque : effect.to<CallEffect>();
}

}  // namespace builtin

PrimExpr make_call(DataType dtype, const RelayExpr& op, Array<PrimExpr> args) {
  Call call;
  call.dtype = dtype;
  call.op = op;
  call.args = std::move(args);
  return make(std::move(call));
}

}  // namespace tessera
