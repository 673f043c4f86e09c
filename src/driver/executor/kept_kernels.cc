#include "driver/executor/kept_kernels.h"

#include <charconv>

#include "codegen/kernel_cache.h"
#include "ir/json/json.h"
#include "ir/pass/pass.h"
#include "runtime/extension.h"
#include "topi/cpu/machine.h"

namespace tessera::relay {
namespace {

/// The pass context as text; nothing where it holds functions of users.
std::optional<std::string> context_text() {
  PassContext context = PassContext::current();
  if (!context->instruments.empty() || context->config.count("tir.add_lower_pass")) return std::nullopt;
  try {
    return save_json(Array<ObjectRef>{context->required_pass, context->disabled_pass, context->config}) +
           std::to_string(context->opt_level);
  } catch (const Error&) {
    return std::nullopt;  // an option that has no text
  }
}

std::string full_key(const std::string& key, bool overlaps) { return key + (overlaps ? "\noverlaps" : "\napart"); }

/// Pairs of numbers, an empty line, the machine code.
std::string to_bytes(const KeptKernel& kernel) {
  std::string out;
  for (InPlace pair : kernel.in_place) out += std::to_string(pair.input) + " " + std::to_string(pair.output) + "\n";
  return out + "\n" + kernel.unit;
}

std::optional<KeptKernel> from_bytes(const std::string& bytes) {
  KeptKernel out;
  const char *at = bytes.data(), *end = at + bytes.size();
  while (at < end && *at != '\n') {
    InPlace pair{};
    auto first = std::from_chars(at, end, pair.input);
    if (first.ec != std::errc() || first.ptr == end) return std::nullopt;
    auto second = std::from_chars(first.ptr + 1, end, pair.output);
    if (second.ec != std::errc() || second.ptr == end) return std::nullopt;
    out.in_place.push_back(pair);
    at = second.ptr + 1;
  }
  if (at == end) return std::nullopt;
  out.unit.assign(at + 1, end);
  return out;
}

}  // namespace

KeptKernels::KeptKernels(const CompilationConfig& config) {
  Target target = config->optional_homogeneous_target, host = config->host_target;
  if (!target || target->kind->name != "llvm" || !host || host.str() != target.without_host().str()) return;
  if (is_extended() || codegen::compiler_build_id().empty() || !codegen::KernelCache::get().is_on()) return;
  std::optional<std::string> context = context_text();
  if (!context) return;
  common_ = "kernel\n" + codegen::compiler_build_id() + "\n" + target.str() + "\n" +
            save_json(topi::machine_of(target)) + "\n" + *context + "\n";
}

std::string KeptKernels::key_of(const Function& primitive, const std::string& symbol) const {
  return common_ + symbol + "\n" + save_json(primitive, Spans::LeaveOut);
}

std::optional<KeptKernel> KeptKernels::find(const std::string& key, bool overlaps) {
  std::optional<std::string> bytes = codegen::KernelCache::get().find(full_key(key, overlaps));
  return bytes ? from_bytes(*bytes) : std::nullopt;
}

void KeptKernels::keep(const std::string& key, bool overlaps, const KeptKernel& kernel) {
  codegen::KernelCache::get().add(full_key(key, overlaps), to_bytes(kernel));
  if (overlaps) codegen::KernelCache::get().add(full_key(key, false), to_bytes({kernel.in_place, ""}));
}

}  // namespace tessera::relay
