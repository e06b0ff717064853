#include "inference/generator_file.h"

#include <ATen/ATen.h>

#include "base/crc32c.h"
#include "primal/error.h"
#include "primal/safetensors.h"

namespace primal::inference {

namespace {

constexpr const char* kFormat = "primal generator state 1";

}  // namespace

std::string weights_fingerprint(const torch::nn::Module& model) {
  std::string all;
  for (const auto& item : model.named_parameters()) {
    const torch::Tensor value = item.value().detach().contiguous();
    all += base::crc32c_text({static_cast<const char*>(value.data_ptr()), value.nbytes()});
  }
  return base::crc32c_text(all);
}

void save_generator(const models::Generator& generator, int32_t last, const std::filesystem::path& path,
                    const std::string& weights, int64_t samples) {
  nn::StateTensors tensors = generator.save();
  tensors["last"] = at::scalar_tensor(int64_t{last}, at::kLong);
  save_safetensors(path, tensors, {{"format", kFormat}, {"weights", weights}, {"samples", std::to_string(samples)}});
}

int32_t load_generator(models::Generator& generator, const std::filesystem::path& path, const std::string& weights,
                       int64_t samples) {
  SafetensorsFile file = load_safetensors(path);
  const auto fail = [&](const std::string& what) { throw Error(path.string() + ": " + what); };
  const auto text = [&](const char* key) { return file.metadata.contains(key) ? file.metadata.at(key) : ""; };
  if (text("format") != kFormat) fail("expected the state of a generator (--save-state), got another file");
  if (text("weights") != weights) fail("is the state of another model");
  if (text("samples") != std::to_string(samples)) {
    fail("is the state of " + text("samples") + " samples, asked for " + std::to_string(samples));
  }
  try {
    const auto last = nn::state_tensor(file.tensors, "last", torch::kInt64, {}).item<int64_t>();
    file.tensors.erase("last");
    generator.load(file.tensors);
    return static_cast<int32_t>(last);
  } catch (const Error& error) {
    fail(error.what());
  }
  return 0;
}

}  // namespace primal::inference
