#include "runtime/thread_pool.h"

#include <pthread.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/c_border.h"
#include "runtime/registry.h"
#include "runtime/thread_count.h"

namespace tessera {
namespace {

constexpr size_t kCacheLine = 64;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Rounds of spinning before a worker without work sleeps: about a hundred microseconds, longer than the gap between
/// the kernels of a model.
int idle_spins() {
  static const int count = number_from_environment("TVM_THREAD_POOL_SPIN_COUNT", 0, 4000);
  return count;
}

/// The same for a thread that waits for another of its region. That one may need this very processor, so less.
int meeting_spins() { return idle_spins() / 8; }

/// Waits until `value` is no longer `old`.
template <class T>
void wait_while(const std::atomic<T>& value, T old, int spins) {
  for (int i = spins; i > 0; --i) {
    if (value.load(std::memory_order_acquire) != old) return;
    relax();
  }
  value.wait(old, std::memory_order_acquire);
}

std::atomic<ShareObserver*> share_observer{nullptr};

/// Tells the observer, if there is one, of a share while it lives.
class Observed {
 public:
  Observed() : observer_(share_observer.load(std::memory_order_acquire)) {
    if (observer_) [[unlikely]]
      observer_->share_begins();
  }
  ~Observed() {
    if (observer_) [[unlikely]]
      observer_->share_ends();
  }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;

 private:
  ShareObserver* observer_;
};

/// True on a thread that works for a region.
thread_local bool in_region = false;

struct Region {
  TesseraParallelTask task = nullptr;
  void* cdata = nullptr;
  TesseraParallelGroupEnv env{};
  int threads = 1;  // how many share the tasks

  alignas(kCacheLine) std::atomic<int> arrived{0};  // the barrier: tasks that wait, and how often all had come
  std::atomic<uint32_t> phase{0};
  std::atomic<bool> failed{false};

  std::mutex mutex;  // of what follows
  std::optional<Error> error;
  int failed_task = 0;

  void start(TesseraParallelTask new_task, void* new_cdata, int num_task, int num_threads) {
    task = new_task;
    cdata = new_cdata;
    env = {this, num_task};
    threads = num_threads;
    arrived.store(0, std::memory_order_relaxed);
    failed.store(false, std::memory_order_relaxed);
  }

  /// The share of one thread: tasks `thread`, `thread + threads`, ...
  void run(int thread) {
    if (thread >= env.num_task) return;
    Observed observed;
    for (int id = thread; id < env.num_task; id += threads) {
      int status = 0;
      int thrown = at_border([&] { status = task(id, &env, cdata); });
      if (status == 0 && thrown == 0) [[likely]]
        continue;
      keep_error(id);
      return;
    }
  }

  /// Takes the thread's last error away from it: an exception of another language is not left on a worker.
  void keep_error(int id) {
    try {
      throw_last_error();
    } catch (const Error& mine) {
      std::lock_guard lock(mutex);
      if (!error || id < failed_task) {
        error = mine;
        failed_task = id;
      }
    }
    failed.store(true, std::memory_order_release);
  }

  /// 0, or -1 after handing the error to the calling thread.
  int result() {
    if (!failed.load(std::memory_order_acquire)) [[likely]]
      return 0;
    std::lock_guard lock(mutex);
    set_last_error(*std::exchange(error, std::nullopt));
    return -1;
  }
};

class ThreadPool {
 public:
  ThreadPool(int threads, std::vector<int> processors) : threads_(threads), shares_(static_cast<size_t>(threads)) {
    for (int i = 1; i < threads; ++i) {
      std::thread worker([this, i] { work(i); });
      if (!processors.empty()) bind(worker, processors[static_cast<size_t>(i) % processors.size()]);
      worker.detach();  // a pool is never destroyed
    }
  }

  int size() const { return threads_; }

