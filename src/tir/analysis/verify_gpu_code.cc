// Does a program for a GPU stay within what the device has? Asked of programs that were lowered, before host and device
// are split: the search for schedules throws away those that would not run.

#include <unordered_map>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

struct Limits {
  int64_t local_memory = INT64_MAX, shared_memory = INT64_MAX, threads = INT64_MAX, vthreads = INT64_MAX;
  int64_t vector_bytes = INT64_MAX, kernels = INT64_MAX;
  int64_t thread[3] = {INT64_MAX, INT64_MAX, INT64_MAX};
};

Limits read_limits(const Map<String, PrimExpr>& constraints) {
  Limits out;
  const std::unordered_map<std::string, int64_t*> names{
      {"max_local_memory_per_block", &out.local_memory},
      {"max_shared_memory_per_block", &out.shared_memory},
      {"max_threads_per_block", &out.threads},
      {"max_thread_x", &out.thread[0]},
      {"max_thread_y", &out.thread[1]},
      {"max_thread_z", &out.thread[2]},
      {"max_vthread", &out.vthreads},
      {"max_vector_bytes", &out.vector_bytes},
      {"max_kernels", &out.kernels},
  };
  for (const auto& [name, value] : constraints) {
    auto it = names.find(name.str());
    if (it == names.end())
      throw Error(ValueError) << "verify_gpu_code: unknown constraint " << quoted(name)
                              << "; known are max_local_memory_per_block, max_shared_memory_per_block, "
                                 "max_threads_per_block, max_thread_x, max_thread_y, max_thread_z, max_vthread, "
                                 "max_vector_bytes and max_kernels";
    const int64_t* number = as_int(value);
    if (!number)
      throw Error(ValueError) << "verify_gpu_code: constraint " << name << " has to be a number, got " << value;
    *it->second = *number;
  }
  return out;
}

int64_t bytes_of(DataType dtype) { return int64_t{dtype.bytes()} * dtype.lanes; }

/// Collects what is wrong with the kernels of one function.
class Verifier {
 public:
  explicit Verifier(const Limits& limits) : limits_(limits) {
    visitor_.share_results(false);
    visitor_.on([this](const AttrStmt* op) -> Stmt { return on_attr(op); });
    visitor_.on([this](const Allocate* op) -> Stmt {
      on_allocate(op);
      return visitor_.children(op);
    });
    visitor_.on([this](const For* op) -> Stmt {
      if (op->loop_var->name == "vthread.s") on_vthread(op->extent);
      return visitor_.children(op);
    });
    visitor_.on([this](const BufferLoad* op) -> PrimExpr {
      on_vector(op->dtype, op->buffer->name);
      return visitor_.children(op);
    });
    visitor_.on([this](const BufferStore* op) -> Stmt {
      on_vector(op->value.dtype(), op->buffer->name);
      return visitor_.children(op);
    });
    visitor_.on([this](const Cast* op) -> PrimExpr {
      on_vector(op->dtype, "a cast");
      return visitor_.children(op);
    });
  }

  std::vector<std::string> run(const Stmt& body) {
    visitor_(body);
    return problems_;
  }

 private:
  Stmt on_attr(const AttrStmt* op) {
    auto* axis = op->node.as<IterVarNode>();
    if (axis && op->attr_key == attr::kVirtualThread) on_vthread(op->value);
    if (!axis || op->attr_key != attr::kThreadExtent) return visitor_.children(op);
    bool is_outermost = depth_ == 0;
    if (is_outermost) begin_kernel();
    on_launch(axis, op->value);
    ++depth_;
    Stmt out = visitor_.children(op);
    --depth_;
    if (is_outermost) end_kernel();
    return out;
  }

  void begin_kernel() {
    seen_.clear();
    threads_ = 1;
    local_ = shared_ = 0;
    check(++kernels_, limits_.kernels, "kernels");
  }

  void end_kernel() {
    check(threads_, limits_.threads, "threads in a block");
    check(local_, limits_.local_memory, "bytes of local memory in a block");
    check(shared_, limits_.shared_memory, "bytes of shared memory in a block");
  }

  void on_launch(const IterVarNode* axis, const PrimExpr& extent) {
    std::string tag = axis->thread_tag.str();
    const int64_t* value = as_int(extent);
    if (!value) {
      problems_.push_back("the extent of " + tag + " is not a number: " + to_text(extent));
      return;
    }
    auto [known, is_new] = seen_.try_emplace(tag, *value);
    if (!is_new) {
      if (known->second != *value)
        problems_.push_back(tag + " has extent " + std::to_string(known->second) + " and also " +
                            std::to_string(*value));
      return;
    }
    if (!tag.starts_with("threadIdx.") || tag.size() != 11) return;
    threads_ *= *value;
    size_t dimension = static_cast<size_t>(tag.back() - 'x');
    if (dimension < 3) check(*value, limits_.thread[dimension], tag.c_str());
  }

  void on_vthread(const PrimExpr& extent) {
    if (const int64_t* value = as_int(extent)) check(*value, limits_.vthreads, "virtual threads");
  }

  void on_allocate(const Allocate* op) {
    auto* type = op->buffer_var->type_annotation.as<PointerType>();
    std::string_view scope = type ? std::string_view(type->storage_scope) : "";
    bool is_local = scope == "local", is_shared = scope == "shared" || scope == "shared.dyn";
    on_vector(op->dtype, op->buffer_var->name);
    if (!is_local && !is_shared) return;
    int64_t bytes = bytes_of(op->dtype);
    for (const PrimExpr& extent : op->extents) {
      const int64_t* value = as_int(extent);
      if (!value) {
        problems_.push_back("the size of " + op->buffer_var->name.str() + " is not a number: " + to_text(extent));
        return;
      }
      bytes *= *value;
    }
    (is_local ? local_ : shared_) += bytes;
  }

  void on_vector(DataType dtype, const String& where) {
    if (dtype.lanes > 1)
      check(bytes_of(dtype), limits_.vector_bytes, ("bytes in a vector (" + where.str() + ")").c_str());
  }

  void check(int64_t value, int64_t limit, const char* what) {
    if (value > limit)
      problems_.push_back(std::to_string(value) + " " + what + ", allowed are " + std::to_string(limit));
  }

  const Limits& limits_;
  Rewriter visitor_;
  int depth_ = 0;
  int64_t kernels_ = 0, threads_ = 1, local_ = 0, shared_ = 0;
  std::unordered_map<std::string, int64_t> seen_;  // extents of the launch at hand
  std::vector<std::string> problems_;
};

std::vector<std::string> problems(const PrimFunc& function, const Limits& limits) {
  return Verifier(limits).run(function->body);
}

static Globals verify_gpu_code_globals{
    {"tir.analysis.verify_gpu_code",
     [](PrimFunc function, Map<String, PrimExpr> constraints) {
       return problems(function, read_limits(constraints)).empty();
     }},
};

}  // namespace

Pass verify_gpu_code_pass(const Map<String, PrimExpr>& constraints) {
  return pass_over<PrimFunc>(verify_gpu_code_pass, [limits = read_limits(constraints)](const PrimFunc& function) {
    std::vector<std::string> found = problems(function, limits);
    if (found.empty()) return function;
    std::string list;
    for (const std::string& problem : found) list += "\n    " + problem;
    throw Error(RuntimeError) << "the program does not fit the GPU:" << list;
  });
}

}  // namespace tessera
