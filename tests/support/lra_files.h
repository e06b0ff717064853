// Files of the Long Range Arena's tasks with a handful of examples, and a small model for them.
#pragma once

#include <string>
#include <utility>

#include "data/images/cifar10.h"
#include "data/search_path.h"
#include "support/files.h"
#include "tasks/lra/config.h"

namespace primal::tests {

/// [MAX of some digits, 4 to 8 tokens: all lines differ.
inline std::string listops_file(int examples, int seed) {
  std::string text = "Source\tTarget\n";
  for (int i = 0; i < examples; ++i) {
    const int top = (i + seed) % 10;
    text += "[MAX 0 ";
    for (int k = 0; k < i % 5; ++k) text += std::to_string((i / 5 + k + seed) % (top + 1)) + " ";
    text += std::to_string(top) + " ]\t" + std::to_string(top) + "\n";
  }
  return text;
}

/// Every third review is good, "review 4 is good" and more of the same; they have 16 to 40 bytes.
inline std::string reviews_file(int examples, int seed) {
  std::string text;
  for (int i = 0; i < examples; ++i) {
    const bool is_good = i % 3 == 0;
    text += std::string(is_good ? "pos" : "neg") + "\t5\t" + std::to_string(i) + "_5\treview " +
            std::to_string(i + 100 * seed) + " is " + (is_good ? "good" : "bad") +
            std::string((7 * i + seed) % 23, '!') + "\n";
  }
  return text;
}

/// Related texts begin with the same letter.
inline std::string pairs_file(int examples, int seed) {
  std::string text;
  for (int i = 0; i < examples; ++i) {
    const char first = static_cast<char>('a' + (i + seed) % 20),
               second = static_cast<char>(first + (i % 2 == 0 ? 1 : 0));
    text += std::string(i % 2 == 0 ? "0.0" : "1.0") + "\t1\t2\t" + std::string(5 + i % 4, first) + "\t" +
            std::string(3 + i % 6, second) + std::to_string(i) + "\n";
  }
  return text;
}

/// Grey pictures whose first pixel is `first`, `first` + 1, ... and whose second row is black, labels 0, 1, 2, ...
inline std::string pictures_file(int examples, int first) {
  std::string bytes;
  for (int i = 0; i < examples; ++i) {
    std::string plane(data::kCifarPixels, static_cast<char>(40 + 9 * i));
    plane[0] = static_cast<char>(first + i);
    plane.replace(32, 32, 32, '\0');
    bytes += static_cast<char>(i % 10) + plane + plane + plane;
  }
  return bytes;
}

class LraFolderTest : public FolderTest {
 protected:
  LraFolderTest() {
    config.model.width = 8;
    config.model.heads = 2;
    config.model.feed_forward = 16;
    config.model.hidden = 6;
    config.model.rank = {3};
    config.model.dropout = 0;
    config.model.norm_first = true;
    config.loss.reduction = KsvdReduction::batch_mean;
    config.run.threads = 1;
  }

  /// 20, 6 and 7 examples.
  void write_listops() const {
    for (const auto& [part, examples] : {std::pair{"train", 20}, {"val", 6}, {"test", 7}}) {
      write(std::string("lra/listops/basic_") + part + ".tsv", listops_file(examples, examples));
    }
  }
  /// 30 and 9; there is no validation part.
  void write_text() const {
    write("imdb/imdb_train.tsv", reviews_file(30, 1));
    write("imdb/imdb_test.tsv", reviews_file(9, 2));
  }
  /// 16, 4 and 5 pairs.
  void write_pairs() const {
    for (const auto& [part, examples] : {std::pair{"train", 16}, {"eval", 4}, {"test", 5}}) {
      write(std::string("aan/new_aan_pairs.") + part + ".tsv", pairs_file(examples, examples));
    }
  }
  /// 20, of which the last tenth validates, and 3. The first pixels are 1 to 20, and 101 to 103.
  void write_pictures() const {
    for (int batch = 1; batch <= 5; ++batch) {
      write("cifar-10/data_batch_" + std::to_string(batch) + ".bin", pictures_file(4, 4 * batch - 3));
    }
    write("cifar-10/test_batch.bin", pictures_file(3, 101));
  }

  data::SearchPath search() const { return {{folder}}; }

  tasks::LraConfig config;
};

}  // namespace primal::tests
