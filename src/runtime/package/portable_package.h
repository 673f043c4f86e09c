#pragma once
// One package of a model for several CPUs.
//
// A portable package holds a classic or vm package for each of several CPUs in a folder named after it ("x86-64-v3/mod.so"),
// weights that several of them have in common ("weights/0", one tensor each) and portable.json, the best CPU first:
//
//   {"cpus": [{"cpu": "x86-64-v4", "needs": ["avx512f,... for x86-64-v4"], "weights": {"p0": "weights/0"}}, ...]}
//
// The best that this CPU can run is chosen when the package is read.

#include "runtime/package/package.h"

namespace tessera {

/// The member that makes a package a portable one.
inline constexpr const char* kPortable = "portable.json";

/// What such a package has, the best CPU first. Nothing that it says is believed.
std::vector<Package::Variant> read_variants(const TarReader& archive);

/// A compiled model for one CPU.
struct PackagePart {
  std::string cpu, library_file, graph;  // without a graph: a program for the virtual machine
  Map<String, NDArray> params;           // of a program: constants that its library has not
};
/// Writes a portable package of these. Weights that are equal in several of them are written once.
void write_portable_package(const std::string& path, std::vector<PackagePart> parts);

}  // namespace tessera
