#pragma once
// The lowering pipeline, from loops over buffers (or blocks) to what code generators read.

#include "ir/pass/pass.h"
#include "ir/target/target.h"

namespace tessera {

/// Blocks become loops over buffers that keep their dimensions, for functions that do not come from a TE schedule.
std::vector<Pass> block_passes();

/// The passes of phases 0 to 3 in order, with the user's own ("tir.add_lower_pass") at the end of theirs. `simple_mode`
/// leaves out loop partition, for text that is easier to read.
std::vector<Pass> lowering_passes(bool simple_mode, const PassContext& context);

/// Runs all phases on a module. Lowering what is lowered already changes nothing but its simplification.
IRModule lower_module(const IRModule& mod, bool simple_mode, const PassContext& context = PassContext::current());

/// Runs passes one after another on a module; in tests every one is checked to leave well-formed functions.
IRModule run_passes(const std::vector<Pass>& passes, const IRModule& mod,
                    const PassContext& context = PassContext::current());

/// From lowered functions to host and device functions: threads synchronised, arguments checked, kernels split off.
std::vector<Pass> mixed_passes(const IRModule& mod, const Target& target, const PassContext& context);
/// What is left for the host's code generator, and for the device's.
std::vector<Pass> host_passes(const Target& host, const PassContext& context);
std::vector<Pass> device_passes(const Target& target, const PassContext& context);

}  // namespace tessera
