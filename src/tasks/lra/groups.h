// What the accuracy of a Long Range Arena run is compared with, and which kinds of its examples are right.
#pragma once

#include <cstddef>
#include <vector>

#include "run/case_details.h"
#include "tasks/lra/examined_set.h"
#include "tasks/lra/sources.h"

namespace primal::tasks {

/// What is known of the published data, else chance.
std::vector<run::ReferenceLine> reference_lines(const LraSource& source, size_t classes);

/// ListOps by the outermost operator, all but images by length. Examples that were not asked do not count.
std::vector<run::CaseGroup> groups_of(const ExaminedSet& examined, const LraSource& source);

}  // namespace primal::tasks
