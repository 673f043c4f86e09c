// The options of lowering that a PassContext may hold.

#include "tir/transform/config.h"

#include "ir/pass/pass.h"

namespace tessera {

static register_types<UnrollLoopConfig, LoopPartitionConfig, InjectDoubleBufferConfig, HoistIfThenElseConfig,
                      HoistExpressionConfig>
    config_types;

static ConfigKeys keys{
    config_flag("tir.noalias"),
    config_flag("tir.detect_global_barrier"),
    config_flag("tir.instrument_bound_checkers"),
    config_flag("tir.disable_assert"),
    config_flag("tir.disable_vectorize"),
    config_flag("tir.disable_storage_rewrite"),
    config_flag("tir.is_entry_func"),
    config_flag("tir.disable_cse_tir"),
    config_flag("tir.enable_equiv_terms_in_cse_tir"),
    config_flag("tir.debug_keep_trivial_loop"),
    config_flag("tir.use_async_copy"),
    config_array("tir.add_lower_pass"),
    config_struct<UnrollLoopConfig>("tir.UnrollLoop"),
    config_struct<LoopPartitionConfig>("tir.LoopPartition"),
    config_struct<InjectDoubleBufferConfig>("tir.InjectDoubleBuffer"),
    config_struct<HoistIfThenElseConfig>("tir.HoistIfThenElse"),
    config_struct<HoistExpressionConfig>("tir.HoistExpression"),
    config_flag("tir.usmp.enable"),
    config_string("tir.usmp.algorithm"),
    config_string("tir.usmp.custom_algorithm"),
    config_flag("tir.usmp.use_workspace_io"),
};

}  // namespace tessera
