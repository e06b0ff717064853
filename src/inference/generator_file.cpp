#include "inference/generator_file.h"

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>

#include "base/crc32c.h"
#include "base/json_fields.h"
#include "primal/error.h"

namespace primal::inference {

namespace {

constexpr const char* kFormat = "primal generator state 1";
constexpr int64_t kHeld = 4;  // a character of UTF-8 has no more bytes

std::string text_of(const models::SamplingOptions& o) {
  return nlohmann::json{{"temperature", o.temperature},
                        {"top_k", o.top_k},
                        {"top_p", o.top_p},
                        {"repetition", o.repetition},
                        {"seed", std::to_string(o.seed)}}
      .dump();
}

models::SamplingOptions sampling_of(const std::string& text, const std::string& where) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw Error(where + ": is damaged: expected options as a JSON object");
  const base::Fields fields(json, where);
  models::SamplingOptions options{.temperature = fields.number("temperature"),
                                  .top_k = fields.whole("top_k"),
                                  .top_p = fields.number("top_p"),
                                  .repetition = fields.number("repetition"),
                                  .seed = std::strtoull(fields.text("seed").c_str(), nullptr, 10)};
  models::check(options);
  return options;
}

// A row for each sample, filled up with zeros, which no begun character has.
torch::Tensor bytes_of(const std::vector<SamplePlace>& places) {
  torch::Tensor bytes = at::zeros({std::ssize(places), kHeld}, at::kByte);
  for (size_t i = 0; i < places.size(); ++i) {
    std::ranges::copy(places[i].held, bytes.data_ptr<uint8_t>() + static_cast<int64_t>(i) * kHeld);
  }
  return bytes;
}

}  // namespace

std::string weights_fingerprint(const torch::nn::Module& model) {
  std::string all;
  for (const auto& item : model.named_parameters()) {
    const torch::Tensor value = item.value().detach().contiguous();
    all += base::crc32c_text({static_cast<const char*>(value.data_ptr()), value.nbytes()});
  }
  return base::crc32c_text(all);
}

void save_generator(const models::Generator& generator, const std::vector<SamplePlace>& places,
                    const std::filesystem::path& path, const std::string& weights) {
  nn::StateTensors tensors = generator.save();
  const auto samples = std::ssize(places);
  torch::Tensor last = at::empty({samples}, at::kLong), ended = at::empty({samples}, at::kBool);
  for (int64_t i = 0; i < samples; ++i) {
    const SamplePlace& place = places[static_cast<size_t>(i)];
    last.data_ptr<int64_t>()[i] = place.last;
    ended.data_ptr<bool>()[i] = place.has_ended;
  }
  tensors["last"] = last;
  tensors["ended"] = ended;
  tensors["held"] = bytes_of(places);
  save_safetensors(path, tensors,
                   {{"format", kFormat},
                    {"weights", weights},
                    {"samples", std::to_string(samples)},
                    {"sampling", text_of(generator.options())}});
}

SavedGenerator::SavedGenerator(const std::filesystem::path& path, const std::string& weights, int64_t samples)
    : path_(path), samples_(samples), file_(load_safetensors(path)) {
  const auto text = [&](const char* key) { return file_.metadata.contains(key) ? file_.metadata.at(key) : ""; };
  if (text("format") != kFormat) fail("expected the state of a generator (--save-state), got another file");
  if (text("weights") != weights) fail("is the state of another model");
  if (text("samples") != std::to_string(samples)) {
    fail("is the state of " + text("samples") + " samples, asked for " + std::to_string(samples));
  }
  sampling_ = sampling_of(text("sampling"), path.string());
}

std::vector<SamplePlace> SavedGenerator::load_into(models::Generator& generator) const {
  try {
    const torch::Tensor last = nn::state_tensor(file_.tensors, "last", at::kLong, {samples_}),
                        ended = nn::state_tensor(file_.tensors, "ended", at::kBool, {samples_}),
                        held = nn::state_tensor(file_.tensors, "held", at::kByte, {samples_, kHeld});
    nn::StateTensors rest = file_.tensors;
    for (const char* name : {"last", "ended", "held"}) rest.erase(name);
    generator.load(rest);
    std::vector<SamplePlace> places;
    for (int64_t i = 0; i < samples_; ++i) {
      const auto* bytes = reinterpret_cast<const char*>(held.data_ptr<uint8_t>()) + i * kHeld;
      places.push_back({.last = static_cast<int32_t>(last.data_ptr<int64_t>()[i]),
                        .held = std::string(bytes, strnlen(bytes, kHeld)),
                        .has_ended = ended.data_ptr<bool>()[i]});
    }
    return places;
  } catch (const Error& error) {
    fail(error.what());
  }
}

void SavedGenerator::fail(const std::string& what) const { throw Error(path_.string() + ": " + what); }

}  // namespace primal::inference
