// States: their stages, where these are attached, their text.

#include "tune/auto_scheduler/state.h"

#include "ir/repr.h"

namespace tessera::auto_scheduler {

const char* annotation_name(Annotation annotation) {
  static constexpr const char* kNames[kAnnotations] = {"for",         "unroll",     "vectorize",   "parallel",
                                                       "vthread",     "blockIdx.x", "threadIdx.x", "blockIdx.y",
                                                       "threadIdx.y", "blockIdx.z", "threadIdx.z", "tensorize"};
  return kNames[static_cast<size_t>(annotation)];
}

const Attachment* StateNode::attachment_of(int stage) const {
  for (const Attachment& each : attachments)
    if (each.stage == stage) return &each;
  return nullptr;
}

std::vector<int> StateNode::attached_to(int stage, int iter) const {
  std::vector<int> out;
  for (const Attachment& each : attachments)
    if (each.target == stage && each.iter == iter) out.push_back(each.stage);
  return out;
}

void StateNode::attach(int stage, int target, int iter) {
  detach(stage);
  attachments.push_back({stage, target, iter});
}

void StateNode::detach(int stage) {
  std::erase_if(attachments, [&](const Attachment& each) { return each.stage == stage; });
}

void StateNode::shift_stages(int first, int count) {
  for (Attachment& each : attachments) {
    if (each.stage >= first) each.stage += count;
    if (each.target >= first) each.target += count;
  }
}

void StateNode::move_iters(int stage, const std::function<int(int)>& position) {
  for (Attachment& each : attachments)
    if (each.target == stage) each.iter = position(each.iter);
}

Stage initial_stage(const te::Operation& op) {
  StageNode node;
  node.op = op;
  if (auto* compute = op.as<te::ComputeOp>()) {
    auto add = [&](const Array<IterVar>& axes, IterKind kind) {
      for (const IterVar& axis : axes) {
        IteratorNode iter;
        iter.name = clean_name(axis->var->name.str());
        iter.range = axis->dom;
        iter.iter_kind = kind;
        node.iters.push_back(make(std::move(iter)));
      }
    };
    add(compute->axis, IterKind::Spatial);
    add(compute->reduce_axis, IterKind::Reduction);
  } else if (!op.as<te::PlaceholderOp>()) {
    throw Error(ValueError) << "auto_scheduler: " << op->name << " is a " << op->type_key()
                            << "; only computations by te.compute can be searched";
  }
  return make(std::move(node));
}

int64_t extent_of(const Iterator& iter) {
  const int64_t* extent = iter->range ? as_int(iter->range->extent) : nullptr;
  return extent ? *extent : -1;
}

std::string clean_name(std::string name, const std::string& prefix) {
  auto replace = [&](const std::string& from, const std::string& to) {
    for (size_t at = name.find(from); at != std::string::npos; at = name.find(from, at + to.size()))
      name.replace(at, from.size(), to);
  };
  replace(".", "_");
  replace("@", "_");
  replace("outer", "o");
  replace("inner", "i");
  return prefix.empty() ? name : prefix + "_" + name;
}

namespace {

class StateText {
 public:
  StateText(const StateNode* state, bool with_trivial) : state_(state), with_trivial_(with_trivial) {}

  std::string all() {
    std::string names;
    for (const Stage& stage : state_->stages)
      if (stage->op.as<te::PlaceholderOp>()) names += (names.empty() ? "" : ", ") + stage->op->name.str();
    out_ = "Placeholder: " + names + "\n";
    for (size_t i = 0; i < state_->stages.size(); ++i) {
      Stage stage = state_->stages[i];
      if (!stage->op.as<te::PlaceholderOp>() && stage->compute_at == ComputeAt::Root) print(static_cast<int>(i), 0);
    }
    return std::move(out_);
  }

 private:
  void line(size_t indent, const std::string& text) { out_ += std::string(indent, ' ') + text + "\n"; }

  void print(int id, size_t indent) {
    const Stage stage = state_->stages[static_cast<size_t>(id)];
    const std::string name = stage->op->name.str();
    if (stage->auto_unroll_max_step)
      line(indent, name + " auto_unroll: " + std::to_string(stage->auto_unroll_max_step));
    if (stage->storage_offset) line(indent, name + " storage_offset: " + std::to_string(stage->storage_offset));
    int position = 0;
    for (const Iterator& iter : stage->iters) {
      if (with_trivial_ || !iter->range || !is_one(iter->range->extent)) {
        std::string text = std::string(annotation_name(iter->annotation)) + " " + iter->name.str();
        if (!iter->range) text += " (None)";
        else text += " (" + repr(iter->range->min.get()) + "," + repr(iter->range->extent.get()) + ")";
        line(indent, text);
        indent += 2;
      }
      for (int attached : state_->attached_to(id, position)) print(attached, indent);
      ++position;
    }
    line(indent, name + " = ...");
  }

  const StateNode* state_;
  bool with_trivial_;
  std::string out_;
};

register_types<IteratorNode, StageNode, StepNode, StateNode> states;

ReprRows state_rows{
    [](ReprPrinter& p, const StateNode* state) { p << state_text(state); },
    [](ReprPrinter& p, const IteratorNode* iter) { p << iter->name.str(); },
};

}  // namespace

std::string state_text(const StateNode* state, bool with_trivial_loops) {
  return StateText(state, with_trivial_loops).all();
}

}  // namespace tessera::auto_scheduler
