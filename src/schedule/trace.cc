#include "schedule/trace.h"

#include <cstdio>
#include <unordered_map>

#include "schedule/instruction.h"

namespace tessera::schedule {
namespace {

/// Names of random variables in order of appearance: b0, l1, v2.
class Names {
 public:
  std::string define(const ObjectRef& rv) {
    const char* letter = rv.as<BlockRVNode>() ? "b" : rv.as<LoopRVNode>() ? "l" : "v";
    return names_[rv.get()] = letter + std::to_string(names_.size());
  }
  const std::string* find(const ObjectRef& rv) const {
    auto found = names_.find(rv.get());
    return found == names_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<const Object*, std::string> names_;
};

std::string as_python(const ObjectRef& value, const Names& names) {
  if (!value) return "None";
  if (auto* name = names.find(value)) return *name;
  if (auto* text = value.as<StringNode>()) return quoted(text->text);
  if (auto* text = value.as<StringImm>()) return quoted(text->value);
  if (auto* number = value.as<IntImm>())
    return number->dtype.is_bool() ? (number->value ? "True" : "False") : std::to_string(number->value);
  if (auto* number = value.as<FloatImm>()) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", number->value);
    return text;
  }
  if (auto* array = value.as<ArrayNode>()) {
    std::string out;
    for (const ObjectRef& item : array->items) out += (out.empty() ? "" : ", ") + as_python(item, names);
    return "[" + out + "]";
  }
  return to_text(value);
}

ObjectRef as_json(const ObjectRef& value, const Names& names) {
  if (!value) return String("None");
  if (auto* name = names.find(value)) return String(*name);
  if (auto* text = value.as<StringNode>()) return String(quoted(text->text));
  if (auto* array = value.as<ArrayNode>()) {
    Array<ObjectRef> out;
    for (const ObjectRef& item : array->items) out.push_back(as_json(item, names));
    return out;
  }
  return value;
}

/// Fills in the places of an argument template (see InstructionRecord).
std::string arguments_of(const InstructionRecord& record, const InstructionNode& inst, const Names& names) {
  std::string out;
  for (const char* at = record.arguments; *at; ++at) {
    if (*at != '{') {
      out += *at;
      continue;
    }
    char what = at[1];
    size_t index = static_cast<size_t>(at[2] - '0');
    bool is_rest = at[3] == ':';
    while (*at != '}') ++at;
    if (what == 'b') {
      out += as_python(inst.attrs[index], names) == "0" ? "False" : "True";
    } else if (what == 'c') {
      std::string list = as_python(inst.inputs[index], names);
      if (list != "[]" && list != "None") out += ", consumer_blocks=" + list;
    } else if (is_rest) {
      std::string list;
      for (; index < inst.inputs.size(); ++index)
        list += (list.empty() ? "" : ", ") + as_python(inst.inputs[index], names);
      out += list;
    } else {
      out += as_python(what == 'i' ? inst.inputs[index] : inst.attrs[index], names);
    }
  }
  return out;
}

}  // namespace

Array<String> trace_as_python(const Trace& trace) {
  Names names;
  Array<String> lines;
  for (const Instruction& inst : trace->insts) {
    const InstructionRecord& record = find_instruction(inst->kind->name);
    std::string call = "sch." + std::string(record.method) + "(" + arguments_of(record, *inst, names);
    if (trace->decisions.count(inst)) call += ", decision=" + as_python(trace->decisions[inst], names);
    std::string results;
    for (const ObjectRef& rv : inst->outputs) results += (results.empty() ? "" : ", ") + names.define(rv);
    lines.push_back((results.empty() ? "" : results + " = ") + call + ")");
  }
  return lines;
}

Array<ObjectRef> trace_as_json(const Trace& trace) {
  Names names;
  Array<ObjectRef> insts, decisions;
  for (const Instruction& inst : trace->insts) {
    Array<ObjectRef> inputs, outputs;
    for (const ObjectRef& input : inst->inputs) inputs.push_back(as_json(input, names));
    for (const ObjectRef& rv : inst->outputs) outputs.push_back(String(names.define(rv)));
    if (trace->decisions.count(inst))
      decisions.push_back(
          Array<ObjectRef>{PrimExpr(static_cast<int>(insts.size())), as_json(trace->decisions[inst], names)});
    insts.push_back(Array<ObjectRef>{inst->kind->name, inputs, inst->attrs, outputs});
  }
  return {insts, decisions};
}

}  // namespace tessera::schedule
