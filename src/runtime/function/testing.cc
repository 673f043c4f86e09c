// Small functions that tests of every language call, and questions about what this build can do.

#include "runtime/compiler_hooks.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/device_api.h"
#include "runtime/ndarray.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

/// "cpu", "cuda", "llvm -mcpu=...", ...: can this build run or make code for it. An unknown name is an error.
bool runtime_enabled(std::string target) {
  if (target == "cpu") return true;
  if (target.starts_with("llvm")) {
    const auto& is_enabled = compiler_hooks().is_target_enabled;
    return is_enabled && is_enabled(target);
  }
  if (target == "stackvm") return find_global("target.build.stackvm").defined();
  if (target == "tflite") return find_global("target.runtime.tflite").defined();
  if (target == "rpc") return find_device_api(kRpcSessionMask) != nullptr;
  if (target.starts_with("nvptx")) target = "cuda";
  if (target.starts_with("rocm")) target = "rocm";
  if (target == "sdaccel") target = "opencl";
  static constexpr std::string_view kKnown[] = {"cuda",  "gpu",    "cl",      "opencl", "mtl",
                                                "metal", "vulkan", "hexagon", "rocm"};
  for (std::string_view known : kKnown)
    if (target == known) return find_device_api(find_device_type(target)) != nullptr;
  throw Error(RuntimeError) << "Unknown optional runtime " << target
                            << "; it may be cpu, llvm, cuda, opencl, vulkan, metal, rocm, hexagon, nvptx, stackvm, rpc";
}

void raise_in_callback(std::string message) { throw Error(RuntimeError) << message; }

Globals testing_globals{
    {"runtime.RuntimeEnabled", runtime_enabled},
    {"testing.nop", [](Args, Any*) {}},
    {"testing.echo", [](Args args, Any* result) { *result = Any(args[0]); }},
    {"testing.test_wrap_callback",
     [](PackedFunc callback) { return PackedFunc([callback](Args, Any* result) { *result = callback(); }); }},
    {"testing.test_raise_error_callback",
     [](std::string message) { return PackedFunc([message](Args, Any*) { raise_in_callback(message); }); }},
    {"testing.test_check_eq_callback",
     [](std::string message) {
       return PackedFunc([message](Args args, Any*) {
         auto x = args[0].to<int64_t>(), y = args[1].to<int64_t>();
         if (x != y) throw Error(RuntimeError) << message << ": " << x << " is not " << y;
       });
     }},
    {"testing.object_use_count",
     [](Args args, Any* result) {
       const Object* object = args[0].object();
       *result = Any(object ? object->use_count() : 0);
     }},
    // `count` parallel regions without work. With `together`, a barrier makes every thread take part; without, the
    // caller usually does all of it before a worker has begun.
    {"testing.parallel_regions",
     [](int count, bool together) {
       TesseraParallelTask nothing = [](int, TesseraParallelGroupEnv*, void*) { return 0; };
       TesseraParallelTask meet = [](int id, TesseraParallelGroupEnv* env, void*) {
         return TesseraBackendParallelBarrier(id, env);
       };
       for (int i = 0; i < count; ++i)
         if (parallel_launch(together ? meet : nothing, nullptr, 0) != 0) throw_last_error();
     }},
    {"testing.ErrorTest",
     [](int x, int y) {
       if (x != y) throw Error(ValueError) << "Check failed: x == y (" << x << " vs. " << y << ")";
       if (x == 1) throw Error(InternalError) << "x is 1";
       return x + y;
     }},
    {"testing.identity_cpp", [](Args args, Any* result) { *result = Any(args[0]); }},
    {"testing.device_test", [](DLDevice device) { return device; }},
};

}  // namespace
}  // namespace tessera
