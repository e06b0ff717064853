#include "tasks/verify.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "tasks/family.h"
#include "tasks/verify_layer.h"

namespace primal::tasks {

namespace {

// A gradient that is zero in exact arithmetic (with heads of width 1, those of q and k) holds nothing but rounding,
// about 1e-17: tensors below this size are compared with it instead of with themselves.
constexpr double kSmallestScale = 1e-6;

double absolute_error(const at::Tensor& ours, const at::Tensor& golden) {
  return golden.numel() == 0 ? 0 : (ours.to(at::kDouble) - golden).abs().max().item<double>();
}

double relative_error(const at::Tensor& ours, const at::Tensor& golden) {
  if (golden.numel() == 0) return 0;
  return absolute_error(ours, golden) / std::max(golden.abs().max().item<double>(), kSmallestScale);
}

bool close_in_float(const at::Tensor& ours, const at::Tensor& golden) {
  return at::allclose(ours.to(at::kDouble), golden, /*rtol=*/1.3e-6, /*atol=*/1e-5);
}

// What the file itself calls zero in exact arithmetic. Its rounding depends on the order of sums.
constexpr double kZeroTolerance = 1e-12;

std::vector<TensorError> compare(const GoldenFile& file, const std::set<std::string>& zeros, const Tensors& expected,
                                 const Tensors& in_double, const Tensors& in_float) {
  std::vector<TensorError> result;
  for (const auto& [name, stored] : expected) {
    const at::Tensor golden = stored.to(at::kDouble);
    const at::Tensor& ours = in_double.at(name);
    if (ours.sizes() != golden.sizes()) {
      file.fail(c10::str("tensor ", name, " has shape ", golden.sizes(), ", expected ", ours.sizes()));
    }
    const bool is_zero = zeros.contains(name);
    const double error = is_zero ? absolute_error(ours, golden) : relative_error(ours, golden);
    result.push_back({name, error, relative_error(in_float.at(name), golden),
                      error <= (is_zero ? kZeroTolerance : kDoubleTolerance),
                      close_in_float(in_float.at(name), golden)});
  }
  return result;
}

// What a kind of golden file has, and what it asks for.
struct Kind {
  std::string name;
  std::string naming;  // of the parameters of a network; empty for a layer
  Tensors (*expected)(const GoldenFile& file);
  Tensors (*computed)(const GoldenFile& file, at::ScalarType dtype);
};

Kind golden_kind(const GoldenFile& file) {
  if (!file.has("model")) return {file.text("variant"), "", expected_layer_results, computed_layer_results};
  std::string name = file.text("model") + " (" + file.text("layers") + ")";
  if (file.has("steps")) name += ", " + file.text("steps") + " training steps";
  for (const Family& family : families()) {
    for (const GoldenModel& model : family.golden_models) {
      if (model.name == file.text("model")) return {name, std::string(model.naming), model.expected, model.computed};
    }
  }
  file.fail("unknown model \"" + file.text("model") + "\"");
}

// "B=2 N=6 D=8 H=2 s=3", as far as the file says.
std::string sizes_of(const GoldenFile& file) {
  std::string text;
  if (file.content.tensors.contains("x")) {
    const at::Tensor& x = file.tensor("x");
    if (x.dim() != 3) file.fail(c10::str("x must be [B, N, width], got ", x.sizes()));
    text = c10::str("B=", x.size(0), " N=", x.size(1));
  }
  for (const char* key : {"B", "N", "D", "H", "s"}) {
    const bool is_known = text.find(std::string(key) + "=") != std::string::npos;
    if (!is_known && file.has(key)) text += (text.empty() ? "" : " ") + std::string(key) + "=" + file.text(key);
  }
  return text;
}

Verification verify(const GoldenFile& file) {
  const Kind kind = golden_kind(file);
  const auto zeros = kind.naming.empty() ? std::set<std::string>() : file.zero_gradients(kind.naming);
  return {kind.name, sizes_of(file),
          compare(file, zeros, kind.expected(file), kind.computed(file, at::kDouble), kind.computed(file, at::kFloat))};
}

}  // namespace

bool Verification::ok() const {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const TensorError& tensor) { return tensor.double_is_ok && tensor.float_is_ok; });
}

Verification verify_golden_file(const std::filesystem::path& path) {
  const GoldenFile file{path, load_safetensors(path)};
  try {
    return verify(file);
  } catch (const Error& error) {  // of the layer or of import_reference, which do not know the file
    const std::string message = error.what();
    if (message.starts_with(path.string())) throw;
    file.fail(message);
  } catch (const c10::Error& error) {  // shapes of w, mask, ... that do not fit together
    file.fail(error.what_without_backtrace());
  }
}

}  // namespace primal::tasks
