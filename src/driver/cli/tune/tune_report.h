#pragma once
// A page about a tuning run: one file of HTML that needs nothing else.

#include <string>

#include "driver/cli/tune/tune_screen.h"
#include "driver/tune_model.h"

namespace tessera::cli {

struct TuneReport {
  std::string model, cpu, output;
  const tune::Tuner& tuner;
  const TuneHistory& history;
  const TunedModel& result;
};
std::string html_text(const TuneReport& report);

}  // namespace tessera::cli
