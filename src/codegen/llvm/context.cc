#include "codegen/llvm/context.h"

#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>

#include "codegen/llvm/machine/target_machine.h"

namespace tessera::codegen {
namespace {

struct ErrorKeeper : llvm::DiagnosticHandler {
  std::string words;

  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    if (!words.empty()) words += "\n";
    llvm::raw_string_ostream stream(words);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }
};

}  // namespace

std::unique_ptr<llvm::LLVMContext> make_context() {
  initialize_llvm();
  auto context = std::make_unique<llvm::LLVMContext>();
  context->setDiagnosticHandler(std::make_unique<ErrorKeeper>());
  return context;
}

void throw_reported(llvm::LLVMContext& context) {
  auto keeper = context.getDiagnosticHandler();  // taken out, and put back empty
  std::string words = std::move(static_cast<ErrorKeeper&>(*keeper).words);
  context.setDiagnosticHandler(std::make_unique<ErrorKeeper>());
  if (!words.empty()) throw Error(RuntimeError) << "LLVM: " << words;
}

}  // namespace tessera::codegen
