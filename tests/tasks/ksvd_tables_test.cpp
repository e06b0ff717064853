#include "tasks/ksvd_tables.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <primal/safetensors.h>

#include <nlohmann/json.hpp>

#include "support/errors.h"
#include "support/files.h"
#include "support/kernel_tables.h"
#include "support/tensors.h"
#include "support/threads.h"
#include "tasks/ksvd_model_file.h"
#include "tasks/read_table.h"

namespace primal::tasks {
namespace {

using analysis::FeatureMaker;
using analysis::KernelKind;
using analysis::KernelSvd;
using analysis::Side;
using tests::error_of;
using tests::random_table;
using tests::same;

class KsvdTablesTest : public tests::FolderTest {
 protected:
  tests::ThreadsGuard guard;
  at::Tensor x = random_table(30, 4, 1), z = random_table(20, 4, 2);

  std::string table(const char* name, const at::Tensor& values) const {
    save_safetensors(folder / name, {{"values", values}});
    return (folder / name).string();
  }
  KernelSvd solved(KernelKind kind, const at::Tensor& columns, bool standardise) const {
    analysis::KernelSvdOptions options;
    options.kernel.kind = kind;
    options.rank = 3;
    options.standardise = standardise;
    if (kind != KernelKind::matrix && kind != KernelKind::cosine) options.share = 0.5;
    return analysis::kernel_svd({x, columns}, options);
  }
};

TEST_F(KsvdTablesTest, AModelIsReadBackToTheSameFeatures) {
  for (const KernelKind kind :
       {KernelKind::cosine, KernelKind::rbf, KernelKind::sne, KernelKind::poly, KernelKind::matrix}) {
    const bool is_matrix = kind == KernelKind::matrix;
    for (const at::Tensor& columns : {is_matrix ? at::Tensor() : z, at::Tensor()}) {
      const KernelSvd svd = solved(kind, columns, !is_matrix);
      save_ksvd(svd, folder / "model.safetensors");
      const KernelSvd read = load_ksvd(folder / "model.safetensors");
      const at::Tensor right_rows = is_matrix ? x.t() : z;
      EXPECT_TRUE(same(FeatureMaker(read, Side::left).of(x), FeatureMaker(svd, Side::left).of(x)));
      EXPECT_TRUE(same(FeatureMaker(read, Side::right).of(right_rows), FeatureMaker(svd, Side::right).of(right_rows)));
      EXPECT_TRUE(same(read.singular_values, svd.singular_values));
      EXPECT_EQ(read.energy, svd.energy);
      EXPECT_EQ(read.sampled, svd.sampled);
    }
  }
}

TEST_F(KsvdTablesTest, DamagedModelsAreRefused) {
  const auto path = folder / "model.safetensors";
  const KernelSvd svd = solved(KernelKind::rbf, z, true);
  save_ksvd(svd, path);
  const SafetensorsFile good = load_safetensors(path);
  const auto message = [&](auto change) {
    std::map<std::string, at::Tensor> tensors = good.tensors;
    std::map<std::string, std::string> metadata = good.metadata;
    change(tensors, metadata);
    save_safetensors(folder / "damaged.safetensors", tensors, metadata);
    return error_of([&] { load_ksvd(folder / "damaged.safetensors"); }).substr(folder.string().size() + 1);
  };
  EXPECT_EQ(message([](auto&, auto& metadata) { metadata.clear(); }),
            "damaged.safetensors: expected a model of primal ksvd, got another file");
  EXPECT_EQ(message([](auto& tensors, auto&) { tensors.erase("left_weights"); }),
            "damaged.safetensors: is damaged: there is no tensor left_weights");
  EXPECT_EQ(message([](auto& tensors, auto&) { tensors["kept_rows"] = tensors["kept_rows"].narrow(1, 0, 2); }),
            "damaged.safetensors: is damaged: tensor kept_rows does not fit the others");
  EXPECT_EQ(message([](auto& tensors, auto&) { tensors["mean"] = tensors["mean"].to(at::kFloat); }),
            "damaged.safetensors: is damaged: tensor mean does not fit the others");
  EXPECT_TRUE(tests::contains(message([](auto&, auto& metadata) { metadata["facts"] = "{}"; }), "field \"kernel\""));
}

TEST_F(KsvdTablesTest, ATableIsOneTensorOfAFile) {
  EXPECT_TRUE(same(read_table(table("a.safetensors", x)).values, x));
  save_safetensors(folder / "two.safetensors", {{"a", x}, {"b", z}, {"flat", z.flatten()}});
  const std::string two = (folder / "two.safetensors").string();
  EXPECT_TRUE(same(read_table(two + ":b").values, z));
  EXPECT_EQ(error_of([&] { read_table(two); }),
            two + ": has several tensors, name one as in " + two + ":NAME; there are \"a\", \"b\", \"flat\"");
  EXPECT_EQ(error_of([&] { read_table(two + ":c"); }),
            two + ": there is no tensor \"c\"; there are \"a\", \"b\", \"flat\"");
  EXPECT_EQ(error_of([&] { read_table(two + ":flat"); }),
            two + ":flat: expected a tensor [rows, columns] with numbers in it, got [80]");
}

TEST_F(KsvdTablesTest, NumbersThatAreNoneAreFound) {
  at::Tensor wrong = at::zeros({70000, 3}, at::kFloat);
  wrong[69000][1] = std::nan("");
  const std::string file = table("a.safetensors", wrong);
  EXPECT_EQ(error_of([&] { read_table(file); }), file + ": row 69001, column 2: expected a finite number, got NaN");
  EXPECT_NO_THROW(read_table(table("large.safetensors", at::full({10, 2}, 3e38F, at::kFloat))));
  const std::string flags = table("flags.safetensors", at::ones({2, 2}, at::kBool));
  EXPECT_EQ(error_of([&] { read_table(flags); }), flags + ": expected real or whole numbers, got Bool");
}

TEST_F(KsvdTablesTest, FilesHaveWhatTheModelGives) {
  KsvdRequest request{.rows = table("x.safetensors", x.to(at::kFloat)),
                      .columns = table("z.safetensors", z.to(at::kFloat))};
  request.output = (folder / "out").string();
  request.as_safetensors = true;
  request.threads = 1;
  const KsvdResult result = decompose_tables(request);
  const at::Tensor left = load_safetensors(folder / "out" / "left.safetensors").tensors.at("features");
  EXPECT_TRUE(same(left, FeatureMaker(result.svd, Side::left).of(x.to(at::kFloat))));
  EXPECT_EQ(left.scalar_type(), at::kFloat);
  features_of_new_rows({.model = request.output,
                        .columns = request.columns,
                        .output = (folder / "new.safetensors").string(),
                        .threads = 1},
                       {});
  EXPECT_EQ(tests::read(folder / "new.safetensors"), tests::read(folder / "out" / "right.safetensors"));
  EXPECT_EQ(to_json(result)["files"].size(), 5u);
}

TEST_F(KsvdTablesTest, TheInputIsNeverOverwritten) {
  std::filesystem::create_directory(folder / "out");
  KsvdRequest request{.rows = table("out/left.safetensors", x)};
  request.output = (folder / "out").string();
  request.as_safetensors = true;
  const std::string before = tests::read(request.rows);
  EXPECT_EQ(error_of([&] { decompose_tables(request); }),
            "--output: " + request.rows + " is the input itself, which would be lost");
  EXPECT_EQ(tests::read(request.rows), before);
}

}  // namespace
}  // namespace primal::tasks
