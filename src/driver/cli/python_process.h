#pragma once
// A process of Python that is asked line by line: for what needs packages of Python.

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace tessera::cli {

/// Runs `python words...` with pipes; it reads the end of its input and quits when the object goes.
class PythonProcess {
 public:
  /// `what_for` completes "cannot start python, through which ...".
  PythonProcess(const std::vector<std::string>& words, const std::string& what_for);
  ~PythonProcess();
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  void write_line(const std::string& line);
  /// Empty where the process has ended.
  std::string read_line();

  /// The folder of this program.
  static std::string program_folder();

 private:
  pid_t process_ = -1;
  FILE *to_ = nullptr, *from_ = nullptr;
};

}  // namespace tessera::cli
