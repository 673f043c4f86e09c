// How passes, what is known of them, and contexts print.

#include "ir/repr.h"

#include "ir/pass/pass.h"

namespace tessera {
namespace {

void print_pass(ReprPrinter& p, const char* kind, const PassNode* pass) {
  p << "Run " << kind << " pass: " << pass->pass_info->name.str() << " at the optimization level "
    << pass->pass_info->opt_level;
}

ReprRows passes{
    [](ReprPrinter& p, const PassInfoNode* info) {
      p << "The meta data of the pass - pass name: " << info->name.str() << ", opt_level: " << info->opt_level
        << ", required passes: [";
      for (const String& name : info->required) p << name.str() << ", ";
      p << "]";
    },
    [](ReprPrinter& p, const PassNode* pass) { print_pass(p, "Function", pass); },
    [](ReprPrinter& p, const ModulePassNode* pass) { print_pass(p, "Module", pass); },
    [](ReprPrinter& p, const SequentialNode* sequence) {
      print_pass(p, "Sequential", sequence);
      p << ". The passes will be executed are: [";
      for (const Pass& pass : sequence->passes) p << pass->pass_info->name.str() << " ";
      p << "]";
    },
    [](ReprPrinter& p, const PassContextNode* context) {
      p << "Pass context information: \n\topt_level: " << context->opt_level
        << "\n\trequired passes: " << context->required_pass << "\n\tdisabled passes: " << context->disabled_pass
        << "\n\tinstruments: " << context->instruments << "\n\tconfig: " << context->config;
    },
    [](ReprPrinter& p, const PassInstrumentNode* instrument) { p << instrument->name.str(); },
};

}  // namespace
}  // namespace tessera
