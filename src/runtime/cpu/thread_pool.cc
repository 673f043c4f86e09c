#include "runtime/cpu/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/c_border.h"
#include "runtime/cpu/thread_count.h"
#include "runtime/cpu/wait.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

constexpr size_t kCacheLine = 64;

std::atomic<ShareObserver*> share_observer{nullptr};

/// Tells the observer, if there is one, of a share: from `begin` on, to its own end.
class Observed {
 public:
  Observed() = default;
  ~Observed() {
    if (observer_) [[unlikely]]
      observer_->share_ends();
  }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;

  void begin() {
    observer_ = share_observer.load(std::memory_order_acquire);
    if (observer_) [[unlikely]]
      observer_->share_begins();
  }

 private:
  ShareObserver* observer_ = nullptr;
};

/// True on a thread that works for a region.
thread_local bool in_region = false;

/// What the threads of the pool do together. Task ids are split into one run of neighbours for each thread.
struct Region {
  TesseraParallelTask task = nullptr;
  void* cdata = nullptr;
  TesseraParallelGroupEnv env{};
  int threads = 1;  // how many share the tasks

  alignas(kCacheLine) std::atomic<int> arrived{0};  // the barrier: tasks that wait, and how often all had come
  std::atomic<uint32_t> phase{0};
  std::atomic<int> failed_task{INT_MAX};  // the lowest

  std::mutex mutex;  // of what follows
  std::optional<Error> error;

  void start(TesseraParallelTask new_task, void* new_cdata, int num_task, int num_threads) {
    task = new_task;
    cdata = new_cdata;
    env = {this, num_task};
    threads = num_threads;
    arrived.store(0, std::memory_order_relaxed);
    failed_task.store(INT_MAX, std::memory_order_relaxed);
  }

  /// The first task of a thread's own.
  int first_of(int thread) const { return static_cast<int>(static_cast<int64_t>(env.num_task) * thread / threads); }

  /// Tasks behind one that failed are left out, those before it run: the lowest that fails is always found.
  void run(int id) {
    if (id > failed_task.load(std::memory_order_relaxed)) [[unlikely]]
      return;
    int status = 0;
    int thrown = at_border([&] { status = task(id, &env, cdata); });
    if (status != 0 || thrown != 0) [[unlikely]]
      keep_error(id);
  }

  bool has_failed() const { return failed_task.load(std::memory_order_acquire) != INT_MAX; }

  /// Takes the thread's last error away from it: an exception of another language is not left on a worker.
  void keep_error(int id) {
    try {
      throw_last_error();
    } catch (const Error& mine) {
      std::lock_guard lock(mutex);
      if (id > failed_task.load(std::memory_order_relaxed)) return;
      error = mine;
      failed_task.store(id, std::memory_order_release);
    }
  }

  /// 0, or -1 after handing the error to the calling thread.
  int result() {
    if (!has_failed()) [[likely]]
      return 0;
    std::lock_guard lock(mutex);
    set_last_error(*std::exchange(error, std::nullopt));
    return -1;
  }
};

cpu_set_t mask_of(const std::vector<int>& cpus) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (int cpu : cpus)
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<size_t>(cpu), &mask);
  return mask;
}

class ThreadPool {
 public:
  explicit ThreadPool(int threads) : threads_(threads), shares_(static_cast<size_t>(threads)) {}

  /// A pool that lives as long as one of its threads, or who asked for it.
  static std::shared_ptr<ThreadPool> start(int threads, const std::vector<int>& cpus) {
    auto pool = std::make_shared<ThreadPool>(threads);
    for (int i = 1; i < threads; ++i) {
      std::thread worker([pool, i] { pool->work(i); });
      if (!cpus.empty()) bind(worker, cpus[static_cast<size_t>(i) % cpus.size()]);
      worker.detach();
    }
    return pool;
  }

  int size() const { return threads_; }

