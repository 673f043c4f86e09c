// The node types of the search over block schedules.

#include "tune/meta_schedule/mutator/mutators.h"
#include "tune/meta_schedule/postproc/postprocs.h"
#include "tune/meta_schedule/python_pieces.h"
#include "tune/meta_schedule/rule/multi_level_tiling.h"
#include "tune/meta_schedule/search/strategies.h"
#include "tune/meta_schedule/space/spaces.h"

namespace tessera::meta_schedule {
namespace {

register_types<ArgInfoNode, TensorInfoNode, WorkloadNode, MeasureCandidateNode, BuilderInputNode, BuilderResultNode,
               RunnerInputNode, RunnerResultNode, TuningRecordNode, TuneContextNode>
    record_types;
register_types<ScheduleRuleNode, AddRFactorNode, AutoBindNode, AutoInlineNode, CrossThreadReductionNode,
               ParallelizeVectorizeUnrollNode, RandomComputeLocationNode, MultiLevelTilingNode,
               MultiLevelTilingWithIntrinNode, MultiLevelTilingWideVectorNode, MultiLevelTilingTensorCoreNode,
               PyScheduleRuleNode>
    rule_types;
register_types<PostprocNode, DisallowDynamicLoopNode, RewriteCooperativeFetchNode, RewriteLayoutNode,
               RewriteParallelVectorizeUnrollNode, RewriteReductionBlockNode, RewriteTensorizeNode,
               RewriteUnboundBlockNode, VerifyGPUCodeNode, PyPostprocNode>
    postproc_types;
register_types<MutatorNode, MutateComputeLocationNode, MutateParallelNode, MutateThreadBindingNode, MutateTileSizeNode,
               MutateUnrollNode, PyMutatorNode>
    mutator_types;
register_types<SpaceGeneratorNode, PostOrderApplyNode, ScheduleFnNode, SpaceGeneratorUnionNode, PySpaceGeneratorNode>
    space_types;
register_types<SearchStrategyNode, ReplayTraceNode, ReplayFuncNode, EvolutionarySearchNode, PySearchStrategyNode>
    strategy_types;
register_types<CostModelNode, PyCostModelNode, DatabaseNode, MemoryDatabaseNode, JSONDatabaseNode, UnionDatabaseNode,
               OrderedUnionDatabaseNode, ScheduleFnDatabaseNode, PyDatabaseNode>
    other_types;

}  // namespace
}  // namespace tessera::meta_schedule
