#include "driver/cli/tune/tune_screen.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "driver/cli/bench/measure.h"
#include "driver/cli/cli.h"
#include "driver/cli/terminal.h"

namespace tessera::cli {
namespace {

using Clock = std::chrono::steady_clock;

volatile sig_atomic_t interrupts = 0;
struct sigaction before_interrupt;

void note_interrupt(int signal) {
  interrupts = interrupts + 1;
  if (interrupts < 2) return;
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

bool stderr_is_terminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) && kind && std::string_view(kind) != "dumb";
}

std::string time_text(double seconds) { return std::isfinite(seconds) ? seconds_text(seconds) : "-"; }

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::max(0.0, seconds));
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

/// What is left, by the time or by the trials.
std::string left_text(const tune::Tuner& tuner) {
  const tune::TuneOptions& options = tuner.options();
  double left = options.seconds > 0 ? options.seconds - tuner.elapsed() : INFINITY;
  if (options.trials > 0 && tuner.trials() > 0)
    left = std::min(left, tuner.elapsed() / static_cast<double>(tuner.trials()) *
                              static_cast<double>(options.trials - tuner.trials()));
  return std::isfinite(left) ? clock_text(left) + " left" : "";
}

std::string summary(const tune::Tuner& tuner) {
  const tune::TuneOptions& options = tuner.options();
  const double own = tuner.own_seconds(), best = tuner.best_seconds();
  std::string out = fmt::format("{}  {}{} trials", clock_text(tuner.elapsed()), tuner.trials(),
                                options.trials > 0 ? fmt::format(" of {}", options.trials) : "");
  if (best > 0) out += fmt::format(", kernels {} -> {} ({:.3f} times)", time_text(own), time_text(best), own / best);
  const std::string left = left_text(tuner);
  return left.empty() ? out : out + ", " + left;
}

}  // namespace

StopOnInterrupt::StopOnInterrupt() {
  interrupts = 0;
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  sigaction(SIGINT, &action, &before_interrupt);
}
StopOnInterrupt::~StopOnInterrupt() { sigaction(SIGINT, &before_interrupt, nullptr); }
bool StopOnInterrupt::is_stopped() const { return interrupts > 0; }

std::string tasks_text(const tune::Tuner& tuner, size_t most, size_t width) {
  std::vector<size_t> order(tuner.tasks().size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const tune::TaskSearch &x = tuner.tasks()[a], &y = tuner.tasks()[b];
    return static_cast<double>(x.task().calls) * x.own_seconds() >
           static_cast<double>(y.task().calls) * y.own_seconds();
  });
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < std::min(most, order.size()); ++i) {
    const tune::TaskSearch& search = tuner.tasks()[order[i]];
    const bool is_known = search.is_measured();
    rows.push_back({search.task().kernel.name, std::to_string(search.task().calls), time_text(search.own_seconds()),
                    time_text(search.best_seconds()),
                    is_known ? fmt::format("{:.2f}", search.own_seconds() / search.best_seconds()) : "-",
                    std::to_string(search.trials().size() + static_cast<size_t>(search.errors())),
                    std::to_string(search.errors())});
  }
  std::string out = table_text({{"kernel"},
                                {"calls", true},
                                {"rule", true},
                                {"best", true},
                                {"times", true},
                                {"measured", true},
                                {"failed", true}},
                               std::move(rows), width);
  if (order.size() > most) out += fmt::format("and {} more\n", order.size() - most);
  return out;
}

TuneScreen::TuneScreen(bool is_quiet) : is_quiet_(is_quiet), is_terminal_(stderr_is_terminal()) {}

void TuneScreen::draw(const std::string& text) {
  std::string out = lines_ ? fmt::format("\r\033[{}A\033[J", lines_) : "";
  fmt::print(stderr, "{}{}", out, text);
  std::fflush(stderr);
  lines_ = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

void TuneScreen::end() {
  if (lines_) draw("");
}

void TuneScreen::measured(const tune::Tuner& tuner, size_t task, const tune::Trial& trial) {
  history_.entries.push_back({tuner.elapsed(), task, trial.seconds, tuner.best_seconds()});
  if (is_quiet_) return;
  constexpr size_t kRows = 16, kColumns = 100;
  const auto pause = is_terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10000);
  if (Clock::now() - drawn_ < pause) return;
  drawn_ = Clock::now();
  if (is_terminal_) draw(tasks_text(tuner, kRows, kColumns) + summary(tuner) + "\n");
  else fmt::print(stderr, "{}\n", summary(tuner));
}

void TuneScreen::confirmed(const tune::Tuner& tuner, size_t task, double own, double found, bool is_taken) {
  history_.confirmations.push_back({task, own, found, is_taken});
  if (verbosity() == 0) return;
  end();
  fmt::print(stderr, "{}: {} by the rule, {} tuned, in turns{}\n", tuner.tasks()[task].task().kernel.name,
             time_text(own), time_text(found), is_taken ? "" : ": not taken");
}

}  // namespace tessera::cli