  /// Runs the region, or returns false when the pool has one already.
  bool run(TesseraParallelTask task, void* cdata, int num_task, int* status) {
    if (!busy_.try_lock()) return false;
    if (is_retired_.load(std::memory_order_relaxed)) {
      busy_.unlock();
      return false;
    }
    region_.start(task, cdata, num_task, threads_);
    pending_.store(num_task, std::memory_order_relaxed);
    const uint32_t epoch = epoch_.load(std::memory_order_relaxed) + 1;
    for (int i = 0; i < threads_; ++i)
      share(i).store(pack(epoch, region_.first_of(i + 1) - region_.first_of(i)), std::memory_order_release);
    epoch_.store(epoch);
    epoch_.notify_all();  // costs next to nothing while no worker sleeps
    in_region = true;
    take_part(0, epoch);
    in_region = false;
    for (int left; (left = pending_.load(std::memory_order_acquire)) != 0;) wait_while(pending_, left);
    *status = region_.result();
    busy_.unlock();
    return true;
  }

  /// Ends the threads; a region asked of this pool later runs on its caller alone.
  void retire() {
    {
      std::lock_guard lock(busy_);
      is_retired_.store(true, std::memory_order_relaxed);
    }
    epoch_.fetch_add(1);
    epoch_.notify_all();
  }

 private:
  /// A thread's own tasks that nobody has begun, counted, with the epoch in which they are there. One number, so that who
  /// comes late takes nothing of another region: while a task is begun and not done, its region lasts.
  using Left = std::atomic<uint64_t>;
  struct alignas(kCacheLine) Share {
    Left left{0};
  };
  static constexpr int kEpochShift = 32;
  static uint64_t pack(uint32_t epoch, int count) {
    return uint64_t{epoch} << kEpochShift | static_cast<uint32_t>(count);
  }

  Left& share(int owner) { return shares_[static_cast<size_t>(owner)].left; }

  /// The next of the owner's tasks, or -1 when all are begun.
  int claim(int owner, uint32_t epoch) {
    Left& left = share(owner);
    uint64_t seen = left.load(std::memory_order_acquire);
    do {
      if (static_cast<uint32_t>(seen >> kEpochShift) != epoch || static_cast<uint32_t>(seen) == 0) return -1;
    } while (!left.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire));
    return region_.first_of(owner + 1) - static_cast<int>(static_cast<uint32_t>(seen));
  }

  /// A thread does its own tasks, then those of others that they have not come to: because they sleep, or their core
  /// is slower or taken.
  void take_part(int thread, uint32_t epoch) {
    int done = 0;
    {
      Observed observed;
      for (int turn = 0; turn < threads_; ++turn) {
        const int owner = thread + turn < threads_ ? thread + turn : thread + turn - threads_;
        for (int id; (id = claim(owner, epoch)) >= 0; ++done) {
          if (done == 0) observed.begin();
          region_.run(id);
        }
      }
    }
    if (done > 0 && pending_.fetch_sub(done) == done) pending_.notify_one();
  }

  void work(int thread) {
    in_region = true;
    for (uint32_t seen = 0;;) {
      wait_while(epoch_, seen);
      seen = epoch_.load(std::memory_order_acquire);
      if (is_retired_.load(std::memory_order_relaxed)) return;
      take_part(thread, seen);
    }
  }

  static void bind(std::thread& worker, int cpu) {
    if (cpu < 0 || cpu >= CPU_SETSIZE) return;
    cpu_set_t mask = mask_of({cpu});
    pthread_setaffinity_np(worker.native_handle(), sizeof mask, &mask);
  }

  const int threads_;
  std::vector<Share> shares_;
  std::atomic<bool> is_retired_{false};
  std::mutex busy_;
  Region region_;
  alignas(kCacheLine) std::atomic<uint32_t> epoch_{0};  // counts regions
  alignas(kCacheLine) std::atomic<int> pending_{0};     // tasks of the current one that are not done
};

struct PoolSlot;

/// All slots of the process. Around a fork they are locked; the child has none of the threads and makes its own pools.
struct Slots {
  std::mutex mutex;
  std::vector<PoolSlot*> all;

