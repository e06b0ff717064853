#include "tasks/ksvd_model_file.h"

#include <ATen/ATen.h>
#include <primal/safetensors.h>

#include <nlohmann/json.hpp>

#include "base/json_fields.h"
#include "base/text.h"

namespace primal::tasks {

namespace {

using analysis::Form;
using analysis::KernelKind;
using analysis::KernelSvd;

constexpr const char* kFormat = "primal kernel svd 1";

std::string facts_of(const KernelSvd& svd) {
  const nlohmann::json facts = {{"kernel", base::name_in(analysis::kKernelNames, svd.kernel.kind)},
                                {"width", svd.kernel.width},
                                {"degree", svd.kernel.degree},
                                {"offset", svd.kernel.offset},
                                {"primal", svd.form == Form::primal},
                                {"rows", svd.rows},
                                {"columns", svd.columns},
                                {"inputs", svd.inputs},
                                {"one_table", svd.one_table},
                                {"sampled", svd.sampled},
                                {"energy", svd.energy}};
  return facts.dump();
}

class KsvdFile {
 public:
  explicit KsvdFile(const std::filesystem::path& path) : name_(path.string()), file_(load_safetensors(path)) {}

  KernelSvd read() {
    if (text("format") != kFormat) base::fail(name_, "expected a model of primal ksvd, got another file");
    const nlohmann::json object = base::parse_object(text("facts"), name_);
    read_facts(base::Fields(object, name_));
    svd_.singular_values = tensor("singular_values", at::kDouble, {-1});
    if (has("mean")) {
      svd_.mean = tensor("mean", at::kDouble, {svd_.inputs});
      svd_.factor = tensor("factor", at::kDouble, {svd_.inputs});
    }
    svd_.form == Form::primal ? read_primal() : read_dual();
    return svd_;
  }

 private:
  void read_facts(const base::Fields& facts) {
    svd_.kernel.kind = base::named(analysis::kKernelNames, name_ + ": kernel", facts.text("kernel"));
    svd_.kernel.width = facts.number("width");
    svd_.kernel.degree = facts.whole("degree");
    svd_.kernel.offset = facts.number("offset");
    check(svd_.kernel);
    svd_.form = facts.flag_if_any("primal") ? Form::primal : Form::dual;
    svd_.rows = facts.whole("rows");
    svd_.columns = facts.whole("columns");
    svd_.inputs = facts.whole("inputs");
    svd_.one_table = facts.flag_if_any("one_table");
    svd_.sampled = facts.flag_if_any("sampled");
    svd_.energy = facts.number("energy");
    if (svd_.rows < 1 || svd_.columns < 1) facts.fail("rows", "expected rows and columns, got none");
  }

  void read_primal() {
    const int64_t features = analysis::feature_count(svd_.kernel, svd_.inputs);
    if (features == 0) base::fail(name_, "is damaged: the kernel has no primal form");
    svd_.left_weights = weights("left_weights", features);
    svd_.right_weights = svd_.is_symmetric() ? svd_.left_weights : weights("right_weights", features);
  }

  void read_dual() {
    svd_.kept_columns = kept("kept_columns", svd_.columns);
    svd_.kept_rows = svd_.one_table ? svd_.kept_columns : kept("kept_rows", svd_.rows);
    svd_.left_weights = weights("left_weights", svd_.kept_columns.size(0));
    svd_.right_weights = svd_.is_symmetric() ? svd_.left_weights : weights("right_weights", svd_.kept_rows.size(0));
  }

  at::Tensor weights(const char* name, int64_t features) const {
    return tensor(name, at::kDouble, {features, svd_.singular_values.size(0)});
  }

  // Rows that new ones are compared with; of a matrix their numbers.
  at::Tensor kept(const char* name, int64_t count) const {
    if (svd_.kernel.kind != KernelKind::matrix) return tensor(name, at::kDouble, {-1, svd_.inputs});
    const at::Tensor numbers = tensor(name, at::kLong, {-1});
    if (numbers.min().item<int64_t>() < 0 || numbers.max().item<int64_t>() >= count) {
      base::fail(name_, "is damaged: ", name, " are not all from 0 to ", count - 1);
    }
    return numbers;
  }

  // sizes: -1 = any above 0
  at::Tensor tensor(const char* name, at::ScalarType dtype, const std::vector<int64_t>& sizes) const {
    const auto found = file_.tensors.find(name);
    if (found == file_.tensors.end()) base::fail(name_, "is damaged: there is no tensor ", name);
    const at::Tensor& value = found->second;
    bool fits = value.scalar_type() == dtype && value.dim() == std::ssize(sizes);
    for (size_t i = 0; fits && i < sizes.size(); ++i) {
      const int64_t size = value.size(static_cast<int64_t>(i));
      fits = sizes[i] < 0 ? size > 0 : size == sizes[i];
    }
    if (!fits) base::fail(name_, "is damaged: tensor ", name, " does not fit the others");
    return value;
  }

  bool has(const char* name) const { return file_.tensors.contains(name); }
  std::string text(const char* key) const { return file_.metadata.contains(key) ? file_.metadata.at(key) : ""; }

  std::string name_;
  SafetensorsFile file_;
  KernelSvd svd_;
};

}  // namespace

void save_ksvd(const KernelSvd& svd, const std::filesystem::path& path) {
  std::map<std::string, at::Tensor> tensors = {{"singular_values", svd.singular_values},
                                               {"left_weights", svd.left_weights}};
  if (!svd.is_symmetric()) tensors["right_weights"] = svd.right_weights;
  if (svd.mean.defined()) tensors.insert({{"mean", svd.mean}, {"factor", svd.factor}});
  if (svd.form == Form::dual) tensors["kept_columns"] = svd.kept_columns;
  if (svd.form == Form::dual && !svd.one_table) tensors["kept_rows"] = svd.kept_rows;
  save_safetensors(path, tensors, {{"format", kFormat}, {"facts", facts_of(svd)}});
}

KernelSvd load_ksvd(const std::filesystem::path& path) { return KsvdFile(path).read(); }

}  // namespace primal::tasks
