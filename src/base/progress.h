#pragma once
// How far long work is: the code that does it says so here, and whoever shows it to a user listens.

#include <cstddef>
#include <string>

namespace tessera {

/// Is told by any thread, also by several at once.
class ProgressListener {
 public:
  virtual ~ProgressListener() = default;
  /// A stage begins ("optimise graph"); the one before it has ended.
  virtual void stage(const std::string& name) = 0;
  /// So much of the current stage is done: 12 of 60 "kernels".
  virtual void advance(size_t done, size_t total, const char* unit) = 0;
};

/// Nothing happens when nobody listens.
void begin_stage(const std::string& name);
void report_progress(size_t done, size_t total, const char* unit);

/// `listener` is told of the progress of this process while the guard lives; null keeps everybody quiet, which is for work
/// inside other work (a constant that is computed while a graph is optimised). The one before comes back afterwards.
class WithProgress {
 public:
  explicit WithProgress(ProgressListener* listener);
  ~WithProgress();
  WithProgress(const WithProgress&) = delete;
  WithProgress& operator=(const WithProgress&) = delete;

 private:
  ProgressListener* before_;
};

}  // namespace tessera
