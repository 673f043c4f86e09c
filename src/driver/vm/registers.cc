#include "driver/vm/registers.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace tessera::vm {
namespace {

using Live = std::set<int32_t>;

/// What lives where: found walking backwards, which is exact because jumps go forwards.
class Liveness {
 public:
  explicit Liveness(Draft& draft) : draft_(draft), code_(draft.function.code), dies_after(code_.size()) {
    for (size_t label = 0; label < draft.label_at.size(); ++label) labels_at_[draft.label_at[label]].push_back(label);
    Live live;
    for (size_t i = code_.size(); i-- > 0;) {
      visit(i, &live);
      if (labels_at_.count(static_cast<int32_t>(i))) at_label.emplace(static_cast<int32_t>(i), live);
    }
  }

 private:
  const Live& at_target(int32_t label) { return at_label.at(draft_.label_at[static_cast<size_t>(label)]); }

  void visit(size_t i, Live* live) {
    Instruction& in = code_[i];
    if (in.op == Opcode::Ret || in.op == Opcode::Fatal) live->clear();
    if (in.op == Opcode::Goto) *live = at_target(in.a);
    if (in.op == Opcode::If) {
      // What only one way needs dies where the other begins.
      const Live after = *live;
      const Live& other = at_target(in.c);
      live->insert(other.begin(), other.end());
      live->insert({in.a, in.b});
      std::vector<int32_t>& dead_there = dies_at_label[draft_.label_at[static_cast<size_t>(in.c)]];
      for (int32_t reg : *live) {
        if (!after.count(reg)) dies_after[i].push_back(reg);
        if (!other.count(reg)) dead_there.push_back(reg);
      }
      return;
    }
    if (in.dst >= 0 && !live->erase(in.dst)) dies_after[i].push_back(in.dst);  // nobody asks for it
    each_use(draft_.function, in, [&](int32_t used) {
      if (live->insert(used).second && in.op != Opcode::Ret) dies_after[i].push_back(used);
    });
  }

  Draft& draft_;
  std::vector<Instruction>& code_;
  std::unordered_map<int32_t, std::vector<size_t>> labels_at_;

 public:
  std::vector<std::vector<int32_t>> dies_after;                     // by instruction
  std::unordered_map<int32_t, std::vector<int32_t>> dies_at_label;  // by the position of a label
  std::unordered_map<int32_t, Live> at_label;                       // what lives there
};

/// Gives each value a register that is free while it lives.
class Allocation {
 public:
  Allocation(int32_t values, size_t params)
      : register_of_(static_cast<size_t>(values), -1), count_(static_cast<int32_t>(params)) {
    for (size_t i = 0; i < params; ++i) register_of_[i] = static_cast<int32_t>(i);
  }
  int32_t of(int32_t value) {
    int32_t& own = register_of_[static_cast<size_t>(value)];
    if (own >= 0) {  // given in another branch
      free_.erase(own);
      return own;
    }
    if (free_.empty()) return own = count_++;
    own = *free_.begin();
    free_.erase(free_.begin());
    return own;
  }
  void release(int32_t value) { free_.insert(register_of_[static_cast<size_t>(value)]); }
  void only(const Live& live) {
    free_.clear();
    for (int32_t i = 0; i < count_; ++i) free_.insert(free_.end(), i);
    for (int32_t value : live) free_.erase(register_of_[static_cast<size_t>(value)]);
  }
  int32_t count() const { return count_; }

 private:
  std::vector<int32_t> register_of_;
  std::set<int32_t> free_;
  int32_t count_;
};

}  // namespace

Instruction& Draft::emit(Opcode op, int32_t dst, int32_t a, int32_t b, int32_t c,
                         const std::vector<int64_t>& operands) {
  Instruction in;
  in.op = op;
  in.dst = dst;
  in.a = a;
  in.b = b;
  in.c = c;
  in.first = static_cast<uint32_t>(function.operands.size());
  in.count = static_cast<uint32_t>(operands.size());
  in.source = source;
  function.operands.insert(function.operands.end(), operands.begin(), operands.end());
  function.code.push_back(in);
  return function.code.back();
}

Function finish(Draft draft) {
  Liveness life(draft);
  Function& function = draft.function;
  Allocation allocation(draft.registers, function.params.size());
  std::vector<Instruction> code;
  std::vector<int32_t> now_at(function.code.size() + 1);
  std::vector<bool> is_number(static_cast<size_t>(draft.registers));  // holds no memory
  for (const Instruction& in : function.code)
    if (in.op == Opcode::LoadConsti || in.op == Opcode::GetTag) is_number[static_cast<size_t>(in.dst)] = true;
  // `written` is the register that was just filled: a value that ends there made way for it.
  auto kill = [&](std::vector<int32_t> dead, bool is_needed, int32_t written) {
    std::sort(dead.begin(), dead.end());
    dead.erase(std::unique(dead.begin(), dead.end()), dead.end());
    std::erase_if(dead, [&](int32_t value) { return allocation.of(value) == written; });
    for (int32_t value : dead) {
      Instruction in;
      in.op = Opcode::KillRegister;
      in.a = allocation.of(value);
      if (is_needed && !is_number[static_cast<size_t>(value)]) code.push_back(in);
    }
    for (int32_t value : dead) allocation.release(value);
  };
  for (size_t i = 0; i < function.code.size(); ++i) {
    Instruction in = function.code[i];
    auto at = static_cast<int32_t>(i);
    now_at[i] = static_cast<int32_t>(code.size());
    bool ends_next = i + 1 < function.code.size() && function.code[i + 1].op == Opcode::Ret;
    if (auto it = life.at_label.find(at); it != life.at_label.end()) {
      allocation.only(it->second);
      auto dead = life.dies_at_label.find(at);
      if (dead != life.dies_at_label.end()) kill(dead->second, in.op != Opcode::Ret && in.op != Opcode::Fatal, -1);
      allocation.only(it->second);
    }
    each_use(function, in, [&](int32_t& reg) { reg = allocation.of(reg); });
    if (in.dst >= 0) in.dst = allocation.of(in.dst);
    if (in.op == Opcode::Goto ||
        in.op == Opcode::If) {  // the label, and where the jump stands, until positions are known
      int32_t& label = in.op == Opcode::If ? in.c : in.a;
      label = draft.label_at[static_cast<size_t>(label)];
    }
    code.push_back(in);
    bool is_used = std::find(life.dies_after[i].begin(), life.dies_after[i].end(), function.code[i].dst) ==
                   life.dies_after[i].end();
    kill(life.dies_after[i], !ends_next, is_used ? in.dst : -1);
  }
  now_at.back() = static_cast<int32_t>(code.size());
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i].op == Opcode::Goto) code[i].a = now_at[size_t(code[i].a)] - static_cast<int32_t>(i);
    if (code[i].op == Opcode::If) code[i].c = now_at[size_t(code[i].c)] - static_cast<int32_t>(i);
  }
  function.code = std::move(code);
  function.registers = static_cast<uint32_t>(allocation.count());
  return function;
}

}  // namespace tessera::vm
