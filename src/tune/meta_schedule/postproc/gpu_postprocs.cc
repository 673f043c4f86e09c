// Postprocessors of programs for GPUs: threads for what has none, shared fetching, limits.

#include "ir/rewrite.h"
#include "tir/lower.h"
#include "tir/transform/passes.h"
#include "tune/meta_schedule/analysis.h"
#include "tune/meta_schedule/postproc/postprocs.h"
#include "tune/meta_schedule/rule/rules.h"

namespace tessera::meta_schedule {

void RewriteUnboundBlockNode::initialize(const TuneContextNode& context) {
  max_threads = context.target ? context.target.int_option("max_threads_per_block", -1) : -1;
  if (max_threads <= 0)
    throw Error(ValueError) << "RewriteUnboundBlock needs a target with max_threads_per_block, which " << context.target
                            << " has not";
}

bool RewriteUnboundBlockNode::apply(const Schedule& sch) {
  Traced traced(sch);
  auto factor = [&](int64_t most) -> RV { return PrimExpr(static_cast<int>(std::min(most, max_threads))); };
  std::vector<std::pair<String, String>> unbound;
  for (const Cursor& block : blocks_of_module(sch)) {
    bool has_block_index = false, has_thread = false;
    int blocks = 0;
    for (const Stmt& stmt : block.path) {
      blocks += stmt.as<BlockRealize>() != nullptr;
      auto* loop = stmt.as<For>();
      has_block_index |= loop && is_block_index(loop);
      has_thread |= loop && is_thread_index(loop);
    }
    if (blocks == 2 && (!has_block_index || !has_thread))
      unbound.push_back({block.block()->name_hint, block.function->name_hint});
  }
  for (const auto& [name, function] : unbound)
    bind_threads(traced, traced.get_block(name, function), max_threadblocks, max_threads, factor);
  return true;
}

void RewriteCooperativeFetchNode::initialize(const TuneContextNode& context) {
  if (context.target) warp_size = context.target.int_option("thread_warp_size", warp_size);
}

bool RewriteCooperativeFetchNode::apply(const Schedule& sch) {
  Traced traced(sch);
  int64_t threads_x = -1, threads_y = -1;
  struct Fetch {
    RV block;
    int64_t x, y, lanes;
  };
  std::vector<Fetch> fetches;
  for (const Instruction& inst : sch->trace->insts) {
    auto* text = inst->attrs.empty() ? nullptr : inst->attrs[0].as<StringNode>();
    if (inst->kind->name == "Bind" && text && (text->text == "threadIdx.x" || text->text == "threadIdx.y")) {
      auto extent = loop_extent(sch->cursor(inst->inputs[0]).loop());
      if (!extent) return false;
      (text->text == "threadIdx.x" ? threads_x : threads_y) = *extent;
    } else if (inst->kind->name == "Annotate" && text && text->text == note::kWarpExecution) {
      threads_x = warp_size;
    } else if (inst->kind->name == "Annotate" && text && text->text == note::kCooperativeFetch) {
      auto* lanes = as_int(sch->value(downcast<PrimExpr>(inst->inputs[1])));
      if (!lanes || threads_x < 0) return false;
      fetches.push_back({inst->inputs[0], threads_x, threads_y, *lanes});
    }
  }
  for (const Fetch& fetch : fetches) {
    traced.unannotate(fetch.block, note::kCooperativeFetch);
    RVs factors{ObjectRef()};
    auto add = [&](int64_t factor) { factors.push_back(PrimExpr(static_cast<int>(factor))); };
    if (fetch.y != -1) add(fetch.y);
    add(fetch.x);
    if (fetch.lanes > 1) add(fetch.lanes);
    RVs parts = traced.split(traced.get_loops(fetch.block).back(), factors);
    if (fetch.lanes > 1) traced.vectorize(parts.back());
    size_t x = fetch.y != -1 ? 2 : 1;
    traced.bind(parts[x], "threadIdx.x");
    if (fetch.y != -1) traced.bind(parts[1], "threadIdx.y");
  }
  return true;
}

void VerifyGPUCodeNode::initialize(const TuneContextNode& context) {
  target = context.target;
  auto limit = [&](const char* key, const char* option, int64_t otherwise) {
    int64_t value = target ? target.int_option(option, otherwise) : otherwise;
    if (value > 0) limits.set(key, PrimExpr(static_cast<int>(std::min<int64_t>(value, INT32_MAX))));
  };
  limit("max_shared_memory_per_block", "max_shared_memory_per_block", -1);
  limit("max_threads_per_block", "max_threads_per_block", -1);
  limits.set("max_vthread", PrimExpr(8));
  limits.set("max_vector_bytes", PrimExpr(16));
}

namespace {

/// The threads around each noted block are as many as its rule wanted.
bool has_wanted_threads(const Schedule& sch) {
  for (const Cursor& block : blocks_of_module(sch)) {
    auto low = int_note(block.block(), note::kThreadExtentLow), high = int_note(block.block(), note::kThreadExtentHigh);
    if (!low || !high) continue;
    int64_t threads = 1;
    for (const Stmt& stmt : block.path)
      if (auto* loop = stmt.as<For>(); loop && is_thread_index(loop)) threads *= loop_extent(loop).value_or(1);
    if (threads < *low || threads > *high) return false;
  }
  return true;
}

}  // namespace

bool VerifyGPUCodeNode::apply(const Schedule& sch) {
  if (!has_wanted_threads(sch)) return false;
  try {
    IRModule lowered = lower_module(sch->state.mod().copy(), false);
    run_passes({verify_gpu_code_pass(limits)}, lowered);
    return true;
  } catch (const Error&) {
    return false;  // a program that cannot be lowered is none to measure
  }
}

}  // namespace tessera::meta_schedule
