#pragma once
// Tasks that do not wait for each other, on several threads.

#include <cstddef>
#include <functional>

namespace tessera {

/// How many threads compile at once: TESSERA_COMPILE_THREADS of the environment, or as many as there are cores.
size_t compile_threads();

/// task(0), ..., task(count - 1), each once, on at most so many threads, the calling one among them. All of them are run, also
/// where some throw; the error of the first of those, by its number, is thrown at the end.
void run_tasks(size_t count, size_t threads, const std::function<void(size_t)>& task);

}  // namespace tessera
