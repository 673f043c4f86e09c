#include "driver/cli/accuracy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/progress.h"
#include "driver/cli/cli.h"

namespace tessera::cli {

Agreements agreements(Runner& before, Runner& after, const std::vector<NamedTensors>& samples) {
  begin_stage("compare");
  Agreements out;
  for (size_t sample = 0; sample < samples.size(); ++sample) {
    for (Runner* runner : {&before, &after}) runner->set_inputs(samples[sample]), runner->run();
    const NamedTensors wanted = before.outputs(), given = after.outputs();
    out.resize(wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      out[i].first = wanted[i].first;
      out[i].second.add(wanted[i].second, given[i].second);
    }
    report_progress(sample + 1, samples.size(), "samples");
  }
  return out;
}

std::string text_of(const Agreements& outputs, size_t samples) {
  size_t width = 6;
  for (const auto& [name, _] : outputs) width = std::max(width, name.size());
  std::string out = fmt::format("{:<{}} {:>15} {:>19} {:>12}   over {} samples\n", "output", width, "signal to noise",
                                "largest difference", "same argmax", samples);
  for (const auto& [name, each] : outputs)
    out += fmt::format("{:<{}} {:>12.1f} dB {:>19.4g} {:>12}\n", printable(name), width, each.decibels(), each.largest,
                       each.rows ? fmt::format("{:.1f} %", 100.0 * double(each.same) / double(each.rows)) : "-");
  return out;
}

std::vector<NamedTensors> samples_of(const std::string& file, const std::vector<TensorInfo>& inputs,
                                     const InputShapes& shapes, size_t count) {
  if (!file.empty()) {
    std::vector<NamedTensors> out = split_samples(load_npz(file), inputs);
    if (out.empty()) throw Error(ValueError) << file << " has no samples";
    return out;
  }
  std::vector<NamedTensors> out;
  for (size_t seed = 0; seed < count; ++seed) out.push_back(make_inputs(inputs, {}, Fill::Random, shapes, seed));
  return out;
}

}  // namespace tessera::cli