  /// Runs the region, or returns false when the pool has one already.
  bool run(TesseraParallelTask task, void* cdata, int num_task, int* status) {
    if (!busy_.try_lock()) return false;
    region_.start(task, cdata, num_task, threads_);
    pending_.store(threads_ - 1, std::memory_order_relaxed);
    uint32_t epoch = epoch_.fetch_add(1) + 1;
    epoch_.notify_all();  // costs next to nothing while no worker sleeps
    in_region = true;
    region_.run(0);
    // A worker that has not begun its share by now sleeps, or its processor is taken: do it here.
    for (int i = 1; i < threads_; ++i)
      if (claim(i, epoch)) finish(i);
    in_region = false;
    for (int left; (left = pending_.load(std::memory_order_acquire)) != 0;) wait_while(pending_, left, meeting_spins());
    *status = region_.result();
    busy_.unlock();
    return true;
  }

  /// Ends the threads; a region asked of this pool later runs on its caller alone.
  void retire() {
    busy_.lock();
    is_retired_.store(true, std::memory_order_relaxed);
    epoch_.fetch_add(1);
    epoch_.notify_all();
  }

 private:
  /// The epoch in which a thread's share of the tasks was last begun: by the thread, or by who started the region.
  struct alignas(kCacheLine) Share {
    std::atomic<uint32_t> epoch{0};
  };

  /// Every share is begun in every epoch, by one thread; one that comes too late finds a later number there.
  bool claim(int i, uint32_t epoch) {
    uint32_t before = epoch - 1;
    return shares_[static_cast<size_t>(i)].epoch.compare_exchange_strong(before, epoch, std::memory_order_acq_rel,
                                                                         std::memory_order_relaxed);
  }

  void finish(int i) {
    region_.run(i);
    if (pending_.fetch_sub(1) == 1) pending_.notify_one();
  }

  void work(int thread) {
    in_region = true;
    for (uint32_t seen = 0;;) {
      wait_while(epoch_, seen, idle_spins());
      seen = epoch_.load(std::memory_order_acquire);
      if (is_retired_.load(std::memory_order_relaxed)) return;
      if (claim(thread, seen)) finish(thread);
    }
  }

  static void bind(std::thread& worker, int processor) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (processor < 0 || processor >= CPU_SETSIZE) return;
    CPU_SET(static_cast<size_t>(processor), &mask);
    pthread_setaffinity_np(worker.native_handle(), sizeof mask, &mask);
  }

  const int threads_;
  std::vector<Share> shares_;
  std::atomic<bool> is_retired_{false};
  std::mutex busy_;
  Region region_;
  alignas(kCacheLine) std::atomic<uint32_t> epoch_{0};  // counts regions
  alignas(kCacheLine) std::atomic<int> pending_{0};     // shares of the current one that are not done
};

/// The pool, made when first needed. After a fork the child has none of its threads and makes its own.
struct Current {
  std::mutex mutex;
  std::atomic<ThreadPool*> pool{nullptr};
  std::vector<std::unique_ptr<ThreadPool>> all;  // retired ones too: a caller may just be asking one of them
  int threads = 0;                               // as set by the user; 0 the default
  std::vector<int> processors;

  static Current& instance() {
    static auto* current = [] {
      auto* made = new Current;
      pthread_atfork([] { instance().mutex.lock(); }, [] { instance().mutex.unlock(); },
                     [] {
                       instance().pool.store(nullptr, std::memory_order_relaxed);
                       in_region = false;
                       instance().mutex.unlock();
                     });
      return made;
    }();
    return *current;
  }

  ThreadPool& get() {
    if (ThreadPool* made = pool.load(std::memory_order_acquire)) [[likely]]
      return *made;
    std::lock_guard lock(mutex);
    if (ThreadPool* made = pool.load(std::memory_order_relaxed)) return *made;
    int count = threads > 0 ? threads : default_thread_count();
    std::vector<int> places = processors;
    // Pinning helps only a process that has the machine for itself, so it is done when asked for.
    if (places.empty() && number_from_environment("TVM_BIND_THREADS", 0, 0) != 0) places = allowed_processors();
    all.push_back(std::make_unique<ThreadPool>(count, places));
    pool.store(all.back().get(), std::memory_order_release);
    return *all.back();
  }
};

int run_alone(TesseraParallelTask task, void* cdata, int num_task) {
  Region region;
  region.start(task, cdata, num_task == 0 ? 1 : num_task, 1);
  bool outer = std::exchange(in_region, true);
  region.run(0);
  in_region = outer;
  return region.result();
}

}  // namespace

