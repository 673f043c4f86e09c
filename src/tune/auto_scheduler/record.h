#pragma once
// Records of what was measured: one JSON object a line, as v0.10 writes them (version v0.6).

#include <string>

#include "tune/auto_scheduler/search_task.h"

namespace tessera::auto_scheduler {

/// A measured state as a line without its end.
std::string record_line(const MeasureInput& input, const MeasureResult& result);
/// What a line says. The task has no DAG and the state no stages, only steps. ValueError says what is wrong with it.
std::pair<MeasureInput, MeasureResult> read_record(const std::string& line);

/// Adds lines to the end of a file in one write, so that a program that is killed leaves whole lines.
void append_records(const std::string& path, const std::vector<std::pair<MeasureInput, MeasureResult>>& records);

}  // namespace tessera::auto_scheduler
