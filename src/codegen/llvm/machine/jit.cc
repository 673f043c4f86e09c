#include "codegen/llvm/machine/jit.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include "codegen/llvm/machine/target_machine.h"

namespace tessera::codegen {

struct JitCode::State {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::string name;
  std::string reported;  // what ORC said on the way, for messages
};

JitCode::JitCode(const std::vector<Unit>& units, const std::string& name) : state_(std::make_unique<State>()) {
  state_->name = name;
  llvm::orc::LLJITBuilder builder;
  builder.setPlatformSetUp(llvm::orc::setUpInactivePlatform);
  builder.setJITTargetMachineBuilder(llvm::orc::JITTargetMachineBuilder(llvm::Triple(llvm::sys::getProcessTriple())));
  // Work is done where it is asked for: ORC would start a thread for each small task.
  builder.setExecutorProcessControl(take_or_throw(
      llvm::orc::SelfExecutorProcessControl::Create(nullptr, std::make_unique<llvm::orc::InPlaceTaskDispatcher>()),
      "starting the JIT for " + name));
  state_->jit = take_or_throw(builder.create(), "starting the JIT for " + name);
  state_->jit->getExecutionSession().setErrorReporter(
      [state = state_.get()](llvm::Error error) { state->reported += llvm::toString(std::move(error)) + "; "; });
  for (const Unit& unit : units) {
    auto buffer = llvm::MemoryBuffer::getMemBuffer(unit.object, name, /*RequiresNullTerminator=*/false);
    if (llvm::Error error = state_->jit->addObjectFile(std::move(buffer)))
      throw_llvm(std::move(error), "loading " + name);
  }
}

JitCode::~JitCode() = default;

void* JitCode::find(const std::string& symbol) {
  auto found = state_->jit->lookup(symbol);
  if (found) return found->toPtr<void*>();
  llvm::Error error = found.takeError();
  if (!error.isA<llvm::orc::SymbolsNotFound>() || !state_->reported.empty()) {
    throw Error(RuntimeError) << "linking " << state_->name << " in memory: " << state_->reported
                              << llvm::toString(std::move(error))
                              << ". Functions that the code calls must be part of the process";
  }
  llvm::consumeError(std::move(error));
  return nullptr;
}

}  // namespace tessera::codegen
