#include "driver/cli/bench/peer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/json.h"
#include "runtime/archive/files.h"
#include "runtime/archive/npy.h"

extern char** environ;

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using Json = Map<String, ObjectRef>;

fs::path program_folder() {
  std::error_code failed;
  fs::path program = fs::read_symlink("/proc/self/exe", failed);
  return failed ? fs::path() : program.parent_path();
}

/// The script lies beside the program's folder in the Python package.
std::string find_script() {
  fs::path script = program_folder().parent_path() / "bench_peers.py";
  if (!fs::exists(script))
    throw Error(RuntimeError) << "other runtimes are asked through " << script.string()
                              << ", which is missing: this program lies outside of Tessera's Python package";
  return script.string();
}

/// TESSERA_PYTHON, else the Python of the environment that is active or that the program is installed in, else python3.
std::string find_python() {
  if (const char* given = std::getenv("TESSERA_PYTHON"); given && *given) return given;
  std::vector<fs::path> folders;
  if (const char* active = std::getenv("VIRTUAL_ENV"); active && *active) folders.emplace_back(active);
  // <environment>/lib/python3.x/site-packages/tessera/bin
  fs::path folder = program_folder();
  for (int i = 0; i < 5 && folder.has_parent_path(); ++i) folder = folder.parent_path();
  folders.push_back(folder);
  for (const fs::path& prefix : folders)
    if (fs::path python = prefix / "bin" / "python3"; fs::exists(python) && fs::exists(prefix / "pyvenv.cfg"))
      return python.string();
  return "python3";
}

void make_pipe(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(FileError) << "cannot make a pipe: " << std::strerror(errno);
}

String text_at(const Json& json, const char* key) {
  return json.count(key) ? downcast_or_null<String>(json[key]) : String(nullptr);
}

double number_of(const ObjectRef& value) { return Any::of_object(value.get()).to<double>(); }

}  // namespace

Peer::~Peer() { end(); }

bool is_peer(const std::string& name) { return std::find(kPeers.begin(), kPeers.end(), name) != kPeers.end(); }

void Peer::start() {
  std::string python = find_python(), script = find_script();
  int to[2], from[2];
  make_pipe(to);
  make_pipe(from);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  char* arguments[] = {python.data(), script.data(), nullptr};
  int failed = posix_spawnp(&process_, python.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(to[0]);
  close(from[1]);
  to_ = fdopen(to[1], "w");
  from_ = fdopen(from[0], "r");
  if (failed) {
    process_ = -1;
    throw Error(RuntimeError) << "cannot start " << python << ", through which other runtimes are asked ("
                              << std::strerror(failed) << "); TESSERA_PYTHON may name another Python";
  }
  std::signal(SIGPIPE, SIG_IGN);  // a process that ended is seen when its answer is missing
}

Peer::Peer(const Request& request) {
  start();
  Array<ObjectRef> layers;
  for (const std::string& layer : request.layers) layers.push_back(String(layer));
  Json loaded;
  try {
    loaded = ask({{"do", String("load")},
                  {"peer", String(request.peer)},
                  {"model", String(fs::absolute(request.model).string())},
                  {"inputs", String(request.inputs)},
                  {"threads", box(Any(request.threads))},
                  {"layers", layers}});
  } catch (...) {
    end();
    throw;
  }
  name = text_at(loaded, "name").str();
  version = text_at(loaded, "version").str();
  first_answer_seconds = number_of(loaded["seconds"]);
  for (const ObjectRef& output : downcast<Array<ObjectRef>>(loaded["outputs"]))
    outputs.push_back(downcast<String>(output).str());
}

void Peer::end() {
  if (to_) std::fclose(to_);  // the process reads the end and quits
  if (from_) std::fclose(from_);
  if (process_ > 0) waitpid(process_, nullptr, 0);
  to_ = from_ = nullptr;
  process_ = -1;
}

Json Peer::ask(const Json& request) {
  std::string line = to_json(request) + "\n", answer;
  std::fwrite(line.data(), 1, line.size(), to_);
  std::fflush(to_);
  for (int c; (c = std::fgetc(from_)) != EOF && c != '\n';) answer += static_cast<char>(c);
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
