#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/json.h"
#include "runtime/archive/files.h"
#include "runtime/registry.h"
#include "tune/meta_schedule/database/databases.h"

namespace tessera::meta_schedule {
namespace {

constexpr int64_t kMaxFile = int64_t{1} << 31;

struct OpenFile {
  int descriptor;
  explicit OpenFile(int descriptor) : descriptor(descriptor) {}
  ~OpenFile() {
    if (descriptor >= 0) ::close(descriptor);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
};

[[noreturn]] void fail_file(const String& path, const char* what) {
  throw Error(FileError) << "cannot " << what << " " << quoted(path) << ": " << std::strerror(errno);
}

/// The whole file; a missing one is empty, or made where that is allowed.
std::string contents_of(const String& path, bool allow_missing) {
  OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | (allow_missing ? O_CREAT : 0), 0644));
  if (file.descriptor < 0) fail_file(path, "open");
  struct stat status{};
  if (::fstat(file.descriptor, &status) != 0) fail_file(path, "read");
  if (!S_ISREG(status.st_mode) || status.st_size > kMaxFile)
    throw Error(ValueError) << quoted(path) << " is no file of at most " << kMaxFile << " bytes";
  std::string out(static_cast<size_t>(status.st_size), '\0');
  size_t got = 0;
  while (got < out.size()) {
    ssize_t count = ::read(file.descriptor, out.data() + got, out.size() - got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_file(path, "read");
    if (count == 0) break;
    got += static_cast<size_t>(count);
  }
  out.resize(got);
  return out;
}

void append_line(const String& path, const std::string& text) {
  LineFile(path.str(), "a database").append(text + "\n");
}

/// Calls `visit(number, line)` on each line that is not empty, numbers from 1. What it throws is reported, and the line skipped.
template <class F>
int64_t for_each_line(const String& path, bool allow_missing, const F& visit) {
  std::string text = contents_of(path, allow_missing);
  int64_t number = 0;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.empty()) continue;
    try {
      visit(number, line);
    } catch (const Error& error) {
      report_line(path, number, error.message());
    } catch (const std::exception& error) {
      report_line(path, number, error.what());
    }
  }
  return number;
}

}  // namespace

void JSONDatabaseNode::load(bool allow_missing) {
  std::unordered_map<int64_t, Workload> by_line;
  line_count = for_each_line(path_workload, allow_missing, [&](int64_t number, std::string_view line) {
    Workload workload = workload_from_json(parse_json(line));
    int64_t known = table.find(workload->mod);
    if (known < 0) {
      known = static_cast<int64_t>(table.add(workload));
      lines.push_back(number - 1);
    }
    by_line[number - 1] = table.workloads[static_cast<size_t>(known)];
  });
  for_each_line(path_tuning_record, allow_missing, [&](int64_t, std::string_view line) {
    ObjectRef json = parse_json(line);
    auto* pair = json.as<ArrayNode>();
    auto* index = pair && pair->items.size() == 2 ? pair->items[0].as<IntImm>() : nullptr;
    if (!index) throw Error(ValueError) << "a line is [number of the workload, record]";
    auto workload = by_line.find(index->value);
    if (workload == by_line.end()) throw Error(ValueError) << "there is no workload " << index->value;
    records.push_back(record_from_json(pair->items[1], workload->second));
  });
}

Workload JSONDatabaseNode::commit_workload(const IRModule& mod) {
  bool is_new;
  Workload workload = table.add(mod, &is_new);
  if (!is_new) return workload;
  append_line(path_workload, to_json(as_json(workload)));
  lines.push_back(line_count++);
  return workload;
}

void JSONDatabaseNode::commit_record(const TuningRecord& record) {
  int64_t at = table.find(record->workload->mod);
  if (at < 0) {
    commit_workload(record->workload->mod);
    at = table.find(record->workload->mod);
  }
  PrimExpr line(static_cast<int>(lines[static_cast<size_t>(at)]));
  append_line(path_tuning_record, to_json(Array<ObjectRef>{line, as_json(record)}));
  records.push_back(record);
}

namespace {
Globals json_database_globals{
    {"meta_schedule.DatabaseJSONDatabase", [](const String& workloads, const String& records, bool allow_missing) {
       JSONDatabaseNode database;
       database.path_workload = workloads;
       database.path_tuning_record = records;
       database.load(allow_missing);
       return Database(make(std::move(database)));
     }}};
}  // namespace
}  // namespace tessera::meta_schedule
