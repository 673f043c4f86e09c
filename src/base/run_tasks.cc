#include "base/run_tasks.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

namespace tessera {

size_t compile_threads() {
  const char* given = std::getenv("TESSERA_COMPILE_THREADS");
  const long wanted = given ? std::strtol(given, nullptr, 10) : 0;
  return wanted > 0 ? static_cast<size_t>(wanted) : std::max<size_t>(1, std::thread::hardware_concurrency());
}

void run_tasks(size_t count, size_t threads, const std::function<void(size_t)>& task) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next++) < count;) {
      try {
        task(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (size_t i = 1; i < std::min(count, threads); ++i) helpers.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace tessera
