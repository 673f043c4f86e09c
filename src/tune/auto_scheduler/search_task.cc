#include "tune/auto_scheduler/search_task.h"

#include "runtime/cpu/thread_pool.h"

namespace tessera::auto_scheduler {

HardwareParams default_hardware(const Target& target) {
  HardwareParamsNode out;
  auto option = [&](const char* name, int otherwise) {
    return static_cast<int32_t>(target.int_option(name, otherwise));
  };
  if (target && target.has_key("gpu")) {
    out.num_cores = -1;
    out.vector_unit_bytes = 16;
    out.max_shared_memory_per_block = option("max_shared_memory_per_block", 49152);
    out.max_local_memory_per_block = INT32_MAX;
    out.max_threads_per_block = option("max_threads_per_block", option("max_num_threads", 1024));
    out.warp_size = std::max(option("thread_warp_size", 32), 1);
    out.max_vthread_extent = std::max(out.warp_size / 4, 1);
  } else {
    out.num_cores = target ? option("num-cores", num_threads()) : num_threads();
  }
  return make(std::move(out));
}

bool SearchTaskNode::is_gpu() const { return search_target().has_key("gpu"); }

namespace {
register_types<HardwareParamsNode, SearchTaskNode, MeasureInputNode, MeasureResultNode> tasks;
}

}  // namespace tessera::auto_scheduler
