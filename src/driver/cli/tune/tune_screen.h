#pragma once
// What is seen of tuning while it runs: on a terminal a table that is redrawn, elsewhere a line now and then.

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "tune/tuner.h"

namespace tessera::cli {

/// What was measured when, for the report.
struct TuneHistory {
  struct Entry {
    double at = 0;  // seconds since the beginning
    size_t task = 0;
    double seconds = 0;  // of the candidate; infinite where it failed
    double model = 0;    // of a run of the model by the best so far
  };
  std::vector<Entry> entries;
  struct Confirmation {
    size_t task = 0;
    double own = 0, found = 0;
    bool is_taken = false;
  };
  std::vector<Confirmation> confirmations;
};

/// Ends the search at the first Ctrl-C; a second one ends the process.
class StopOnInterrupt {
 public:
  StopOnInterrupt();
  ~StopOnInterrupt();
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  bool is_stopped() const;
};

class TuneScreen : public tune::TuneListener {
 public:
  explicit TuneScreen(bool is_quiet);
  void measured(const tune::Tuner& tuner, size_t task, const tune::Trial& trial) override;
  void confirmed(const tune::Tuner& tuner, size_t task, double own, double found, bool is_taken) override;
  bool is_stopped() override { return interrupt_.is_stopped(); }
  /// Removes what is redrawn.
  void end();
  const TuneHistory& history() const { return history_; }

 private:
  void draw(const std::string& text);

  StopOnInterrupt interrupt_;
  TuneHistory history_;
  bool is_quiet_, is_terminal_;
  size_t lines_ = 0;  // that are on the screen
  std::chrono::steady_clock::time_point drawn_;
};

/// A row for each kernel that is tuned, those that take most of a run first; `most` rows.
std::string tasks_text(const tune::Tuner& tuner, size_t most, size_t width);

}  // namespace tessera::cli
