// What a parallel region without work costs.
//
// "all meet" has a barrier inside, so every thread takes part: the cost of handing over and coming back. "taken over" has
// none; the caller then usually runs all tasks before a worker has begun, so its number is that of one thread.

#include <benchmark/benchmark.h>

#include "runtime/cpu/thread_pool.h"

namespace tessera {
namespace {

void regions(benchmark::State& state, TesseraParallelTask task) {
  set_num_threads(static_cast<int>(state.range(0)));
  for (auto _ : state)
    if (TesseraBackendParallelLaunch(task, nullptr, 0) != 0) state.SkipWithError(TesseraGetLastError());
  set_num_threads(0);
}

void all_meet(benchmark::State& state) {
  regions(state, [](int id, TesseraParallelGroupEnv* env, void*) { return TesseraBackendParallelBarrier(id, env); });
}
void taken_over(benchmark::State& state) {
  regions(state, [](int, TesseraParallelGroupEnv*, void*) { return 0; });
}
BENCHMARK(all_meet)->Name("parallel region, all meet/threads")->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(taken_over)->Name("parallel region, taken over/threads")->Arg(2)->UseRealTime();

}  // namespace
}  // namespace tessera
