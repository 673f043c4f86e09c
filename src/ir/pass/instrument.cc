// Instruments: Python's callbacks, and the one that measures time.

#include <chrono>
#include <cstdio>
#include <memory>

#include "ir/pass/pass.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

/// The time of one pass and of the passes that ran inside it.
struct Profile {
  std::string name;
  Clock::time_point start = Clock::now();
  Clock::duration spent{};
  std::vector<std::unique_ptr<Profile>> children;
};

/// Profiles of this thread since its timing instrument was last entered; `open` holds the passes running now.
struct Profiles {
  Profile root{"root", {}, {}, {}};
  std::vector<Profile*> open{&root};
};
Profiles& profiles() {
  thread_local auto current = std::make_unique<Profiles>();
  return *current;
}

int64_t microseconds(Clock::duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

double percent(int64_t part, int64_t whole) { return whole ? 100.0 * static_cast<double>(part) / whole : 100.0; }

/// One line a pass: time, time without the passes inside it, share of all, share of the pass around it.
void render(const Profile& profile, int depth, int64_t total, int64_t parent, std::string* out) {
  Clock::duration inside{};
  for (const auto& child : profile.children) inside += child->spent;
  int64_t spent = microseconds(profile.spent);
  char shares[64];
  std::snprintf(shares, sizeof shares, " (%.2f%%; %.2f%%)\n", percent(spent, total), percent(spent, parent));
  *out += std::string(depth, '\t') + profile.name + ": " + std::to_string(spent) + "us [" +
          std::to_string(microseconds(profile.spent - inside)) + "us]" + shares;
  for (const auto& child : profile.children) render(*child, depth + 1, total, spent, out);
}

std::string render_profiles() {
  const Profile& root = profiles().root;
  int64_t total = 0;
  for (const auto& child : root.children) total += microseconds(child->spent);
  std::string out;
  for (const auto& child : root.children) render(*child, 0, total, total, &out);
  return out;
}

PassInstrument timing_instrument() {
  PassInstrumentNode node;
  node.name = "PassTimingInstrument";
  node.enter_pass_ctx = [] { profiles().root.children.clear(), profiles().open = {&profiles().root}; };
  node.exit_pass_ctx = [] { profiles().root.children.clear(), profiles().open = {&profiles().root}; };
  node.run_before_pass = [](const IRModule&, const PassInfo& info) {
    auto& open = profiles().open;
    open.back()->children.push_back(std::make_unique<Profile>(Profile{info->name.str(), Clock::now(), {}, {}}));
    open.push_back(open.back()->children.back().get());
  };
  node.run_after_pass = [](const IRModule&, const PassInfo&) {
    auto& open = profiles().open;
    if (open.size() < 2) return;  // a pass that began before the instrument was put in
    open.back()->spent = Clock::now() - open.back()->start;
    open.pop_back();
  };
  return make(std::move(node));
}

PassInstrument instrument_of(String name, PackedFunc enter, PackedFunc exit, PackedFunc should_run, PackedFunc before,
                             PackedFunc after) {
  PassInstrumentNode node;
  node.name = std::move(name);
  if (enter) node.enter_pass_ctx = [enter] { enter(); };
  if (exit) node.exit_pass_ctx = [exit] { exit(); };
  if (should_run)
    node.should_run = [should_run](const IRModule& mod, const PassInfo& info) {
      return should_run(mod, info).to<bool>();
    };
  if (before) node.run_before_pass = [before](const IRModule& mod, const PassInfo& info) { before(mod, info); };
  if (after) node.run_after_pass = [after](const IRModule& mod, const PassInfo& info) { after(mod, info); };
  return make(std::move(node));
}

static Globals instrument_globals{
    {"instrument.PassInstrument", instrument_of},
    {"instrument.EnterPassContext",
     [](PassInstrument i) {
       if (i->enter_pass_ctx) i->enter_pass_ctx();
     }},
    {"instrument.ExitPassContext",
     [](PassInstrument i) {
       if (i->exit_pass_ctx) i->exit_pass_ctx();
     }},
    {"instrument.ShouldRun",
     [](PassInstrument i, IRModule mod, PassInfo info) { return !i->should_run || i->should_run(mod, info); }},
    {"instrument.RunBeforePass",
     [](PassInstrument i, IRModule mod, PassInfo info) {
       if (i->run_before_pass) i->run_before_pass(mod, info);
     }},
    {"instrument.RunAfterPass",
     [](PassInstrument i, IRModule mod, PassInfo info) {
       if (i->run_after_pass) i->run_after_pass(mod, info);
     }},
    {"instrument.MakePassTimingInstrument", timing_instrument},
    {"instrument.RenderTimePassProfiles", render_profiles},
};

}  // namespace
}  // namespace tessera
