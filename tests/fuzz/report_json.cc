// Reports of profilers, which may come from another machine: any bytes are read as a report that can be shown, or rejected.

#include "expect_error.h"
#include "runtime/profiling/profiling.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  expect_value_or_error([&] {
    profiling::Report report = profiling::report_from_json({reinterpret_cast<const char*>(data), size});
    report->table();
    report->csv();
    profiling::report_from_json(report->json());
  });
  return 0;
}
