#include "driver/cli/bench/peer.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/json.h"
#include "runtime/archive/files.h"
#include "runtime/archive/npy.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using Json = Map<String, ObjectRef>;

/// The script lies beside the program's folder in the Python package.
std::string find_script() {
  fs::path script = fs::path(PythonProcess::program_folder()).parent_path() / "bench_peers.py";
  if (!fs::exists(script))
    throw Error(RuntimeError) << "other runtimes are asked through " << script.string()
                              << ", which is missing: this program lies outside of Tessera's Python package";
  return script.string();
}

String text_at(const Json& json, const char* key) {
  return json.count(key) ? downcast_or_null<String>(json[key]) : String(nullptr);
}

double number_of(const ObjectRef& value) { return Any::of_object(value.get()).to<double>(); }

}  // namespace

bool is_peer(const std::string& name) { return std::find(kPeers.begin(), kPeers.end(), name) != kPeers.end(); }

Peer::Peer(const Request& request) : process_({find_script()}, "other runtimes are asked") {
  Array<ObjectRef> layers;
  for (const std::string& layer : request.layers) layers.push_back(String(layer));
  const Json loaded = ask({{"do", String("load")},
                           {"peer", String(request.peer)},
                           {"model", String(fs::absolute(request.model).string())},
                           {"inputs", String(request.inputs)},
                           {"threads", box(Any(request.threads))},
                           {"layers", layers}});
  name = text_at(loaded, "name").str();
  version = text_at(loaded, "version").str();
  first_answer_seconds = number_of(loaded["seconds"]);
  for (const ObjectRef& output : downcast<Array<ObjectRef>>(loaded["outputs"]))
    outputs.push_back(downcast<String>(output).str());
}

Json Peer::ask(const Json& request) {
  process_.write_line(to_json(request));
  const std::string answer = process_.read_line();
  if (answer.empty()) throw Error(RuntimeError) << "the process of another runtime ended without an answer";
  auto out = downcast<Json>(parse_json(answer));
  String error = text_at(out, "error");
  if (!error) return out;
  Error told(RuntimeError);
  told << error;
  if (out.count("missing")) told << "; install it, or name a Python that has it in TESSERA_PYTHON";
  throw told;
}

std::vector<double> Peer::measure(int64_t count, int64_t number) {
  Json answer = ask({{"do", String("run")}, {"count", box(Any(count))}, {"number", box(Any(number))}});
  std::vector<double> out;
  for (const ObjectRef& seconds : downcast<Array<ObjectRef>>(answer["seconds"])) out.push_back(number_of(seconds));
  return out;
}

std::vector<NDArray> Peer::results() {
  TemporaryFolder folder;
  std::string file = folder.file("results.npz");
  ask({{"do", String("save")}, {"file", String(file)}});
  std::vector<NDArray> out;
  for (auto& [_, tensor] : load_npz(file)) out.push_back(tensor);
  return out;
}

}  // namespace tessera::cli
