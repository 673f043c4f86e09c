#include "runtime/registry.h"
#include "tune/meta_schedule/python_pieces.h"

namespace tessera::meta_schedule {
namespace {

Globals cost_model_globals{
    {"meta_schedule.CostModelLoad",
     [](const CostModel& self, const String& path) { self->methods->load(*self.edit(), path); }},
    {"meta_schedule.CostModelSave",
     [](const CostModel& self, const String& path) { self->methods->save(*self.edit(), path); }},
    {"meta_schedule.CostModelUpdate",
     [](const CostModel& self, const TuneContext& context, const Array<MeasureCandidate>& candidates,
        const Array<RunnerResult>& results) { self->methods->update(*self.edit(), context, candidates, results); }},
    {"meta_schedule.CostModelPredict",
     [](const CostModel& self, const TuneContext& context, const Array<MeasureCandidate>& candidates) {
       Array<ObjectRef> out;
       for (double score : self->methods->predict(*self.edit(), context, candidates)) out.push_back(box(Any(score)));
       return out;
     }},
};

}  // namespace
}  // namespace tessera::meta_schedule
