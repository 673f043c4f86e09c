#include "kernel/kernel_table.h"

#include <atomic>

#include "base/json.h"
#include "base/progress.h"
#include "base/run_tasks.h"
#include "ir/prim/ops.h"
#include "ir/structural/equal.h"
#include "kernel/schedule_kernel.h"
#include "tir/attrs.h"

namespace tessera::kernel {

namespace {

PrimFunc as_entry(PrimFunc program, const KernelEntry& kernel) {
  program = with_attr(program, attr::kGlobalSymbol, String(kernel.name));
  program = with_attr(program, attr::kTarget, kernel.target);
  return with_attr(program, attr::kNoAlias, bool_imm(!kernel.overlaps));  // see allow_overlap
}

}  // namespace

PrimFunc program_of(const KernelEntry& kernel, const CompileEnvironment& environment) {
  const CompileEnvironment own = environment.on(kernel.target);
  return as_entry(schedule_kernel(workload_of(kernel.primitive, kernel.target), own, kernel.name), kernel);
}

PrimFunc program_of(const KernelEntry& kernel, const CompileEnvironment& environment, const KernelChoice& choice) {
  const CompileEnvironment own = environment.on(kernel.target);
  return as_entry(schedule_kernel_as(workload_of(kernel.primitive, kernel.target), own, kernel.name, choice), kernel);
}

namespace {

void add_program(const KernelEntry& kernel, const PrimFunc& program, Map<Target, IRModule>* out) {
  if (!out->count(kernel.target)) out->set(kernel.target, IRModule());
  GlobalVarNode var;
  var.name_hint = String(kernel.name);
  (*out)[kernel.target].update(make(std::move(var)), program);
}

}  // namespace

Map<Target, IRModule> KernelSet::all_programs() const {
  Map<Target, IRModule> out;
  for (const auto& [target, mod] : programs) out.set(target, mod.copy());
  std::vector<const KernelEntry*> cached;
  for (const KernelEntry& kernel : entries)
    if (!kernel.unit.empty()) cached.push_back(&kernel);
  std::vector<PrimFunc> made(cached.size());
  run_tasks(cached.size(), environment.threads(), [&](size_t i) { made[i] = program_of(*cached[i], environment); });
  for (size_t i = 0; i < cached.size(); ++i) add_program(*cached[i], made[i], &out);
  return out;
}

const std::string& KernelTable::add_external(const relay::Function& function, const Target& target) {
  String symbol = downcast_or_null<String>(function->attrs.get_attr(attr::kGlobalSymbol));
  std::string name = symbol ? symbol.str() : names_.fresh(prefix_ + "_" + external_compiler(function));
  if (auto known = externals_.find(name); known != externals_.end()) {
    if (structural_equal(known->second.function, function)) return known->second.name;
    throw Error(ValueError) << "two different functions for external code generators have the symbol " << name;
  }
  ExternalCode code = compile_external(function, name, targets_);
  for (const auto& [own, program] : code.programs) {
    KernelEntry entry{function, target, own.str()};
    entry.rule = code.compiler;
    PrimFunc whole = with_attr(program, attr::kGlobalSymbol, own);
    if (!whole->attrs.has(attr::kTarget)) whole = with_attr(whole, attr::kTarget, target);
    by_name_.emplace(entry.name, entries_.size());
    in_place_[entry.name] = {};
    programs_.resize(entries_.size());
    programs_.push_back(whole);
    entries_.push_back(std::move(entry));
  }
  External entry{function, name, code.compiler};
  external_code_.push_back(std::move(code));
  return externals_.emplace(name, std::move(entry)).first->second.name;
}

const std::string& KernelTable::add(const relay::Function& primitive, const Target& target) {
  if (!external_compiler(primitive).empty()) return add_external(primitive, target);
  int64_t hash = structural_hash(primitive);
  auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const KernelEntry& known = entries_[it->second];
    if (known.target.same_as(target) && structural_equal(known.primitive, primitive)) return known.name;
  }
  KernelEntry entry{primitive, target, names_.fresh(prefix_ + "_" + kernel_name(primitive))};
  if (cached_.is_on()) {
    entry.key = cached_.key_of(primitive, entry.name);
    const RecordedPlans recorded = recorded_plans(primitive, environment_.on(target));
    if (!recorded.empty()) entry.key += "\n" + to_json(recorded);
  }
  by_hash_.emplace(hash, entries_.size());
  by_name_.emplace(entry.name, entries_.size());
  std::optional<CachedKernel> cached = entry.key.empty() ? std::nullopt : CachedKernels::find(entry.key, false);
  if (cached) {
    in_place_[entry.name] = cached->in_place;
    entry.rule = std::move(cached->rule);
    entry.unit = std::move(cached->unit);
  }
  if (!cached) pending_.push_back(entries_.size());
  entries_.push_back(std::move(entry));
  return entries_.back().name;
}

void KernelTable::schedule() {
  std::vector<size_t> now = std::exchange(pending_, {});
  programs_.resize(entries_.size());
  std::atomic<size_t> done{0};
  run_tasks(now.size(), environment_.threads(), [&](size_t i) {
    KernelEntry& kernel = entries_[now[i]];
    kernel.unit.clear();
    PrimFunc program = program_of(kernel, environment_);
    kernel.rule = downcast<String>(program->attrs.get_attr(kScheduleRule)).str();
    programs_[now[i]] = program;
    report_progress(++done, now.size(), "kernels");
  });
}

const std::string& KernelTable::rule(const std::string& name) const {
  auto external = externals_.find(name);
  return external == externals_.end() ? entries_[by_name_.at(name)].rule : external->second.rule;
}

const std::vector<InPlace>& KernelTable::in_place(const std::string& name) {
  auto [at, is_new] = in_place_.try_emplace(name);
  if (is_new && !externals_.count(name)) at->second = find_in_place(programs_[by_name_.at(name)]);
  return at->second;
}

void KernelTable::allow_overlap(const std::string& name) {
  const size_t index = by_name_.at(name);
  if (std::exchange(entries_[index].overlaps, true)) return;
  PrimFunc& program = programs_[index];
  if (program) program = with_attr(program, attr::kNoAlias, bool_imm(false));  // else it was cached: see `finish`
}

KernelSet KernelTable::finish() {
  programs_.resize(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) {
    KernelEntry& kernel = entries_[i];
    if (programs_[i]) continue;
    if (kernel.overlaps) {
      std::optional<CachedKernel> cached = CachedKernels::find(kernel.key, true);
      kernel.unit = cached ? std::move(cached->unit) : "";
    }
    if (kernel.unit.empty()) pending_.push_back(i);
  }
  schedule();
  KernelSet out{{entries_.begin(), entries_.end()}, {}, environment_, external_code_};
  for (size_t i = 0; i < entries_.size(); ++i)
    if (programs_[i]) add_program(entries_[i], programs_[i], &out.programs);
  return out;
}

}  // namespace tessera::kernel
