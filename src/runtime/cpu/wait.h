#pragma once
// Waiting for another thread: at first spinning, then offering the core to others, at last asleep. Sleeping and being
// woken costs tens of microseconds, and more on virtual machines, which is what a whole kernel takes.

#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/cpu/thread_count.h"

namespace tessera {

/// One round of spinning; rounds give the core away when `politely`.
inline void relax(bool politely = false) {
  if (politely) return std::this_thread::yield();
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// How long a thread spins: alone for a moment, since who is waited for may need this very core, then politely, in all
/// longer than the gap between the kernels of a model. TVM_THREAD_POOL_SPIN_COUNT sets the number of rounds instead.
class Patience {
 public:
  /// False when it is time to sleep; otherwise a moment has passed.
  bool lasts() {
    static const int count = number_from_environment("TVM_THREAD_POOL_SPIN_COUNT", 0, -1);
    if (count >= 0) {
      if (rounds_++ >= count) return false;
      relax();
      return true;
    }
    if (rounds_++ % kRoundsBetweenLooks == 0) {
      auto now = std::chrono::steady_clock::now();
      if (rounds_ == 1) start_ = now;
      if (now - start_ > kInAll) return false;
      is_polite_ = now - start_ > kAlone;
    }
    relax(is_polite_);
    return true;
  }

 private:
  static constexpr int kRoundsBetweenLooks = 32;
  static constexpr std::chrono::microseconds kAlone{30}, kInAll{1000};

  int rounds_ = 0;
  bool is_polite_ = false;
  std::chrono::steady_clock::time_point start_;
};

/// Waits until `value` is no longer `old`.
template <class T>
void wait_while(const std::atomic<T>& value, T old) {
  for (Patience patience; value.load(std::memory_order_acquire) == old;)
    if (!patience.lasts()) return value.wait(old, std::memory_order_acquire);
}

}  // namespace tessera