  static Slots& instance() {
    static auto* slots = [] {
      pthread_atfork(lock, unlock, [] {
        forget();
        unlock();
      });
      return new Slots;
    }();
    return *slots;
  }
  static void lock();
  static void unlock();
  static void forget();
};

/// A pool, made when first needed.
struct PoolSlot {
  std::mutex mutex;
  std::atomic<ThreadPool*> pool{nullptr};
  std::vector<std::shared_ptr<ThreadPool>> all;  // retired ones too: a caller may just be asking one of them
  int threads = 0;                               // as set by the user; 0 the default
  std::vector<int> cpus;

  PoolSlot() {
    Slots& slots = Slots::instance();
    std::lock_guard lock(slots.mutex);
    slots.all.push_back(this);
  }
  ~PoolSlot() {
    Slots& slots = Slots::instance();
    {
      std::lock_guard lock(slots.mutex);
      std::erase(slots.all, this);
    }
    if (ThreadPool* made = pool.load(std::memory_order_acquire)) made->retire();
  }
  PoolSlot(const PoolSlot&) = delete;
  PoolSlot& operator=(const PoolSlot&) = delete;

  static PoolSlot& of_process() {
    static auto* slot = new PoolSlot;
    return *slot;
  }
  static PoolSlot& current() { return of_thread ? *of_thread : of_process(); }
  static thread_local PoolSlot* of_thread;  // null: that of the process

  ThreadPool& get() {
    if (ThreadPool* made = pool.load(std::memory_order_acquire)) [[likely]]
      return *made;
    std::lock_guard lock(mutex);
    if (ThreadPool* made = pool.load(std::memory_order_relaxed)) return *made;
    int count = threads > 0 ? threads : default_thread_count();
    std::vector<int> cores = cpus;
    // Pinning helps only a process that has the machine for itself, so it is done when asked for.
    if (cores.empty() && number_from_environment("TVM_BIND_THREADS", 0, 0) != 0) cores = allowed_cpus();
    all.push_back(ThreadPool::start(count, cores));
    pool.store(all.back().get(), std::memory_order_release);
    return *all.back();
  }
};

thread_local PoolSlot* PoolSlot::of_thread = nullptr;

void Slots::lock() {
  instance().mutex.lock();
  for (PoolSlot* slot : instance().all) slot->mutex.lock();
}
void Slots::unlock() {
  for (PoolSlot* slot : instance().all) slot->mutex.unlock();
  instance().mutex.unlock();
}
void Slots::forget() {
  for (PoolSlot* slot : instance().all) slot->pool.store(nullptr, std::memory_order_relaxed);
  in_region = false;
}

void check_cpus(const std::vector<int>& cpus) {
  std::vector<int> allowed = allowed_cpus();
  for (size_t i = 0; i < cpus.size(); ++i) {
    if (std::find(cpus.begin(), cpus.begin() + static_cast<long>(i), cpus[i]) != cpus.begin() + static_cast<long>(i))
      throw Error(ValueError) << "the affinity names CPU " << cpus[i] << " twice";
    if (std::find(allowed.begin(), allowed.end(), cpus[i]) != allowed.end()) continue;
    Error error(ValueError);
    error << "the affinity names CPU " << cpus[i] << ", which this process may not use; it may use";
    std::sort(allowed.begin(), allowed.end());
    for (size_t k = 0; k < allowed.size(); ++k) error << (k ? ", " : " ") << allowed[k];
    throw error;
  }
}

int run_alone(TesseraParallelTask task, void* cdata, int num_task) {
  Region region;
  region.start(task, cdata, std::max(num_task, 1), 1);
  bool outer = std::exchange(in_region, true);
  {
    Observed observed;
    observed.begin();
    for (int id = 0; id < region.env.num_task && !region.has_failed(); ++id) region.run(id);
  }
  in_region = outer;
  return region.result();
}

/// Tasks for `pieces` of work that do not need one another: enough that a thread which is done can help the others, and
/// not so many that neighbouring pieces, which often share data, are torn apart.
int tasks_for(int pieces, int threads) {
  constexpr int kTasksOfThread = 4;
  return std::min(pieces, kTasksOfThread * threads);
}

}  // namespace

