#include "driver/tune_model.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "base/progress.h"
#include "driver/build_candidates.h"
#include "driver/build_module.h"

namespace tessera {
namespace {

PassContext context_of(const CompileOptions& options) {
  PassContextNode node;
  node.opt_level = options.opt_level;
  node.disabled_pass = options.disabled_pass;
  node.config = options.pass_config;
  return PassContext::create(std::move(node));
}

CompileOptions with_records(CompileOptions options, const Map<String, ObjectRef>& plans) {
  options.pass_config.set(kernel::kRecords, plans);
  options.pass_config.set(kernel::kShippedRecords, number_boxes.box_bool(false));
  return options;
}

}  // namespace

std::string compiler_library() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void*>(&compiler_library), &info) || !info.dli_fname) return "libtessera.so";
  return std::filesystem::absolute(info.dli_fname).string();
}

std::string worker_program() {
  const std::filesystem::path folder = std::filesystem::path(compiler_library()).parent_path();
  for (const auto& path : {folder.parent_path() / "bin" / "tessera-rpc-server", folder / "tessera-rpc-server"})
    if (std::filesystem::exists(path)) return path.string();
  throw Error(ValueError) << "the program tessera-rpc-server, which runs what is tuned, is not in "
                          << (folder.parent_path() / "bin").string();
}

CompiledModel ModelTuner::compile(const Map<String, ObjectRef>& plans) const {
  return compile_model(model_, with_records(options_.compile, plans));
}

ModelTuner::ModelTuner(const LoadedModel& model, TuneModelOptions options,
                       std::unique_ptr<tune::CandidateRunner> runner)
    : model_(model), options_(std::move(options)), runner_(std::move(runner)) {
  before_ = compile({});
  begin_stage("find kernels");
  const PassContext passes = context_of(with_records(options_.compile, {}));
  const Target host = host_of(options_.compile.target, nullptr);
  const auto environment = kernel::CompileEnvironment::make(options_.compile.target, host, passes);
  tasks_ = tune::extract_tasks(before_.optimized, environment);
  const BuildLimits limits{options_.tune.threads, options_.build_timeout};
  auto build = [environment, limits](const std::vector<IRModule>& programs, const std::vector<std::string>& paths) {
    const Array<ObjectRef> candidates(programs.begin(), programs.end());
    return build_candidates(CandidateForm::Kernel, candidates, paths, environment, limits);
  };
  tuner_ = std::make_unique<tune::Tuner>(tasks_, environment, build, *runner_, options_.tune);
  for (const std::string& file : options_.earlier) resumed_ += tuner_->resume(kernel::load_records(file));
  writer_ = std::make_unique<kernel::RecordWriter>(options_.output);
  tuner_->write_to(writer_.get());
}

bool ModelTuner::is_faster(const CompiledModel& tuned, const CompareModels& compare, TunedModel* out) const {
  constexpr double kFaster = 0.99;
  for (const double most :
       {kFaster, 1.0}) {  // who wins by chance does not win twice: the second comparison is what is told
    std::tie(out->rule_seconds, out->seconds) = compare(before_, tuned);
    if (out->seconds >= most * out->rule_seconds) return false;
  }
  return true;
}

void ModelTuner::take_winners(std::vector<tune::Winner> winners, const CompareModels& compare, TunedModel* out) {
  std::sort(winners.begin(), winners.end(), [](const auto& a, const auto& b) { return a.gain > b.gain; });
  while (!winners.empty()) {
    Map<String, ObjectRef> plans;
    for (const tune::Winner& winner : winners) plans.set(winner.record.workload, winner.record.plans);
    if (is_faster(compile(plans), compare, out)) {
      out->confirmed = winners.size();
      for (const tune::Winner& winner : winners) writer_->write(winner.record);
      return;
    }
    winners.resize(winners.size() / 2);
  }
  out->seconds = out->rule_seconds;
}

TunedModel ModelTuner::run(tune::TuneListener& listener, const CompareModels& compare) {
  TunedModel out;
  out.tasks = tasks_;
  out.resumed = resumed_;
  tuner_->search(listener);
  take_winners(tuner_->confirm(listener), compare, &out);
  return out;
}

}  // namespace tessera
