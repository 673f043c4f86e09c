#include "runtime/vm/frame_layout.h"

#include <algorithm>
#include <map>

namespace tessera::vm {
namespace {

constexpr size_t kMaxState = size_t(1) << 22;  // registers times branches: beyond it nothing is planned

/// What is known of a register at a point of the code.
struct Held {
  int32_t slot = -1;    // the tensor in it, or one that shares its memory, may be this slot
  int32_t origin = -1;  // where its shape comes from; -1: more than the parameters' extents may decide it
};
using State = std::vector<Held>;

class Walk {
 public:
  Walk(const Program& program, const Function& function)
      : program_(program), function_(function), state_(function.registers), params_(function.params.size()) {
    out_.index_at.assign(function.code.size(), -1);
    origins_.resize(params_);
    for (size_t i = 0; i < params_; ++i)
      if (function.params[i].is_tensor) state_[i].origin = static_cast<int32_t>(i);
    auto on_device = [&](const Instruction& in) {
      return in.op == Opcode::AllocTensorReg || (in.op == Opcode::AllocTensor && in.a < 0);
    };
    auto first = std::find_if(function.code.begin(), function.code.end(), on_device);
    out_.device = first == function.code.end() ? 0 : first->c;
    const int32_t type = program.device_types[static_cast<size_t>(out_.device)];
    has_addresses_ = type == kDLCPU || type == kDLCUDA;
  }

  FrameLayout run() {
    for (pc_ = 0; pc_ < function_.code.size(); ++pc_) {
      arrive();
      if (is_reached_) visit(function_.code[pc_]);
    }
    finish();
    return std::move(out_);
  }

 private:
  Held& at(int64_t reg) { return state_[static_cast<size_t>(reg)]; }

  /// Takes in what jumps that lead here bring.
  void arrive() {
    auto it = arriving_.find(pc_);
    if (it == arriving_.end()) return;
    if (is_reached_) merge(&state_, it->second);
    else state_ = std::move(it->second);
    is_reached_ = true;
    arriving_.erase(it);
  }
  void merge(State* into, const State& other) {
    for (size_t i = 0; i < other.size(); ++i) {
      Held &a = (*into)[i], b = other[i];
      if (a.slot >= 0 && b.slot >= 0 && a.slot != b.slot) escape(a), escape(b);
      a.slot = std::max(a.slot, b.slot);
      if (a.origin != b.origin) a.origin = -1;
    }
  }
  void jump(int32_t distance) {
    auto [it, is_new] = arriving_.emplace(pc_ + static_cast<size_t>(distance), state_);
    if (!is_new) merge(&it->second, state_);
  }

  void escape(const Held& held) {
    if (held.slot >= 0) escapes_[static_cast<size_t>(held.slot)] = true;
  }
  std::span<const int64_t> operands(const Instruction& in) const {
    return {function_.operands.data() + in.first, in.count};
  }
  void escape_operands(const Instruction& in) {
    for (int64_t reg : operands(in)) escape(at(reg));
  }

  /// A shape that follows from those at `from`; unknown where one of them is.
  int32_t origin_of(std::vector<int32_t> from) {
    if (std::find(from.begin(), from.end(), -1) != from.end()) return -1;
    origins_.push_back(std::move(from));
    is_shape_.resize(origins_.size());
    return static_cast<int32_t>(origins_.size() - 1);
  }
  /// Where a register holds a shape and not a tensor, which is a shape by its values.
  int32_t shape_in(int64_t reg) {
    const int32_t origin = at(reg).origin;
    return origin >= 0 && static_cast<size_t>(origin) < is_shape_.size() && is_shape_[static_cast<size_t>(origin)]
               ? origin
               : -1;
  }

  int32_t new_slot(const Instruction& in, int32_t origin) {
    if (origin < 0 || in.c != out_.device || !has_addresses_) return -1;
    const auto pc = static_cast<uint32_t>(pc_);
    out_.slots.push_back({pc, pc});
    escapes_.push_back(false);
    return static_cast<int32_t>(out_.slots.size() - 1);
  }

