#pragma once
// Parallel regions: one pool of threads for the process, that wait spinning for a while, then sleeping.
//
// Whoever wants a number of threads of its own has a pool of its own (`Threads`).
//
// One region of a pool runs at a time. A region started inside another, or while another thread's region runs, takes place on its
// own thread alone: with many callers all cores are busy anyhow. Every thread has tasks of its own, neighbours and the
// same ones in every region of the same size, so that what it wrote in the last region is in its cache; one that is done
// takes over what others have not begun, so a slow or busy core does not make regions wait. The work is split by task
// id only, so results are the same on any number of threads.

#include <memory>
#include <vector>

#include "tessera/c_backend_api.h"

namespace tessera {

/// Threads that make up a pool, the caller's included. They are started when first needed and end with this object, which no
/// region may use then any more.
class Threads {
 public:
  /// `count` from 1 on (0: as many as CPUs are given). Worker i stays on cpus[i % n], and a caller on all of them
  /// while it is in a ThreadsScope; without CPUs the system decides. A ValueError where the process may not use one.
  Threads(int count, std::vector<int> cpus);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const;
  const std::vector<int>& cpus() const;

 private:
  friend class ThreadsScope;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// While it lasts, regions of this thread use these threads; with null, those of the process.
class ThreadsScope {
 public:
  explicit ThreadsScope(const Threads* threads);
  ~ThreadsScope();
  ThreadsScope(const ThreadsScope&) = delete;
  ThreadsScope& operator=(const ThreadsScope&) = delete;

 private:
  void* outer_;
  std::unique_ptr<struct CallerMask> mask_;  // the CPUs that the caller may use otherwise
};

/// Threads a region uses, the caller's included.
int num_threads();

/// Regions of the process from now on use `count` threads (0: the default of this machine). With `cpus` given, worker i
/// stays on cpus[i % n].
void set_num_threads(int count, std::vector<int> cpus = {});

/// Runs tasks 0..num_task-1 (0: as many as threads) and returns when all are done: 0, or -1 with the error of the
/// lowest failed task as the calling thread's last error. -n: there are n pieces of work that do not wait for one another,
/// to be shared among as many tasks as seems good, at most n.
int parallel_launch(TesseraParallelTask task, void* cdata, int num_task);

/// Is told when a thread begins and ends its share of a region, on that thread; many may be told at once.
class ShareObserver {
 public:
  virtual ~ShareObserver() = default;
  virtual void share_begins() = 0;
  virtual void share_ends() = 0;
};
/// From now on `observer` is told; null for nobody. No region may run meanwhile.
void observe_shares(ShareObserver* observer);

}  // namespace tessera
