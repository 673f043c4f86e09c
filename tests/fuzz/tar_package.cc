// Packages of models: any bytes are read as an archive whose members stay inside it, or rejected. What the members hold goes
// to the readers of graphs and parameters.

#include "expect_error.h"
#include "runtime/archive/tar.h"
#include "runtime/graph_executor/graph.h"
#include "runtime/package/params.h"

using namespace tessera;

namespace {

bool leads_out(const std::string& name) {
  return name.empty() || name[0] == '/' || ("/" + name + "/").find("/../") != std::string::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  expect_value_or_error([&] {
    TarReader archive(bytes, "m.tar", "the package");
    for (const TarReader::Member& member : archive.members()) {
      bool is_inside = member.bytes.data() >= bytes.data() && member.bytes.size() <= bytes.size() &&
                       member.bytes.data() + member.bytes.size() <= bytes.data() + bytes.size();
      if (leads_out(member.name) || !is_inside || archive.find(member.name) != &member) std::abort();
    }
    if (archive.find("mod.params")) load_params(archive["mod.params"]);
    Graph::parse(archive["mod.json"]);
  });
  return 0;
}
