// Operators of v0.10 that programs only name: those that its generators of code for accelerators make, and names of its rules
// for intrinsics. None of them computes anything here.

#include "op/records.h"

namespace tessera::op {
static void named_records() {
  for (const char* name :
       {"contrib.ethosu.binary_elementwise", "contrib.ethosu.conv2d", "contrib.ethosu.depthwise_conv2d",
        "contrib.ethosu.identity", "contrib.ethosu.pooling", "contrib.ethosu.unary_elementwise"})
    OpRecord(name).doc("A layer of an Ethos-U.").input("ifm", "its input").support_level(11).variadic();
  for (const char* intrinsic : {"tir.ctpop", "tir.isfinite", "tir.isinf"})
    OpRecord(intrinsic).doc("A name of v0.10's rules for intrinsics; tir.popcount, and expressions, serve instead.");
}

[[gnu::init_priority(kFamilies)]] static const OpFamily named_family{named_records};

}  // namespace tessera::op
