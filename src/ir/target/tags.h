#pragma once
// Names for well-known machines: Target("nvidia/geforce-rtx-3090").

#include "base/map.h"

namespace tessera {

/// The configuration under a tag, or an empty map reference.
Map<String, ObjectRef> find_target_tag(std::string_view name);
std::vector<std::string> target_tags();
/// Adds a tag; one that exists is an error unless `override` is set.
void register_target_tag(const String& name, Map<String, ObjectRef> config, bool override);

}  // namespace tessera
