#include "tir/threads.h"

#include <algorithm>

#include "base/error.h"

namespace tessera {

ThreadLevel thread_level(std::string_view tag) {
  if (is_virtual_thread(tag)) return {1, -1};
  for (int rank = 0; rank < 2; ++rank) {
    std::string_view prefix = rank == 0 ? "blockIdx." : "threadIdx.";
    if (tag.starts_with(prefix) && tag.size() == prefix.size() + 1) {
      int dimension = tag.back() - 'x';
      if (dimension >= 0 && dimension < 3) return {rank, dimension};
    }
  }
  throw Error(ValueError) << "unknown thread tag \"" << tag
                          << "\"; known are blockIdx.{x,y,z}, threadIdx.{x,y,z}, vthread, vthread.{x,y,z} and cthread";
}

StorageRank storage_rank(std::string_view scope) {
  if (scope.empty() || scope.starts_with("global")) return StorageRank::Global;
  if (scope.starts_with("shared")) return StorageRank::Shared;
  if (scope.starts_with("warp")) return StorageRank::Warp;
  return StorageRank::Local;
}

StorageRank default_storage(int thread_rank) {
  if (thread_rank < 0) return StorageRank::Global;
  return thread_rank == 0 ? StorageRank::Shared : StorageRank::Local;
}

bool is_storage_scope(std::string_view scope) {
  static constexpr std::string_view kScopes[] = {"global",
                                                 "shared",
                                                 "warp",
                                                 "local",
                                                 "wmma.matrix_a",
                                                 "wmma.matrix_b",
                                                 "wmma.accumulator",
                                                 "m16n8k8.matrixA",
                                                 "m16n8k8.matrixB",
                                                 "m16n8k8.matrixC",
                                                 "texture",
                                                 "vtcm"};
  return scope.starts_with("shared.") || scope.starts_with("global.") || std::ranges::count(kScopes, scope);
}

bool spans_threads(StorageRank storage, std::string_view tag) {
  const ThreadLevel thread = thread_level(tag);
  if (storage == StorageRank::Warp && thread.rank == 1 && thread.dimension == 0) return true;
  return static_cast<int>(storage) <= thread.rank;
}

}  // namespace tessera
