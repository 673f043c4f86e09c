#include "driver/executor/graph_json.h"

#include "base/array.h"
#include "base/json.h"
#include "ir/prim/expr.h"

namespace tessera::relay {
namespace {

class Writer {
 public:
  std::string out;

  void write(const ObjectRef& value, int level, bool spread) {
    if (auto* map = value.as<MapNode>()) return write_map(map, level, spread);
    if (auto* array = value.as<ArrayNode>()) return write_array(array, level, spread);
    out += to_json(value);
  }

 private:
  void new_line(int level) { out += "\n" + std::string(static_cast<size_t>(2 * level), ' '); }

  void write_map(const MapNode* map, int level, bool spread) {
    out += "{";
    bool is_first = true;
    for (const auto& [key, value] : map->entries) {
      if (!is_first) out += ",";
      is_first = false;
      new_line(level + 1);
      std::string name = to_json(key);
      out += name + ": ";
      write(value, level + 1, spread || name == "\"inputs\"" || name == "\"heads\"");
    }
    new_line(level);
    out += "}";
  }

  void write_array(const ArrayNode* array, int level, bool spread) {
    bool is_flat = !spread;
    for (const ObjectRef& item : array->items) is_flat = is_flat && item.as<IntImm>();
    if (array->items.empty()) is_flat = true;
    out += "[";
    for (size_t i = 0; i < array->items.size(); ++i) {
      if (i > 0) out += is_flat ? ", " : ",";
      if (!is_flat) new_line(level + 1);
      write(array->items[i], level + 1, spread);
    }
    if (!is_flat) new_line(level);
    out += "]";
  }
};

}  // namespace

std::string graph_text(const ObjectRef& graph) {
  Writer writer;
  writer.write(graph, 0, false);
  return writer.out;
}

}  // namespace tessera::relay
