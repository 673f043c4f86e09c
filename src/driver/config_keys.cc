// Options of v0.10 that scripts set for parts of the compiler that work otherwise here, or are not there: they are taken,
// their types are checked, and they change nothing.

#include "ir/pass/pass.h"

namespace tessera {

static ConfigKeys keys{
    config_string("relay.backend.tir_converter"),  // kernels always come from operator records
    config_flag("relay.backend.use_auto_scheduler"),
    config_flag("relay.backend.use_meta_schedule"),
    config_int("relay.backend.use_meta_schedule_dispatch"),
    config_int("relay.collage.byoc_max_depth"),
    config_int("relay.collage.tvm_max_depth"),
    config_flag("relay.remove_standalone_reshapes.enable"),  // reshapes are views in every executor
    config_int("tir.contrib.ethos-u.copy_compute_reordering_max_copy_movements"),
    config_flag("tir.contrib.ethos-u.copy_compute_reordering_reorder_by_cycles"),
};

}  // namespace tessera
