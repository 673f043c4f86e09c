#pragma once
// Candidates of searches as libraries: made by processes of the compiler, or here where functions of users take part.

#include "kernel/environment.h"
#include "tune/build.h"

namespace tessera {

/// What a candidate is given as.
enum class CandidateForm : int64_t {
  Lowered = 0,   // an IRModule of lowered functions
  Program = 1,   // an IRModule that is to be lowered
  Schedule = 2,  // [te.Schedule, its arguments, the function's name]
  Kernel = 3,    // an IRModule of a model's kernel, scheduled
};

struct BuildLimits {
  size_t threads = 0;  // 0: all
  double timeout = 0;  // seconds for each candidate; 0: none
};

/// Compiles and links each candidate into its file. Processes are started when they are first wanted, and are there until this one ends.
/// Candidates that functions of users take part in (passes, instruments, replaced pieces of the compiler) are built in this process, which
/// has those, without a time limit.
std::vector<tune::BuildResult> build_candidates(CandidateForm form, const Array<ObjectRef>& candidates,
                                                const std::vector<std::string>& paths,
                                                const kernel::CompileEnvironment& environment,
                                                const BuildLimits& limits);

}  // namespace tessera