struct Threads::Impl {
  PoolSlot slot;
  int count = 1;
};

Threads::Threads(int count, std::vector<int> cpus) : impl_(std::make_unique<Impl>()) {
  if (count == 0) count = static_cast<int>(cpus.size());
  if (count < 1 || count > kMaxThreads)
    throw Error(ValueError) << "the number of threads is from 1 to " << kMaxThreads << ", not " << count;
  check_cpus(cpus);
  impl_->count = impl_->slot.threads = count;
  impl_->slot.cpus = std::move(cpus);
}
Threads::~Threads() = default;
int Threads::count() const { return impl_->count; }
const std::vector<int>& Threads::cpus() const { return impl_->slot.cpus; }

struct CallerMask {
  cpu_set_t mask;
};

ThreadsScope::ThreadsScope(const Threads* threads)
    : outer_(std::exchange(PoolSlot::of_thread, threads ? &threads->impl_->slot : nullptr)) {
  if (!threads || threads->cpus().empty()) return;
  auto before = std::make_unique<CallerMask>();
  cpu_set_t wanted = mask_of(threads->cpus());
  if (pthread_getaffinity_np(pthread_self(), sizeof before->mask, &before->mask) != 0) return;
  if (CPU_EQUAL(&before->mask, &wanted)) return;
  if (pthread_setaffinity_np(pthread_self(), sizeof wanted, &wanted) == 0) mask_ = std::move(before);
}

ThreadsScope::~ThreadsScope() {
  if (mask_) pthread_setaffinity_np(pthread_self(), sizeof mask_->mask, &mask_->mask);
  PoolSlot::of_thread = static_cast<PoolSlot*>(outer_);
}

int num_threads() { return PoolSlot::current().get().size(); }

void set_num_threads(int count, std::vector<int> cpus) {
  if (in_region) throw Error(RuntimeError) << "the number of threads cannot be changed inside a parallel region";
  if (count < 0) throw Error(ValueError) << "the number of threads cannot be " << count;
  PoolSlot& current = PoolSlot::of_process();
  ThreadPool* old = nullptr;
  {
    std::lock_guard lock(current.mutex);
    current.threads = count;
    current.cpus = std::move(cpus);
    old = current.pool.exchange(nullptr);
  }
  if (old) old->retire();  // waits for its region, whose tasks may ask for the number of threads
}

void observe_shares(ShareObserver* observer) { share_observer.store(observer, std::memory_order_release); }

int parallel_launch(TesseraParallelTask task, void* cdata, int num_task) {
  if (in_region || num_task == 1 || num_task == -1) return run_alone(task, cdata, num_task);
  ThreadPool& pool = PoolSlot::current().get();
  const int threads = pool.size();
  int status = 0;
  const int tasks = num_task > 0    ? num_task
                    : num_task == 0 ? threads
                                    : tasks_for(-std::max(num_task, -INT_MAX), threads);
  if (threads > 1 && pool.run(task, cdata, tasks, &status)) return status;
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
  for (Patience patience; region->phase.load(std::memory_order_acquire) == phase;) {
    if (region->has_failed()) {  // who failed does not come
      set_last_error(Error(RuntimeError) << "task " << task_id << " waited for a task that failed");
      return -1;
    }
    if (!patience.lasts()) std::this_thread::yield();
  }
  return 0;
}

// v0.10's (affinity mode, number of threads[, CPUs as strings]); the mode only tells whether the list is used.
void config_threadpool(Args args, Any*) {
  constexpr int kOneCorePerThread = -2, kShareAllCores = -3;
  int mode = args[0].to<int>(), count = args[1].to<int>();
  std::vector<int> cpus;
  if ((mode == kOneCorePerThread || mode == kShareAllCores) && args.size() > 2)
    for (const String& text : args[2].to<Array<String>>()) cpus.push_back(std::atoi(text.c_str()));
  if (count == 0 && !cpus.empty()) count = static_cast<int>(cpus.size());
  set_num_threads(count, std::move(cpus));
}

Globals thread_pool_globals{
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
