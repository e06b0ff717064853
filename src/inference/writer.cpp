#include "inference/writer.h"

#include <algorithm>
#include <utility>

#include "primal/error.h"

namespace primal::inference {

std::vector<int64_t> never_written(const data::TextCoder& coder, const models::LanguageModelImpl& model) {
  std::vector<int64_t> ids;
  for (int64_t id = 0; id < model.options().vocabulary; ++id) {
    if (id >= coder.size() || !coder.is_written(static_cast<int32_t>(id))) ids.push_back(id);
  }
  return ids;
}

TextWriter::TextWriter(models::Generator& generator, const data::TextCoder& coder,
                       const std::vector<SamplePlace>& places, WritingOptions options)
    : generator_(generator), coder_(coder), options_(std::move(options)) {
  if (std::ranges::count(options_.stops, "") > 0) throw Error("generate: expected texts to stop at, got an empty one");
  // Samples that have all ended go on: they were asked to.
  const bool all_ended = std::ranges::all_of(places, &SamplePlace::has_ended);
  for (const SamplePlace& place : places) {
    samples_.push_back({.decoder = data::TextDecoder(coder, place.last, place.held),
                        .last = place.last,
                        .has_ended = place.has_ended && !all_ended});
  }
}

bool TextWriter::is_done() const {
  return tokens_ >= options_.tokens || !generator_.can_go_on() || std::ranges::all_of(samples_, &Sample::has_ended);
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
  std::vector<std::string> texts(samples_.size());
  for (size_t i = 0; i < samples_.size(); ++i) {
    Sample& sample = samples_[i];
    if (sample.has_ended) continue;
    sample.last = static_cast<int32_t>(next[i]);
    const bool ends = sample.last == coder_.end() && !coder_.ends_lines() && options_.stop_at_end;
    if (!ends) texts[i] = sample.decoder.add(sample.last);
    sample.has_ended = ends || is_at_stop(sample, texts[i]);
  }
  return texts;
}

std::vector<std::string> TextWriter::finish() {
  std::vector<std::string> texts;
  for (Sample& sample : samples_) texts.push_back(sample.decoder.finish());
  return texts;
}

std::vector<SamplePlace> TextWriter::places() const {
  std::vector<SamplePlace> places;
  for (const Sample& sample : samples_) places.push_back({sample.last, sample.decoder.held(), sample.has_ended});
  return places;
}

Written write_text(TextWriter& writer, const MoreText& more, bool goes_on) {
  Written result;
  bool is_stopped = false;
  const auto add = [&](const std::vector<std::string>& texts) {
    result.texts.resize(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      result.texts[i] += texts[i];
      if (!texts[i].empty() && more && !more(i, texts[i])) is_stopped = true;
    }
  };
  add(std::vector<std::string>(writer.places().size()));
  while (!writer.is_done() && !is_stopped) add(writer.step());
  if (!goes_on) add(writer.finish());
  result.tokens = writer.tokens();
  return result;
}

}  // namespace primal::inference
