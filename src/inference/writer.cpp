#include "inference/writer.h"

#include <algorithm>
#include <utility>

namespace primal::inference {

std::vector<int64_t> never_written(const data::TextCoder& coder) {
  std::vector<int64_t> ids;
  for (int32_t id = 0; id < coder.size(); ++id) {
    if (!coder.is_written(id)) ids.push_back(id);
  }
  return ids;
}

TextWriter::TextWriter(models::Generator& generator, const data::TextCoder& coder, int64_t samples, int32_t before,
                       WritingOptions options)
    : generator_(generator),
      coder_(coder),
      options_(std::move(options)),
      samples_(static_cast<size_t>(samples), Sample{.decoder = data::TextDecoder(coder, before)}),
      last_(before) {}

bool TextWriter::is_done() const {
  return tokens_ >= options_.tokens || std::ranges::all_of(samples_, &Sample::is_done);
}

bool TextWriter::is_at_stop(Sample& sample, const std::string& text) const {
  sample.tail += text;
  size_t longest = 1;
  for (const std::string& stop : options_.stops) {
    if (sample.tail.find(stop) != std::string::npos) return true;
    longest = std::max(longest, stop.size());
  }
  sample.tail.erase(0, sample.tail.size() - std::min(sample.tail.size(), longest - 1));
  return false;
}

std::vector<std::string> TextWriter::step() {
  const std::vector<int64_t> next = generator_.next();
  ++tokens_;
  last_ = static_cast<int32_t>(next.front());
  std::vector<std::string> texts(samples_.size());
  for (size_t i = 0; i < samples_.size(); ++i) {
    Sample& sample = samples_[i];
    if (sample.is_done) continue;
    const auto id = static_cast<int32_t>(next[i]);
    const bool ends = id == coder_.end() && !coder_.ends_lines() && options_.stop_at_end;
    if (!ends) texts[i] = sample.decoder.add(id);
    sample.is_done = ends || is_at_stop(sample, texts[i]);
  }
  return texts;
}

std::vector<std::string> TextWriter::finish() {
  std::vector<std::string> texts;
  for (Sample& sample : samples_) texts.push_back(sample.decoder.finish());
  return texts;
}

Written write_text(TextWriter& writer, const MoreText& more) {
  Written result;
  const auto add = [&](const std::vector<std::string>& texts) {
    result.texts.resize(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      result.texts[i] += texts[i];
      if (!texts[i].empty() && more && !more(i, texts[i])) result.stopped = true;
    }
  };
  while (!writer.is_done() && !result.stopped) add(writer.step());
  add(writer.finish());
  result.tokens = writer.tokens();
  result.last = writer.last();
  return result;
}

}  // namespace primal::inference
