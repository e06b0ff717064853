#include "data/tokens/listops_maker.h"

#include <array>
#include <future>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/random.h"
#include "base/text.h"
#include "base/write_failure.h"

namespace primal::data {

namespace {

using Expression = std::vector<uint8_t>;

constexpr uint64_t kDrawPurpose = 20, kOrderPurpose = 21;  // of the random numbers
constexpr int64_t kDrawsOfBlock = 8192;                    // about 10 ms, and 670 expressions that are kept
constexpr int64_t kFruitlessBlocks = 64;                   // in a row: then there are no other expressions
constexpr int64_t kMostExamples = 10'000'000;              // of a part; these would take 10 GB of memory
constexpr std::size_t kWriteSize = std::size_t{1} << 20;   // bytes

struct ListOpsHash {
  std::size_t operator()(const Expression& tokens) const {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(tokens.data()), tokens.size()});
  }
};

struct ListOpsPart {
  std::string_view name;
  int64_t examples;
};

std::array<ListOpsPart, 3> listops_parts(const ListOpsRequest& request) {
  return {{{"train", request.train}, {"val", request.val}, {"test", request.test}}};
}

void check_listops_request(const ListOpsRequest& request) {
  for (const auto& [part, examples] : listops_parts(request)) {
    if (examples >= 1 && examples <= kMostExamples) continue;
    base::fail("listops", "expected 1 to ", kMostExamples, " examples in ", part, ", got ", examples);
  }
  const auto [shortest, longest] = request.limits;
  if (shortest < 1 || longest < shortest) {
    base::fail("listops", "expected lengths from at least 1 up to as many or more, got ", shortest, " to ", longest);
  }
  if (request.threads < 1) base::fail("listops", "expected at least 1 thread, got ", request.threads);
}

/// Draws different expressions in blocks. A block has random numbers of its own, and the blocks are gone through in
/// order, so that it does not matter which thread drew which.
class ListOpsDrawer {
 public:
  ListOpsDrawer(const ListOpsRequest& request, int64_t examples) : request_(request), examples_(examples) {}

  int64_t done() const { return std::ssize(order_); }
  const std::vector<const Expression*>& order() const { return order_; }

  /// A block for each thread.
  void draw_more() {
    std::vector<std::future<std::vector<Expression>>> blocks;
    for (int64_t i = 1; i < request_.threads; ++i) {
      blocks.push_back(std::async(std::launch::async, [this, number = next_ + i] { return block(number); }));
    }
    keep_new(block(next_));
    for (auto& drawn : blocks) keep_new(drawn.get());
    next_ += request_.threads;
  }

 private:
  std::vector<Expression> block(int64_t number) const {
    auto random =
        base::Random::numbered(static_cast<uint64_t>(request_.seed), kDrawPurpose, static_cast<uint64_t>(number));
    std::vector<Expression> kept;
    Expression tokens;
    for (int64_t i = 0; i < kDrawsOfBlock; ++i) {
      if (draw_listops(random, request_.limits, tokens)) kept.push_back(tokens);
    }
    return kept;
  }

  void keep_new(std::vector<Expression> drawn) {
    if (done() == examples_) return;
    const int64_t before = done();
    for (Expression& tokens : drawn) {
      if (done() == examples_) break;
      const auto [place, is_new] = different_.insert(std::move(tokens));
      if (is_new) order_.push_back(&*place);
    }
    fruitless_ = done() == before ? fruitless_ + 1 : 0;
    if (fruitless_ < kFruitlessBlocks) return;
    base::fail("listops", "expected ", examples_, " different expressions of ", request_.limits.shortest, " to ",
               request_.limits.longest, " tokens, found ", done());
  }

  const ListOpsRequest& request_;
  int64_t examples_;
  std::unordered_set<Expression, ListOpsHash> different_;
  std::vector<const Expression*> order_;  // of different_, as drawn
  int64_t next_ = 0;                      // block
  int64_t fruitless_ = 0;                 // blocks in a row that brought nothing new
};

void shuffle_listops(std::vector<const Expression*>& order, int64_t seed) {
  auto random = base::Random::numbered(static_cast<uint64_t>(seed), kOrderPurpose, 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
}

std::list<base::AtomicFile> open_listops_files(const ListOpsRequest& request) {
  std::error_code error;
  std::filesystem::create_directories(request.folder, error);
  if (error) base::fail_writing(request.folder, "create the folder", error);
  std::list<base::AtomicFile> files;
  for (const ListOpsPart& part : listops_parts(request)) {
    files.emplace_back(request.folder / ("basic_" + std::string(part.name) + ".tsv"));
  }
  return files;
}

void append_listops_line(const Expression& tokens, std::string& text) {
  append_listops_source(tokens, text);
  text += '\t';
  text += kListOpsTokens[evaluate_listops(tokens)];
  text += "\r\n";
}

/// goes_on(left) is asked before every write of about kWriteSize bytes. False as soon as it says so.
template <typename GoesOn>
bool write_listops(std::span<const Expression* const> examples, base::AtomicFile& file, const GoesOn& goes_on) {
  std::string text(kListOpsHeader);
  text += "\r\n";
  while (!examples.empty()) {
    if (!goes_on(std::ssize(examples))) return false;
    for (; !examples.empty() && text.size() < kWriteSize; examples = examples.subspan(1)) {
      append_listops_line(*examples.front(), text);
    }
    file.write(text.data(), text.size());
    text.clear();
  }
  return true;
}

}  // namespace

bool make_listops(const ListOpsRequest& request) {
  check_listops_request(request);
  const int64_t examples = request.train + request.val + request.test;
  const auto goes_on = [&](int64_t done) {
    if (request.progress) request.progress(done, 2 * examples);
    return !request.stop || !request.stop();
  };

  std::list<base::AtomicFile> files = open_listops_files(request);  // a wrong name is told before the work
  ListOpsDrawer drawer(request, examples);
  while (drawer.done() < examples) {
    if (!goes_on(drawer.done())) return false;
    drawer.draw_more();
  }
  std::vector<const Expression*> order = drawer.order();
  shuffle_listops(order, request.seed);

  std::span<const Expression* const> rest = order;
  auto file = files.begin();
  for (const ListOpsPart& part : listops_parts(request)) {
    const auto examples_of_part = rest.first(part.examples);
    rest = rest.subspan(part.examples);
    const auto goes_on_after = [&](int64_t left) { return goes_on(2 * examples - std::ssize(rest) - left); };
    if (!write_listops(examples_of_part, *file++, goes_on_after)) return false;
  }
  for (base::AtomicFile& complete : files) complete.commit();
  if (request.progress) request.progress(2 * examples, 2 * examples);
  return true;
}

}  // namespace primal::data
