#pragma once
// How far a command is, on the terminal: the stage, a bar where its length is known, and the time so far.

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/progress.h"

namespace tessera::cli {

/// Shows progress on stderr while it lives, from a second after its beginning on; the line is gone afterwards. Silent where
/// stderr is no terminal.
class ProgressBar : public ProgressListener {
 public:
  ProgressBar();
  ~ProgressBar() override;
  void stage(const std::string& name) override;
  void advance(size_t done, size_t total, const char* unit) override;

 private:
  std::mutex mutex_;  // of what follows
  std::condition_variable ended_;
  bool is_ended_ = false, is_shown_ = false;
  std::string stage_ = "start", unit_;
  size_t done_ = 0, total_ = 0;
  std::thread clock_;
  WithProgress listening_;
};

}  // namespace tessera::cli