  void visit(const Instruction& in) {
    if (in.op != Opcode::KillRegister)
      each_use(const_cast<Function&>(function_), const_cast<Instruction&>(in), [&](int32_t reg) {
        if (int32_t slot = at(reg).slot; slot >= 0)
          out_.slots[static_cast<size_t>(slot)].last_use = static_cast<uint32_t>(pc_);
      });
    Held made;
    switch (in.op) {
      case Opcode::Move:
      case Opcode::DeviceCopy: made = at(in.a); break;
      case Opcode::LoadConst: made.origin = origin_of({}); break;
      case Opcode::ShapeOf: made.origin = origin_of({at(in.a).origin}); break;
      case Opcode::ReshapeTensor:
        made.slot = at(in.a).slot;
        made.origin = in.b < 0 ? origin_of({}) : origin_of({shape_in(in.b)});
        break;
      case Opcode::AllocTensor:
        made.origin = origin_of({});
        if (in.a < 0) made.slot = new_slot(in, made.origin);
        break;
      case Opcode::AllocTensorReg:
        made.origin = origin_of({shape_in(in.a)});
        made.slot = new_slot(in, made.origin);
        break;
      case Opcode::ShapeFunc: {
        std::vector<int32_t> from;
        for (int64_t reg : operands(in)) from.push_back(at(reg).origin);
        made.origin = origin_of(std::move(from));
        if (made.origin < 0) break;
        is_shape_[static_cast<size_t>(made.origin)] = true;
        out_.index_at[pc_] = static_cast<int32_t>(out_.shapes++);
        break;
      }
      case Opcode::Invoke:
      case Opcode::AllocADT:
      case Opcode::AllocClosure: escape_operands(in); break;
      case Opcode::InvokeClosure: escape(at(in.a)), escape_operands(in); break;
      case Opcode::SetField: escape(at(in.c)); break;
      case Opcode::Ret: escape(at(in.a)), is_reached_ = false; break;
      case Opcode::Fatal: is_reached_ = false; break;
      case Opcode::Goto: jump(in.a), is_reached_ = false; break;
      case Opcode::If: jump(in.c); break;
      case Opcode::KillRegister: at(in.a) = {}; break;
      case Opcode::InvokePacked:
      case Opcode::GetField:
      case Opcode::LoadConsti:
      case Opcode::GetTag:
      case Opcode::AllocStorage:
      case Opcode::Append: break;  // what they make shares no memory with what they read
    }
    if (in.dst >= 0) at(in.dst) = made;
  }

  void finish() {
    std::vector<FrameLayout::Slot> slots;
    for (size_t i = 0; i < out_.slots.size(); ++i) {
      if (escapes_[i]) continue;
      out_.index_at[out_.slots[i].made_at] = static_cast<int32_t>(slots.size());
      slots.push_back(out_.slots[i]);
    }
    out_.slots = std::move(slots);
    // From the remembered shapes, from which all sizes come, back to the parameters.
    std::vector<bool> decides(is_shape_);
    decides.resize(origins_.size());
    for (size_t i = origins_.size(); i-- > 0;)
      for (int32_t from : origins_[i])
        if (decides[i]) decides[static_cast<size_t>(from)] = true;
    for (size_t i = 0; i < params_; ++i)
      if (decides[i]) out_.params.push_back(static_cast<uint32_t>(i));
  }

  const Program& program_;
  const Function& function_;
  FrameLayout out_;
  State state_;
  std::map<size_t, State> arriving_;  // by the position that jumps lead to
  std::vector<bool> escapes_;         // by slot
  size_t params_, pc_ = 0;
  std::vector<std::vector<int32_t>> origins_;  // of each the earlier ones it follows from; parameters first
  std::vector<bool> is_shape_;                 // by origin
  bool is_reached_ = true, has_addresses_ = false;
};

}  // namespace

FrameLayout frame_layout(const Program& program, const Function& function) {
  const auto branches =
      static_cast<size_t>(std::count_if(function.code.begin(), function.code.end(),
                                        [](const auto& in) { return in.op == Opcode::If || in.op == Opcode::Goto; }));
  if ((branches + 1) > kMaxState / std::max<size_t>(function.registers, 1)) return {};
  return Walk(program, function).run();
}

}  // namespace tessera::vm
