#include "schedule/trace/trace.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "ir/json/json.h"
#include "ir/rewrite.h"
#include "schedule/trace/instruction.h"

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
  if (value.as<BlockRVNode>() || value.as<LoopRVNode>()) return "_";  // of no trace
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
  if (auto* map = value.as<IndexMapNode>()) {
    std::string vars, indices;
    for (const Var& var : map->initial_indices) vars += (vars.empty() ? " " : ", ") + var->name.str();
    for (const PrimExpr& index : map->final_indices) {
      bool is_number = index.as<IntImm>() || index.as<FloatImm>();
      indices += (indices.empty() ? "" : " ") + (is_number ? as_python(index, names) : to_text(index)) + ",";
    }
    return "lambda" + vars + ": (" + indices + ")";
  }
  return to_text(value);
}

ObjectRef as_json(const ObjectRef& value, const Names& names) {
  if (!value) return String("None");
  if (auto* name = names.find(value)) return String(*name);
  // As it is between two quotation marks, which tell it from a name; what writes the JSON escapes it.
  if (auto* text = value.as<StringNode>()) return String("\"" + text->text + "\"");
  if (auto* array = value.as<ArrayNode>()) {
    Array<ObjectRef> out;
    for (const ObjectRef& item : array->items) out.push_back(as_json(item, names));
    return out;
  }
  return value;
}

/// Fills in an argument template (see InstructionRecord).
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
    } else if (what == 'r') {
      bool is_write = as_python(inst.attrs[index + 1], names) != "0";
      out += std::string(is_write ? "(\"write\", " : "(\"read\", ") + as_python(inst.attrs[index], names) + ")";
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

bool is_pure(const InstructionNode& inst) {
  std::string_view kind = inst.kind->name;
  return kind.starts_with("Get") || kind.starts_with("Sample");
}

bool is_postproc(const InstructionNode& inst) { return inst.kind->name == "EnterPostproc"; }

std::vector<Instruction> instructions_of(const Trace& trace, bool remove_postproc) {
  std::vector<Instruction> out;
  for (const Instruction& inst : trace->insts) {
    if (remove_postproc && is_postproc(*inst)) break;
    out.push_back(inst);
  }
  return out;
}

namespace {

/// The method returns a list, also where there is one thing in it: `l1, = sch.get_loops(...)`.
bool returns_list(std::string_view method) {
  static const char* methods[] = {"get_loops", "get_child_blocks",   "get_producers", "get_consumers",
                                  "split",     "sample_perfect_tile"};
  return std::find(std::begin(methods), std::end(methods), method) != std::end(methods);
}

/// The call that an instruction is, `name` naming what it gives.
std::string line_of(const Instruction& inst, const ObjectRef& decision, bool is_decided, const Names& names,
                    const std::function<std::string(const ObjectRef&)>& name) {
  const InstructionRecord& record = find_instruction(inst->kind->name);
  std::string call = "sch." + std::string(record.method) + "(" + arguments_of(record, *inst, names);
  if (is_decided) call += ", decision=" + as_python(decision, names);
  std::string results;
  for (const ObjectRef& rv : inst->outputs) results += (results.empty() ? "" : ", ") + name(rv);
  if (inst->outputs.size() == 1 && returns_list(record.method)) results += ",";
  return (results.empty() ? "" : results + " = ") + call + ")";
}

}  // namespace

Array<String> trace_as_python(const Trace& trace, bool remove_postproc) {
  Names names;
  Array<String> lines;
  for (const Instruction& inst : instructions_of(trace, remove_postproc)) {
    auto name = [&](const ObjectRef& rv) { return names.define(rv); };
    bool is_decided = trace->decisions.count(inst);
    lines.push_back(line_of(inst, is_decided ? trace->decisions[inst] : ObjectRef(), is_decided, names, name));
  }
  return lines;
}

String instruction_as_python(const Instruction& inst) {
  return line_of(inst, ObjectRef(), false, Names(), [](const ObjectRef&) { return std::string("_"); });
}

Array<ObjectRef> trace_as_json(const Trace& trace, bool remove_postproc) {
  Names names;
  Array<ObjectRef> insts, decisions;
  for (const Instruction& inst : instructions_of(trace, remove_postproc)) {
    Array<ObjectRef> inputs, outputs;
    for (const ObjectRef& input : inst->inputs) inputs.push_back(as_json(input, names));
    for (const ObjectRef& rv : inst->outputs) outputs.push_back(String(names.define(rv)));
    if (trace->decisions.count(inst))
      decisions.push_back(
          Array<ObjectRef>{PrimExpr(static_cast<int>(insts.size())), as_json(trace->decisions[inst], names)});
    Array<ObjectRef> attrs = inst->attrs;
    for (size_t i = 0; i < attrs.size(); ++i)
      if (attrs[i].as<IndexMapNode>()) attrs.set(i, String(save_json(attrs[i])));
    insts.push_back(Array<ObjectRef>{inst->kind->name, inputs, attrs, outputs});
  }
  return {insts, decisions};
}

Trace trace_with_decision(const Trace& trace, const Instruction& inst, const ObjectRef& decision,
                          bool remove_postproc) {
  TraceNode out;
  for (const Instruction& each : instructions_of(trace, remove_postproc)) {
    out.insts.push_back(each);
    if (trace->decisions.count(each)) out.decisions.set(each, trace->decisions[each]);
  }
  out.decisions.set(inst, decision);
  return make(std::move(out));
}

namespace {

void mark_used(const ObjectRef& value, std::unordered_set<const Object*>* used) {
  if (!value) return;
  used->insert(value.get());
  if (auto* array = value.as<ArrayNode>())
    for (const ObjectRef& item : array->items) mark_used(item, used);
  if (auto* e = value.as<PrimExprNode>()) walk(PrimExpr(e), [&](const VarNode* var) { used->insert(var); });
}

}  // namespace

Trace trace_simplified(const Trace& trace, bool remove_postproc) {
  std::vector<Instruction> all = instructions_of(trace, remove_postproc), kept;
  std::unordered_set<const Object*> used;
  for (size_t i = all.size(); i-- > 0;) {
    bool is_dead = is_pure(*all[i]);
    for (const ObjectRef& output : all[i]->outputs) is_dead &= !used.count(output.get());
    if (is_dead) continue;
    kept.insert(kept.begin(), all[i]);
    mark_used(all[i]->inputs, &used);
  }
  TraceNode out;
  for (const Instruction& inst : kept) {
    out.insts.push_back(inst);
    if (trace->decisions.count(inst)) out.decisions.set(inst, trace->decisions[inst]);
  }
  return make(std::move(out));
}

}  // namespace tessera::schedule
