#pragma once
// How far a command is, on the terminal: the stage, a bar where its length is known, and the time so far.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/progress.h"

namespace tessera::cli {

/// Shows progress on stderr while it lives, from a second after its beginning on; the line is gone afterwards. Silent where
/// stderr is no terminal. With -v every stage is told, with the time it took, wherever stderr goes.
class ProgressBar : public ProgressListener {
 public:
  ProgressBar();
  ~ProgressBar() override;
  void stage(const std::string& name) override;
  void advance(size_t done, size_t total, const char* unit) override;

 private:
  std::mutex mutex_;  // of what follows
  std::condition_variable ended_;
  /// Tells the stage that ends, with -v.
  void end_stage();

  bool is_ended_ = false, is_shown_ = false;
  std::string stage_, unit_;
  std::chrono::steady_clock::time_point begin_, stage_begin_;
  size_t done_ = 0, total_ = 0;
  std::thread clock_;
  WithProgress listening_;
};

}  // namespace tessera::cli
