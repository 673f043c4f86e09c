#pragma once
// Where threads stand and which memory they share: what a tensor, a buffer or a copy of one in some memory has to hold.

#include <string_view>

namespace tessera {

/// Block threads have rank 0, threads of a block and virtual threads rank 1.
struct ThreadLevel {
  int rank = 0;
  int dimension = -1;  // 0, 1, 2 for x, y, z; -1 for virtual threads
};
ThreadLevel thread_level(std::string_view tag);
inline bool is_virtual_thread(std::string_view tag) { return tag.starts_with("vthread") || tag == "cthread"; }

/// Memory by who shares it: global by all, shared by a block, warp by a warp, local and the rest by one thread.
enum class StorageRank : int { Global = 0, Shared = 1, Warp = 2, Local = 3 };
StorageRank storage_rank(std::string_view scope);
/// The scopes that programs of blocks may name: "shared.dyn", "wmma.accumulator", ...
bool is_storage_scope(std::string_view scope);

/// The memory of a tensor whose scope was not said: by the innermost rank of the threads around it (-1: none).
StorageRank default_storage(int thread_rank);

/// True when data in such memory must hold what all threads of the tag need, not only its own thread's part.
bool spans_threads(StorageRank storage, std::string_view tag);

}  // namespace tessera
