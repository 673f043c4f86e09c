#include "kernel/record_lines.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "base/json.h"

namespace tessera::kernel {
namespace {

constexpr int64_t kVersion = 1;
constexpr const char* kVersionName = "tessera_record";
constexpr size_t kMaxFile = size_t{256} << 20, kMaxLine = size_t{1} << 18, kMaxTimes = 4096, kMaxSkipped = 1000;

using Fields = Map<String, ObjectRef>;

std::string text_of(const Fields& fields, const char* name) {
  auto text = downcast_or_null<String>(fields.get_or_null(name));
  if (!text) throw Error(ValueError) << "it has no text \"" << name << "\"";
  return text.str();
}

double number_of(const ObjectRef& value, const char* name) {
  double out = 0;
  try {
    out = Any::of_object(value.get()).to<double>();
  } catch (const Error&) {
    throw Error(ValueError) << "\"" << name << "\" is no number";
  }
  if (!std::isfinite(out) || out < 0) throw Error(ValueError) << "\"" << name << "\" is " << out;
  return out;
}

TuningRecord record_of(const Fields& fields) {
  const double version = number_of(fields.get_or_null(kVersionName), kVersionName);
  if (version != kVersion) throw Error(ValueError) << "its version is " << version << ", and this reads " << kVersion;
  TuningRecord out;
  const std::string state = text_of(fields, "state");
  if (state != "trial" && state != "confirmed") throw Error(ValueError) << "there is no state \"" << state << "\"";
  out.is_confirmed = state == "confirmed";
  out.kernel = text_of(fields, "kernel");
  out.workload = text_of(fields, "workload");
  out.target = text_of(fields, "target");
  out.machine = text_of(fields, "machine");
  if (fields.count("computation")) out.computation = text_of(fields, "computation");
  out.message = text_of(fields, "message");
  auto plans = downcast_or_null<RecordedPlans>(fields.get_or_null("plans"));
  if (!plans) throw Error(ValueError) << "it has no list \"plans\"";
  check_plans(plans);
  out.plans = plans;
  auto seconds = downcast_or_null<Array<ObjectRef>>(fields.get_or_null("seconds"));
  if (!seconds || seconds.size() > kMaxTimes) throw Error(ValueError) << "it has no list \"seconds\"";
  for (const ObjectRef& each : seconds) out.seconds.push_back(number_of(each, "seconds"));
  out.rule_seconds = number_of(fields.get_or_null("rule_seconds"), "rule_seconds");
  out.error = static_cast<int>(std::min(number_of(fields.get_or_null("error"), "error"), 8.0));
  return out;
}

/// Says what a line of another tuner is.
void reject_others(const Fields& fields) {
  if (fields.count(kVersionName)) return;
  if (fields.count("i") && fields.count("r"))
    throw Error(ValueError) << "it is a record of the auto-scheduler, which tessera.auto_scheduler applies";
  if (fields.count("input") && fields.count("result"))
    throw Error(ValueError) << "it is a record of AutoTVM, which tessera.autotvm.apply_history_best applies";
  throw Error(ValueError) << "it is no record of tuning";
}

}  // namespace

std::string to_line(const TuningRecord& record) {
  Array<ObjectRef> seconds;
  for (double each : record.seconds) seconds.push_back(number_boxes.box_float(each));
  return to_json(Fields{{kVersionName, number_boxes.box_int(kVersion)},
                        {"state", String(record.is_confirmed ? "confirmed" : "trial")},
                        {"kernel", String(record.kernel)},
                        {"workload", String(record.workload)},
                        {"computation", String(record.computation)},
                        {"target", String(record.target)},
                        {"machine", String(record.machine)},
                        {"plans", record.plans},
                        {"seconds", seconds},
                        {"rule_seconds", number_boxes.box_float(record.rule_seconds)},
                        {"error", number_boxes.box_int(record.error)},
                        {"message", String(record.message.substr(0, 1000))}});
}

Map<String, ObjectRef> RecordFile::plans() const {
  Map<String, ObjectRef> out;
  for (const TuningRecord& record : records)
    if (record.is_confirmed) out.set(record.workload, record.plans);
  return out;
}

RecordFile read_records(std::string_view text) {
  RecordFile out;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    try {
      if (line.size() > kMaxLine) throw Error(ValueError) << "it has " << line.size() << " characters";
      auto fields = downcast_or_null<Fields>(parse_json(line));
      if (!fields || !Fields::accepts(fields.get())) throw Error(ValueError) << "it is no JSON object";
      reject_others(fields);
      out.records.push_back(record_of(fields));
    } catch (const Error& error) {
      if (out.skipped.size() < kMaxSkipped)
        out.skipped.push_back("line " + std::to_string(number) + ": " + error.message());
    }
  }
  return out;
}

RecordFile load_records(const std::string& path) {
  const MappedFile file(path, "tuning records");
  if (file.bytes().size() > kMaxFile)
    throw Error(ValueError) << path << " has " << file.bytes().size() << " bytes; records of tuning have at most "
                            << kMaxFile;
  return read_records(file.bytes());
}

Map<String, ObjectRef> plans_of_file(const std::string& path) {
  constexpr size_t kTold = 5;
  const RecordFile file = load_records(path);
  for (size_t i = 0; i < std::min(kTold, file.skipped.size()); ++i)
    fmt::print(stderr, "warning: {}: skipped {}\n", path, file.skipped[i]);
  if (file.skipped.size() > kTold)
    fmt::print(stderr, "warning: {}: skipped {} more lines\n", path, file.skipped.size() - kTold);
  return file.plans();
}

void RecordWriter::write(const TuningRecord& record) { file_.append(to_line(record) + "\n"); }

}  // namespace tessera::kernel
