// The family of time-series tasks: classes or targets of multivariate series.
#pragma once

#include "tasks/family.h"

namespace primal::tasks {

Family time_series_family();

}  // namespace primal::tasks
