#include "train/start_weights.h"

#include <filesystem>

#include "data/checkpoint_sums.h"
#include "primal/error.h"
#include "primal/safetensors.h"
#include "train/checkpoint.h"

namespace primal::train {

namespace fs = std::filesystem;

namespace {

struct StartWeights {
  Tensors tensors;
  fs::path file;
};

StartWeights read_weights(const fs::path& from) {
  if (fs::is_regular_file(from)) return {load_safetensors(from).tensors, from};
  for (const fs::path& folder : {from / "best", from}) {
    if (fs::exists(folder / data::kModelFile)) return {load_checkpoint(folder).model, folder / data::kModelFile};
  }
  throw Error(from.string() + ": expected a run, a checkpoint or a safetensors file, and there are no weights here");
}

}  // namespace

void load_start_weights(torch::nn::Module& model, const std::string& from) {
  try {
    const StartWeights weights = read_weights(from);
    models::load_tensors(model, weights.tensors, weights.file.string());
  } catch (const Error& error) {
    throw Error(std::string("train.start_from: ") + error.what());
  }
}

}  // namespace primal::train
