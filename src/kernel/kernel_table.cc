#include "kernel/kernel_table.h"

#include "ir/prim/ops.h"
#include "ir/structural/equal.h"
#include "kernel/schedule_kernel.h"
#include "tir/attrs.h"

namespace tessera::kernel {

PrimFunc program_of(const KernelEntry& kernel, const CompileEnvironment& environment) {
  const CompileEnvironment own = environment.on(kernel.target);
  PrimFunc program = schedule_kernel(workload_of(kernel.primitive, kernel.target), own, kernel.name);
  program = with_attr(program, attr::kGlobalSymbol, String(kernel.name));
  program = with_attr(program, attr::kTarget, kernel.target);
  return with_attr(program, attr::kNoAlias, bool_imm(!kernel.overlaps));  // see allow_overlap
}

const std::string& KernelTable::add(const relay::Function& primitive, const Target& target) {
  int64_t hash = structural_hash(primitive);
  auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const KernelEntry& known = entries_[it->second];
    if (known.target.same_as(target) && structural_equal(known.primitive, primitive)) return known.name;
  }
  KernelEntry entry{primitive, target, names_.fresh(prefix_ + "_" + kernel_name(primitive))};
  if (cached_.is_on()) entry.key = cached_.key_of(primitive, entry.name);
  by_hash_.emplace(hash, entries_.size());
  by_name_.emplace(entry.name, entries_.size());
  std::optional<CachedKernel> cached = entry.key.empty() ? std::nullopt : CachedKernels::find(entry.key, false);
  if (cached) {
    in_place_[entry.name] = cached->in_place;
    entry.rule = std::move(cached->rule);
    entry.unit = std::move(cached->unit);
  }
  entries_.push_back(std::move(entry));
  if (!cached) schedule(entries_.back());
  return entries_.back().name;
}

void KernelTable::schedule(KernelEntry& kernel) {
  kernel.unit.clear();
  GlobalVarNode var;
  var.name_hint = String(kernel.name);
  if (!programs_.count(kernel.target)) programs_.set(kernel.target, IRModule());
  PrimFunc program = program_of(kernel, environment_);
  kernel.rule = downcast<String>(program->attrs.get_attr(kScheduleRule)).str();
  programs_[kernel.target].update(make(std::move(var)), program);
}

const std::vector<InPlace>& KernelTable::in_place(const std::string& name) {
  auto [at, is_new] = in_place_.try_emplace(name);
  if (is_new) at->second = find_in_place(downcast<PrimFunc>(programs_with(name).lookup(name)));
  return at->second;
}

void KernelTable::allow_overlap(const std::string& name) {
  KernelEntry& kernel = entries_[by_name_.at(name)];
  if (std::exchange(kernel.overlaps, true)) return;
  IRModule programs = programs_with(name);
  if (!programs || !programs.find_global_var(name)) return;  // cached: `finalize` looks for it
  auto program = downcast<PrimFunc>(programs.lookup(name));
  programs.update(programs.get_global_var(name), with_attr(program, attr::kNoAlias, bool_imm(false)));
}

void KernelTable::finalize() {
  for (KernelEntry& kernel : entries_) {
    IRModule programs = programs_with(kernel.name);
    if (programs && programs.find_global_var(kernel.name)) continue;
    if (kernel.overlaps) {
      std::optional<CachedKernel> cached = CachedKernels::find(kernel.key, true);
      kernel.unit = cached ? std::move(cached->unit) : "";
    }
    if (kernel.unit.empty()) schedule(kernel);
  }
}

}  // namespace tessera::kernel
