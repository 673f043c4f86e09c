#pragma once
// The order in which texts show the entries of a map with String keys.

#include <vector>

#include "base/map.h"

namespace tessera {

/// Up to four entries stand as they were put in. v0.10 moved larger maps into a hash table and wrote them in its order,
/// which scripts and logs have preserved; so do we.
std::vector<MapNode::Entry> printing_order(const MapNode* map);

/// The order of that table, whatever the number of entries: v0.10 also made it of four entries when one of them was set
/// again.
std::vector<MapNode::Entry> table_order(const MapNode* map);

}  // namespace tessera
