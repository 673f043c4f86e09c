#include "runtime/cuda/compile.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "runtime/compiler_hooks.h"
#include "runtime/cuda/toolkit.h"
#include "runtime/registry.h"

extern char** environ;

namespace tessera::cuda {
namespace {

using NvrtcProgram = struct nvrtcProgram_st*;

/// The part of nvrtc.h that we use.
struct Nvrtc {
  int (*nvrtcVersion)(int*, int*);
  int (*nvrtcCreateProgram)(NvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*);
  int (*nvrtcDestroyProgram)(NvrtcProgram*);
  int (*nvrtcCompileProgram)(NvrtcProgram, int, const char* const*);
  int (*nvrtcGetProgramLogSize)(NvrtcProgram, size_t*);
  int (*nvrtcGetProgramLog)(NvrtcProgram, char*);
  int (*nvrtcGetPTXSize)(NvrtcProgram, size_t*);
  int (*nvrtcGetPTX)(NvrtcProgram, char*);
  int (*nvrtcGetCUBINSize)(NvrtcProgram, size_t*);
  int (*nvrtcGetCUBIN)(NvrtcProgram, char*);
};

bool is_file(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

const Nvrtc* find_nvrtc() {
  static const Nvrtc* found = []() -> const Nvrtc* {
    void* handle = open_toolkit_library({"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"});
    if (!handle) return nullptr;
    auto* out = new Nvrtc{};
    bool is_whole = true;
    auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      is_whole &= function != nullptr;
    };
    find(out->nvrtcVersion, "nvrtcVersion");
    find(out->nvrtcCreateProgram, "nvrtcCreateProgram");
    find(out->nvrtcDestroyProgram, "nvrtcDestroyProgram");
    find(out->nvrtcCompileProgram, "nvrtcCompileProgram");
    find(out->nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize");
    find(out->nvrtcGetProgramLog, "nvrtcGetProgramLog");
    find(out->nvrtcGetPTXSize, "nvrtcGetPTXSize");
    find(out->nvrtcGetPTX, "nvrtcGetPTX");
    find(out->nvrtcGetCUBINSize, "nvrtcGetCUBINSize");
    find(out->nvrtcGetCUBIN, "nvrtcGetCUBIN");
    return is_whole ? out : nullptr;
  }();
  return found;
}

[[noreturn]] void reject(const std::string& log, const std::string& source) {
  throw Error(RuntimeError) << "the CUDA compiler rejects the kernels:\n" << log << "\nin the source\n" << source;
}

/// "sm_90" as the compiler takes it for PTX: "compute_90".
std::string virtual_arch(const std::string& arch) {
  return arch.starts_with("sm_") ? "compute_" + arch.substr(3) : arch;
}

std::string by_nvrtc(const Nvrtc& nvrtc, const std::string& source, const std::string& arch, bool to_ptx) {
  NvrtcProgram program = nullptr;
  if (nvrtc.nvrtcCreateProgram(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr) != 0)
    throw Error(RuntimeError) << "NVRTC cannot read the source";
  std::vector<std::string> options{"--gpu-architecture=" + (to_ptx ? virtual_arch(arch) : arch), "--std=c++17"};
  std::string folder = toolkit_folder();
  if (!folder.empty()) {
    options.push_back("--include-path=" + folder + "/include");
    if (is_file(folder + "/include/cccl")) options.push_back("--include-path=" + folder + "/include/cccl");
  }
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  int code = nvrtc.nvrtcCompileProgram(program, static_cast<int>(pointers.size()), pointers.data());
  size_t size = 0;
  std::string out;
  if (code != 0) {
    nvrtc.nvrtcGetProgramLogSize(program, &size);
    out.resize(size);
    nvrtc.nvrtcGetProgramLog(program, out.data());
  } else if (to_ptx) {
    nvrtc.nvrtcGetPTXSize(program, &size);
    out.resize(size);
    nvrtc.nvrtcGetPTX(program, out.data());
    while (!out.empty() && out.back() == '\0') out.pop_back();
  } else {
    nvrtc.nvrtcGetCUBINSize(program, &size);
    out.resize(size);
    nvrtc.nvrtcGetCUBIN(program, out.data());
  }
  nvrtc.nvrtcDestroyProgram(&program);
  if (code != 0) reject(out, source);
  return out;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string by_nvcc(const std::string& nvcc, const std::string& source, const std::string& arch, bool to_ptx) {
  const char* parent = std::getenv("TMPDIR");
  std::string folder = std::string(parent && *parent ? parent : "/tmp") + "/tessera-cuda-XXXXXX";
  if (!mkdtemp(folder.data())) throw Error(FileError) << "cannot make a folder for nvcc: " << folder;
  std::string input = folder + "/kernels.cu", output = folder + "/kernels.out", log = folder + "/log";
  std::ofstream(input) << source;
  std::vector<std::string> words{nvcc,
                                 to_ptx ? "-ptx" : "-cubin",
                                 "-O3",
                                 "-std=c++17",
                                 "-arch=" + (to_ptx ? virtual_arch(arch) : arch),
                                 "-o",
                                 output,
                                 input};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  int status = -1;
  if (posix_spawn(&child, nvcc.c_str(), &actions, nullptr, argv.data(), environ) == 0)
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  posix_spawn_file_actions_destroy(&actions);
  std::string code = status == 0 ? read_file(output) : "", words_of_nvcc = read_file(log);
  for (const std::string& path : {input, output, log}) unlink(path.c_str());
  rmdir(folder.c_str());
  if (status != 0) reject(words_of_nvcc, source);
  return code;
}

}  // namespace

std::string compile(const std::string& source, const std::string& arch, const std::string& form) {
  bool to_ptx = form == "ptx";
  if (!to_ptx && form != "cubin") throw Error(ValueError) << "CUDA source becomes ptx or cubin, not \"" << form << "\"";
  std::string folder = toolkit_folder(), compiler;
  std::function<std::string()> make;
  if (const Nvrtc* nvrtc = find_nvrtc()) {
    int major = 0, minor = 0;
    nvrtc->nvrtcVersion(&major, &minor);
    compiler = "nvrtc " + std::to_string(major) + "." + std::to_string(minor);
    make = [&, nvrtc] { return by_nvrtc(*nvrtc, source, arch, to_ptx); };
  } else if (const std::string nvcc = folder + "/bin/nvcc"; !folder.empty() && is_file(nvcc)) {
    struct stat file{};
    stat(nvcc.c_str(), &file);
    compiler = nvcc + " " + std::to_string(file.st_size) + " " + std::to_string(file.st_mtime);
    make = [&, nvcc] { return by_nvcc(nvcc, source, arch, to_ptx); };
  } else {
    throw Error(RuntimeError)
        << "CUDA source cannot be compiled on this machine: neither NVRTC (libnvrtc.so) nor nvcc was "
           "found; install the CUDA toolkit or set CUDA_HOME";
  }
  const auto& cached = compiler_hooks().cached;
  return cached ? cached(compiler + " " + arch + " " + form + " " + folder + "\n" + source, make) : make();
}

static Globals compile_globals{
    {"runtime.cuda_compile",
     [](std::string source, std::string arch, std::string form) { return Bytes(compile(source, arch, form)); }},
};

}  // namespace tessera::cuda
