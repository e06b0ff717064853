// How the program makes data of the Long Range Arena itself.
#pragma once

#include "tasks/make_data.h"

namespace primal::tasks {

const DataMaker& listops_maker();
const DataMaker& wikitext_pairs_maker();
const DataMaker& pathfinder_maker();

}  // namespace primal::tasks
