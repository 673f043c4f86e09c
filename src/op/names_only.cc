// Operators of v0.10 that programs only name: what its compilers pass among themselves, and what its generators of code for
// accelerators make. None of them computes anything here.

#include "ir/type.h"
#include "op/records.h"
#include "op/rules.h"

namespace tessera::op {
namespace {

bool type_of_function(TypeQuery& query) {
  if (!query.is_known(0)) return false;
  query.result(query.type(0));
  return true;
}

bool type_of_lowered_call(TypeQuery& query) {
  auto* function = query.is_known(0) ? query.type(0).as<FuncType>() : nullptr;
  if (!function) return false;
  query.result(function->ret_type);
  return true;
}

}  // namespace

static void named_records() {
  OpRecord("annotation.with_funcid")
      .doc("A function with a number of its own.")
      .input("func", "the function", "Function")
      .support_level(10)
      .type("Identity", type_of_function);
  OpRecord("call_lowered")
      .doc("A call of a function that was lowered.")
      .input("func", "the function", "Function")
      .input("call_args", "its arguments", "Tuple")
      .support_level(10)
      .type("CallLowered", type_of_lowered_call)
      .fusion(Fusion::Opaque)
      .noncomputational()
      .stateful(false);
  OpRecord("parser.MetaRef").doc("What stands in the metadata of a text.").noncomputational().stateful(false);
  for (const char* name :
       {"contrib.ethosu.binary_elementwise", "contrib.ethosu.conv2d", "contrib.ethosu.depthwise_conv2d",
        "contrib.ethosu.identity", "contrib.ethosu.pooling", "contrib.ethosu.unary_elementwise"})
    OpRecord(name).doc("A layer of an Ethos-U.").input("ifm", "its input").support_level(11).variadic();
  for (const char* intrinsic : {"tir.ctpop", "tir.isfinite", "tir.isinf"})
    OpRecord(intrinsic).doc("A name of v0.10's rules for intrinsics; tir.popcount, and expressions, serve instead.");
}

[[gnu::init_priority(kFamilies)]] static const OpFamily named_family{named_records};

}  // namespace tessera::op