int num_threads() { return Current::instance().get().size(); }

void set_num_threads(int count, std::vector<int> processors) {
  if (in_region) throw Error(RuntimeError) << "the number of threads cannot be changed inside a parallel region";
  if (count < 0) throw Error(ValueError) << "the number of threads cannot be " << count;
  Current& current = Current::instance();
  ThreadPool* old = nullptr;
  {
    std::lock_guard lock(current.mutex);
    current.threads = count;
    current.processors = std::move(processors);
    old = current.pool.exchange(nullptr);
  }
  if (old) old->retire();  // waits for its region, whose tasks may ask for the number of threads
}

void observe_shares(ShareObserver* observer) { share_observer.store(observer, std::memory_order_release); }

int parallel_launch(TesseraParallelTask task, void* cdata, int num_task) {
  if (num_task < 0) {
    set_last_error(Error(ValueError, "a parallel region cannot have " + std::to_string(num_task) + " tasks"));
    return -1;
  }
  if (in_region) return run_alone(task, cdata, num_task);
  ThreadPool& pool = Current::instance().get();
  int status = 0;
  if (pool.size() > 1 && num_task != 1 && pool.run(task, cdata, num_task == 0 ? pool.size() : num_task, &status))
    return status;
  return run_alone(task, cdata, num_task);
}

namespace {

int barrier(int task_id, const TesseraParallelGroupEnv* env) {
  int tasks = env->num_task;
  if (tasks <= 1) return 0;
  auto* region = static_cast<Region*>(env->sync_handle);
  if (tasks > region->threads) {
    set_last_error(Error(RuntimeError) << "task " << task_id << " waits for all " << tasks << " tasks, but only "
                                       << region->threads << " run at a time; use no more tasks than threads");
    return -1;
  }
  uint32_t phase = region->phase.load(std::memory_order_acquire);
  if (region->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == tasks) {
    region->arrived.store(0, std::memory_order_relaxed);
    region->phase.fetch_add(1, std::memory_order_release);
    return 0;
  }
  for (int spins = 0; region->phase.load(std::memory_order_acquire) == phase; ++spins) {
    if (region->failed.load(std::memory_order_acquire)) {  // who failed does not come
      set_last_error(Error(RuntimeError) << "task " << task_id << " waited for a task that failed");
      return -1;
    }
    if (spins < meeting_spins()) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }
  return 0;
}

// v0.10's (affinity mode, number of threads[, processors as strings]); the mode only tells whether the list is used.
void config_threadpool(Args args, Any*) {
  constexpr int kOneCorePerThread = -2, kShareAllCores = -3;
  int mode = args[0].to<int>(), count = args[1].to<int>();
  std::vector<int> processors;
  if ((mode == kOneCorePerThread || mode == kShareAllCores) && args.size() > 2)
    for (const String& text : args[2].to<Array<String>>()) processors.push_back(std::atoi(text.c_str()));
  if (count == 0 && !processors.empty()) count = static_cast<int>(processors.size());
  set_num_threads(count, std::move(processors));
}

Globals globals{
    {"runtime.NumThreads", num_threads},
    {"runtime.config_threadpool", config_threadpool},
};

}  // namespace
}  // namespace tessera

extern "C" {

int TesseraBackendParallelLaunch(TesseraParallelTask task, void* cdata, int num_task) {
  return tessera::parallel_launch(task, cdata, num_task);
}

int TesseraBackendParallelBarrier(int task_id, TesseraParallelGroupEnv* env) {
  int status = -1;
  int thrown = tessera::at_border([&] { status = tessera::barrier(task_id, env); });
  return thrown ? thrown : status;
}
}
