// The middle end. TIR kernels arrive scheduled: vectors, unrolled bodies and tiles are the schedule's, so LLVM's loop
// and SLP vectorisers and its unroller are off. What stays turns memory into registers and tidies address arithmetic.

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/StandardInstrumentations.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopIdiomRecognize.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimpleLoopUnswitch.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "codegen/llvm/codegen.h"
#include "codegen/llvm/context.h"

namespace tessera::codegen {
namespace {

llvm::FunctionPassManager function_passes() {
  llvm::FunctionPassManager out;
  out.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  out.addPass(llvm::EarlyCSEPass(true));
  out.addPass(llvm::SimplifyCFGPass());
  out.addPass(llvm::InstCombinePass());

  llvm::LoopPassManager hoisting;
  hoisting.addPass(llvm::LoopRotatePass());
  hoisting.addPass(llvm::LICMPass(llvm::LICMOptions()));
  out.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(hoisting), /*UseMemorySSA=*/true));
  llvm::LoopPassManager counting;
  counting.addPass(llvm::LoopIdiomRecognizePass());
  counting.addPass(llvm::IndVarSimplifyPass());
  out.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(counting)));

  out.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  out.addPass(llvm::GVNPass());
  out.addPass(llvm::InstCombinePass());
  out.addPass(llvm::DSEPass());
  llvm::LoopPassManager again;
  again.addPass(llvm::LICMPass(llvm::LICMOptions()));
  out.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(again), /*UseMemorySSA=*/true));
  out.addPass(llvm::ADCEPass());
  out.addPass(llvm::SimplifyCFGPass());
  out.addPass(llvm::InstCombinePass());
  return out;
}

}  // namespace

void optimize(llvm::Module& module, llvm::TargetMachine& target, const Machine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopUnrolling = machine.opt_level >= 3;
  llvm::PassInstrumentationCallbacks callbacks;
  llvm::OptNoneInstrumentation leaves_alone(/*DebugLogging=*/false);  // functions marked so
  leaves_alone.registerCallbacks(callbacks);
  llvm::PassBuilder builder(&target, tuning, std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  llvm::ModulePassManager passes;
  if (machine.opt_level >= 3) {
    passes = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3);
  } else {
    passes.addPass(llvm::AlwaysInlinerPass());
    if (machine.opt_level > 0) passes.addPass(llvm::createModuleToFunctionPassAdaptor(function_passes()));
    passes.addPass(llvm::GlobalDCEPass());
  }
  passes.run(module, modules);
  throw_reported(module.getContext());
}

}  // namespace tessera::codegen
