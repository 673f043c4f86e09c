#include "driver/cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string_view>

#include "driver/cli/cli.h"

namespace tessera::cli {
namespace {

using namespace std::chrono_literals;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

bool is_terminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) && kind && std::string_view(kind) != "dumb";
}

}  // namespace

ProgressBar::ProgressBar() : begin_(Clock::now()), stage_begin_(begin_), listening_(this) {
  if (!is_terminal()) return;
  clock_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    auto wait = Clock::duration(1s);
    while (!ended_.wait_for(lock, wait, [this] { return is_ended_; })) {
      constexpr size_t kWidth = 24;
      std::string line = fmt::format("{:>5.1f} s  {}", seconds_since(begin_), stage_);
      if (total_ > 0) {
        size_t filled = kWidth * done_ / total_;
        line += fmt::format("  [{}{}] {} of {} {}", std::string(filled, '#'), std::string(kWidth - filled, '.'), done_,
                            total_, unit_);
      }
      fmt::print(stderr, "\r\033[K{}", line);
      std::fflush(stderr);
      is_shown_ = true;
      wait = 100ms;
    }
    if (is_shown_) fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
  });
}

ProgressBar::~ProgressBar() {
  {
    std::lock_guard lock(mutex_);
    end_stage();
    is_ended_ = true;
  }
  ended_.notify_all();
  if (clock_.joinable()) clock_.join();
}

void ProgressBar::end_stage() {
  if (verbosity() > 0 && !stage_.empty())
    fmt::print(stderr, "{}{:<20} {:>8.3f} s\n", is_shown_ ? "\r\033[K" : "", stage_, seconds_since(stage_begin_));
  stage_begin_ = Clock::now();
}

void ProgressBar::stage(const std::string& name) {
  std::lock_guard lock(mutex_);
  end_stage();
  stage_ = name;
  done_ = total_ = 0;
}

void ProgressBar::advance(size_t done, size_t total, const char* unit) {
  std::lock_guard lock(mutex_);
  done_ = std::max(done_, done);  // threads may come one after the other
  total_ = total;
  unit_ = unit;
}

}  // namespace tessera::cli
