#include "data/trajectories/hdf5_handle.h"

#include "base/text.h"

namespace primal::data {

void silence_hdf5() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

std::string hdf5_reason() {
  std::string reason = "no reason given";
  const auto take_first = [](unsigned index, const H5E_error2_t* error, void* into) -> herr_t {
    if (index == 0 && error->desc != nullptr) *static_cast<std::string*>(into) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &reason);
  return base::in_quotes(reason);
}

}  // namespace primal::data
