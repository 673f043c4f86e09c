// Files of records: what is written is read, and a half line is ended by the next writer.

#include "kernel/record_lines.h"

#include <gtest/gtest.h>

#include "runtime/archive/files.h"

namespace tessera::kernel {
namespace {

TuningRecord record(const std::string& workload) {
  TuningRecord out;
  out.kernel = "fused_nn_dense";
  out.workload = workload;
  out.target = "llvm";
  out.machine = "generic sse 1";
  Map<String, ObjectRef> knobs;
  knobs.set("rows", number_boxes.box_int(6));
  out.plans.push_back(Array<ObjectRef>{String("matmul"), knobs});
  out.seconds = {0.5, 0.25};
  out.message = "a\nline";
  return out;
}

TEST(RecordLines, WhatIsWrittenIsRead) {
  TuningRecord one = record("w");
  one.is_confirmed = true;
  one.rule_seconds = 0.75;
  const std::string line = to_line(one);
  EXPECT_EQ(line.find('\n'), line.npos);
  const RecordFile file = read_records(line + "\r\n\n");
  ASSERT_TRUE(file.skipped.empty()) << file.skipped[0];
  ASSERT_EQ(file.records.size(), 1u);
  EXPECT_EQ(file.records[0].seconds, one.seconds);
  EXPECT_EQ(file.records[0].rule_seconds, 0.75);
  EXPECT_EQ(file.records[0].message, one.message);
  EXPECT_TRUE(file.plans().count("w"));
}

TEST(RecordLines, AHalfLineIsEndedByTheNextWriter) {
  TemporaryFolder folder;
  const std::string path = folder.file("log");
  write_whole_file(path, to_line(record("a")) + "\n{\"tessera_rec");
  {
    RecordWriter writer(path);
    writer.write(record("b"));
    writer.write(record("c"));
  }
  const RecordFile file = load_records(path);
  EXPECT_EQ(file.records.size(), 3u);
  ASSERT_EQ(file.skipped.size(), 1u);
  EXPECT_EQ(file.skipped[0].substr(0, 7), "line 2:");
}

TEST(RecordLines, AFileThatCannotBeWrittenSaysWhich) { EXPECT_THROW(RecordWriter("/nonexistent/folder/log"), Error); }

}  // namespace
}  // namespace tessera::kernel
