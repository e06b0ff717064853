#include "tasks/lra/predict.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "base/format.h"
#include "data/series/line_source.h"
#include "data/text/tab_columns.h"
#include "primal/error.h"
#include "tasks/csv.h"

namespace primal::tasks {

namespace {

constexpr int64_t kPredictionTokens = 65536;  // that go through the model together

std::string head_line(const LraFacts& facts) {
  std::string line = "example,predicted";
  for (const std::string& name : facts.classes) line += "," + csv_field("p(" + name + ")");
  return line + "\n";
}

class TokenAnswers {
 public:
  TokenAnswers(models::TokenClassifierImpl& model, const LraFacts& facts, const TokenCoding& coding,
               const LineWriter& write)
      : model_(model), facts_(facts), coding_(coding), write_(write) {}

  // Writes the answers to these examples, which are numbered on from those before.
  void answer(const data::TokenSet& set, std::span<const int64_t> examples) {
    if (count_ == 0) write_(head_line(facts_));
    const torch::Tensor shares =
        model_.forward(batch_of(set, examples, coding_)).outputs.to(torch::kFloat32).softmax(1).contiguous();
    const torch::Tensor predicted = shares.argmax(1);
    std::string lines;
    for (int64_t i = 0; i < shares.size(0); ++i) {
      lines += std::to_string(++count_) + "," +
               csv_field(facts_.classes[static_cast<size_t>(predicted.data_ptr<int64_t>()[i])]);
      for (int64_t c = 0; c < shares.size(1); ++c) {
        lines += base::printed(",%.6f", shares.data_ptr<float>()[i * shares.size(1) + c]);
      }
      lines += '\n';
    }
    write_(lines);
  }

 private:
  models::TokenClassifierImpl& model_;
  const LraFacts& facts_;
  const TokenCoding& coding_;
  const LineWriter& write_;
  int64_t count_ = 0;
};

// One text per line, each answered as soon as a batch is full.
void answer_lines(const PredictRequest& request, int64_t tokens, TokenAnswers& answers) {
  data::LineSource lines(request.input);
  const int64_t batch = request.batch > 0 ? request.batch : request.input == "-" ? 1 : kPredictionTokens / tokens;
  std::string_view line;
  data::TokenSet waiting;
  const auto flush = [&] {
    std::vector<int64_t> all(static_cast<size_t>(waiting.examples()));
    std::iota(all.begin(), all.end(), 0);
    if (!all.empty()) answers.answer(waiting, all);
    waiting = {};
  };
  while (lines.next(line)) {
    waiting.add(/*label=*/0, data::read_text(lines, line, /*column=*/1, tokens));
    if (waiting.examples() >= std::max<int64_t>(batch, 1)) flush();
  }
  flush();
}

void answer_file(const data::TokenSet& set, const PredictRequest& request, const TokenCoding& coding,
                 TokenAnswers& answers) {
  std::vector<int64_t> waiting;
  int64_t longest = 0;
  for (int64_t i = 0; i < set.examples(); ++i) {
    longest = std::max(longest, padded_tokens(set, i, coding));
    const bool is_full = request.batch > 0 ? std::ssize(waiting) >= request.batch
                                           : longest * (std::ssize(waiting) + 1) > kPredictionTokens;
    if (is_full && !waiting.empty()) {
      answers.answer(set, waiting);
      waiting.clear();
      longest = padded_tokens(set, i, coding);
    }
    waiting.push_back(i);
  }
  if (!waiting.empty()) answers.answer(set, waiting);
}

}  // namespace

std::vector<std::string> predict_tokens(models::TokenClassifierImpl& model, const LraSource& source,
                                        const LraFacts& facts, const TokenCoding& coding, const PredictRequest& request,
                                        const LineWriter& write) {
  const torch::NoGradGuard no_grad;
  TokenAnswers answers(model, facts, coding, write);
  const bool is_text = source.name == "text";
  const bool is_stream = request.input == "-";
  if (is_stream && !is_text) throw Error("--input -: expected a file of lra/" + source.name + ", got standard input");
  const bool is_lines =
      is_stream || (is_text && request.input.extension() != ".tsv" && !std::filesystem::is_directory(request.input));
  if (is_lines) {
    answer_lines(request, facts.tokens, answers);
  } else {
    answer_file(source.read_file(request.input, facts.tokens), request, coding, answers);
  }
  return {};
}

}  // namespace primal::tasks
