// What a parallel region costs when its tasks do nothing.

#include <benchmark/benchmark.h>

#include "runtime/thread_pool.h"

namespace tessera {
namespace {

void empty_region(benchmark::State& state) {
  set_num_threads(static_cast<int>(state.range(0)));
  for (auto _ : state) TesseraBackendParallelLaunch([](int, TesseraParallelGroupEnv*, void*) { return 0; }, nullptr, 0);
  set_num_threads(0);
}
BENCHMARK(empty_region)->Name("empty parallel region/threads")->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace tessera
