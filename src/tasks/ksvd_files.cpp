#include "tasks/ksvd_files.h"

#include <ATen/ATen.h>
#include <primal/error.h>

#include <algorithm>
#include <utility>

#include "analysis/spectrum_stats.h"
#include "base/atomic_file.h"
#include "report/ksvd_page.h"
#include "tasks/ksvd_model_file.h"

namespace primal::tasks {

namespace {

namespace fs = std::filesystem;
using analysis::FeatureMaker;
using analysis::KernelSvd;
using analysis::Side;

constexpr int64_t kMostPoints = 1000;  // of a picture
constexpr int64_t kMostDrawn = 3;      // features

template <typename T>
std::span<const T> numbers(const at::Tensor& features) {
  return {features.data_ptr<T>(), static_cast<size_t>(features.numel())};
}

// Collects every so manieth row.
class PointsOfRows {
 public:
  explicit PointsOfRows(int64_t rows) : distance_((rows + kMostPoints - 1) / kMostPoints) {}

  void add(const at::Tensor& features) {
    points_.resize(static_cast<size_t>(std::min(features.size(1), kMostDrawn)));
    for (; next_ < row_ + features.size(0); next_ += distance_) {
      const at::Tensor row = features[next_ - row_];
      for (size_t i = 0; i < points_.size(); ++i) points_[i].push_back(row[static_cast<int64_t>(i)].item<double>());
    }
    row_ += features.size(0);
  }
  FeaturePoints take() { return std::move(points_); }

 private:
  int64_t distance_, row_ = 0, next_ = 0;
  FeaturePoints points_;
};

report::KsvdPage page_of(const KsvdResult& result) {
  const KernelSvd& svd = result.svd;
  return {.title = result.tables,
          .kernel = kernel_text(svd.kernel),
          .form = form_text(svd),
          .rows = svd.rows,
          .columns = svd.columns,
          .is_sampled = svd.sampled,
          .values = numbers_in(svd.singular_values),
          .shares = shares_of(svd),
          .effective_rank = analysis::effective_rank(numbers_in(svd.singular_values)),
          .sides = {}};
}

class KsvdFolder {
 public:
  KsvdFolder(KsvdResult& result, const KsvdOutput& output) : result_(result), output_(output) {
    for (const Side side : {Side::left, Side::right}) check_target(features_file(side), output.inputs);
    fs::create_directories(output.folder);
    page_ = page_of(result);
  }

  void write_side(Side side, const at::Tensor& table, const char* title) {
    FeaturePoints points = write_feature_file(features_file(side), FeatureMaker(result_.svd, side), table,
                                              {.is_double = output_.in_double, .threads = output_.threads});
    page_.sides.push_back({.title = title, .features = std::move(points)});
    result_.files.emplace_back(name_of(side), features_file(side));
  }
  void write_rest() {
    write_text("singular values", "singular_values.csv", to_csv(result_.svd));
    save_ksvd(result_.svd, output_.folder / kKsvdModelFile);
    result_.files.emplace_back("model", output_.folder / kKsvdModelFile);
    write_text("page", "report.html", report::ksvd_page(page_));
  }

 private:
  static std::string name_of(Side side) { return side == Side::left ? "left" : "right"; }
  fs::path features_file(Side side) const {
    return output_.folder / (name_of(side) + (output_.as_safetensors ? ".safetensors" : ".csv"));
  }
  void write_text(const char* what, const char* name, const std::string& text) {
    base::write_file_atomically(output_.folder / name, text);
    result_.files.emplace_back(what, output_.folder / name);
  }

  KsvdResult& result_;
  const KsvdOutput& output_;
  report::KsvdPage page_;
};

}  // namespace

FeaturePoints write_features(const analysis::FeatureMaker& maker, const at::Tensor& table,
                             data::FeatureWriterOptions options, const data::FeatureWriter::Taker& taker) {
  options.rows = table.size(0);
  options.columns = maker.rank();
  options.is_double = maker.dtype(table, options.is_double) == at::kDouble;
  data::FeatureWriter writer(options, taker);
  PointsOfRows points(table.size(0));
  maker.give(table, options.is_double, [&](const at::Tensor& features) {
    points.add(features);
    features.scalar_type() == at::kFloat ? writer.write(numbers<float>(features))
                                         : writer.write(numbers<double>(features));
  });
  return points.take();
}

FeaturePoints write_feature_file(const fs::path& path, const FeatureMaker& maker, const at::Tensor& table,
                                 data::FeatureWriterOptions options) {
  options.is_safetensors = path.extension() == ".safetensors";
  base::AtomicFile file(path);
  FeaturePoints points =
      write_features(maker, table, options, [&](std::string_view bytes) { file.write(bytes.data(), bytes.size()); });
  file.commit();
  return points;
}

void check_target(const fs::path& target, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code missing;
    if (input.empty() || !fs::equivalent(input, target, missing)) continue;
    throw Error("--output: " + target.string() + " is the input itself, which would be lost");
  }
}

void write_ksvd(KsvdResult& result, const at::Tensor& rows, const at::Tensor& columns, const KsvdOutput& output) {
  KsvdFolder folder(result, output);
  const bool is_one = result.svd.one_table, is_symmetric = result.svd.is_symmetric();
  folder.write_side(Side::left, rows, is_symmetric ? "Rows" : "Rows: left features");
  if (!is_symmetric) {
    folder.write_side(Side::right, is_one ? rows : columns,
                      is_one ? "Rows: right features" : "Columns: right features");
  }
  folder.write_rest();
}

}  // namespace primal::tasks
