#include "driver/cli/python_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "runtime/archive/files.h"

extern char** environ;

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

/// TESSERA_PYTHON, else the Python of the environment that is active or that the program is installed in, else python3.
std::string find_python() {
  if (const char* given = std::getenv("TESSERA_PYTHON"); given && *given) return given;
  std::vector<fs::path> folders;
  if (const char* active = std::getenv("VIRTUAL_ENV"); active && *active) folders.emplace_back(active);
  // <environment>/lib/python3.x/site-packages/tessera/bin
  fs::path folder = PythonProcess::program_folder();
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

}  // namespace

std::string PythonProcess::program_folder() {
  std::error_code failed;
  fs::path program = fs::read_symlink("/proc/self/exe", failed);
  return failed ? std::string() : program.parent_path().string();
}

PythonProcess::PythonProcess(const std::vector<std::string>& words, const std::string& what_for) {
  std::string python = find_python();
  int to[2], from[2];
  make_pipe(to);
  make_pipe(from);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  std::vector<std::string> own = words;
  std::vector<char*> arguments{python.data()};
  for (std::string& word : own) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int failed = posix_spawnp(&process_, python.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(to[0]);
  close(from[1]);
  to_ = fdopen(to[1], "w");
  from_ = fdopen(from[0], "r");
  if (failed) {
    std::fclose(to_);
    std::fclose(from_);
    throw Error(RuntimeError) << "cannot start " << python << ", through which " << what_for << " ("
                              << std::strerror(failed) << "); TESSERA_PYTHON may name another Python";
  }
  std::signal(SIGPIPE, SIG_IGN);  // a process that ended is seen when its answer is missing
}

PythonProcess::~PythonProcess() {
  std::fclose(to_);  // the process reads the end and quits
  std::fclose(from_);
  waitpid(process_, nullptr, 0);
}

void PythonProcess::write_line(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), to_);
  std::fputc('\n', to_);
  std::fflush(to_);
}

std::string PythonProcess::read_line() {
  std::string out;
  for (int c; (c = std::fgetc(from_)) != EOF && c != '\n';) out += static_cast<char>(c);
  return out;
}

}  // namespace tessera::cli
