#include "data/text/language_sets.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/nearest.h"
#include "base/text.h"

namespace primal::data {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPythonSource = "python-source";
constexpr const char* kEnwik8 = "enwik8";

const std::array<LanguageSet, 4> kLanguageSets = {{
    {"wikitext-2", "600 articles of Wikipedia as words, 2 million of them",
     "put wiki.{train,valid,test}.tokens of WikiText-2 into data/wikitext-2"},
    {"wikitext-103", "28,500 articles of Wikipedia as words, 103 million of them",
     "put wiki.{train,valid,test}.tokens of WikiText-103 into data/wikitext-103"},
    {kEnwik8, "the first 100 MB of a dump of Wikipedia, as bytes", "primal data make language/enwik8 fetches it"},
    {kPythonSource, "some hundred files of Python that the installed torch package carries, 7 MB",
     "install torch in the program's virtual environment"},
}};

/// Below a folder of the search path.
std::vector<std::string> places_of(std::string_view set) {
  const std::string name(set);
  if (set == kEnwik8) return {"enwik8/enwik8", "language/enwik8/enwik8", "enwik8"};
  if (set == kPythonSource) return {"torch/nn/__init__.py"};
  return {name + "/wiki.train.tokens", "language/" + name + "/wiki.train.tokens"};
}

/// The folders themselves, and for Python source also the packages that a folder of the search path is among: those
/// that the sets of an installed package are beside.
std::vector<fs::path> folders_for(std::string_view set, const SearchPath& search) {
  std::vector<fs::path> folders = search.directories;
  if (set != kPythonSource) return folders;
  for (const fs::path& directory : search.directories) {
    for (fs::path above = directory; above.has_relative_path(); above = above.parent_path()) {
      if (above.filename() == "site-packages") folders.push_back(above);
    }
  }
  return folders;
}

/// The file that the set is known by.
std::optional<fs::path> find_place(std::string_view set, const SearchPath& search) {
  std::error_code ignored;
  for (const fs::path& folder : folders_for(set, search)) {
    for (const std::string& place : places_of(set)) {
      if (fs::is_regular_file(folder / place, ignored)) return folder / place;
    }
  }
  return std::nullopt;
}

const LanguageSet& language_set(const std::string& name) {
  std::vector<std::string> names;
  for (const LanguageSet& set : kLanguageSets) {
    if (set.name == name) return set;
    names.push_back(set.name);
  }
  const auto meant = base::nearest(name, names);
  base::fail("data.set", "expected one of ", base::joined(names, ", "), ", got ", base::in_quotes(name),
             meant ? "; did you mean " + *meant + "?" : "");
}

fs::path locate_place(const LanguageSet& set, const SearchPath& search) {
  if (const auto found = find_place(set.name, search)) return *found;
  std::vector<std::string> wanted, where;
  for (const std::string& place : places_of(set.name)) wanted.push_back("DIR/" + place);
  for (const fs::path& folder : folders_for(set.name, search)) {
    std::error_code ignored;
    where.push_back(folder.string() + (fs::is_directory(folder, ignored) ? "" : " (not there)"));
  }
  base::fail("data of language/" + set.name, "expected ", base::joined(wanted, " or "),
             ", got none for DIR = ", where.empty() ? "(no directory)" : base::joined(where, ", "), "; ", set.advice,
             ", or set PRIMAL_DATA to the directory that has it");
}

LanguageParts wikitext_parts(const std::string& set, const fs::path& train) {
  const fs::path folder = train.parent_path();
  LanguageParts parts{.name = set,
                      .train = {{.file = train}},
                      .validation = {{.file = folder / "wiki.valid.tokens"}},
                      .test = {{.file = folder / "wiki.test.tokens"}},
                      .documents = Documents::articles};
  for (const auto* part : {&parts.validation, &parts.test}) {
    const fs::path& file = part->front().file;
    if (!fs::exists(file)) base::fail(file.string(), "expected it beside ", train.filename().string(), ", got none");
  }
  return parts;
}

/// `size` without the beginning of a character at the end.
uint64_t whole_characters(std::string_view text, uint64_t size) {
  return size - base::unfinished_utf8(text.substr(0, size));
}

LanguageParts enwik8_parts(const fs::path& file, uint64_t bytes) {
  constexpr uint64_t kFewest = 1000;  // the two small parts are 50 bytes then
  const TextSource source({.file = file});
  const uint64_t size = source.text().size();
  if (bytes == 0) bytes = size;
  if (bytes < kFewest) base::fail(file.string(), "expected at least ", kFewest, " bytes to divide, got ", bytes);
  if (bytes > size) base::fail(file.string(), "expected at least the ", bytes, " bytes of data.bytes, got ", size);
  const auto cut = [&](uint64_t percent) {
    return whole_characters(source.text(), bytes / 100 * percent + bytes % 100 * percent / 100);
  };
  return {.name = kEnwik8,
          .train = {{file, 0, cut(90)}},
          .validation = {{file, cut(90), cut(95)}},
          .test = {{file, cut(95), cut(100)}}};
}

/// Every .py file with text below some folders of the package, sorted by its path in it.
std::vector<fs::path> python_files(const fs::path& torch) {
  std::vector<std::string> names;
  for (const char* folder : {"autograd", "distributions", "fx", "nn", "optim", "utils"}) {
    std::error_code unreadable;
    for (fs::recursive_directory_iterator at(torch / folder, unreadable), end; !unreadable && at != end;
         at.increment(unreadable)) {
      std::error_code ignored;
      const bool is_source = at->path().extension() == ".py" && at->is_regular_file(ignored);
      if (is_source && at->file_size(ignored) > 0)
        names.push_back(at->path().lexically_relative(torch).generic_string());
    }
  }
  std::ranges::sort(names);
  return {names.begin(), names.end()};
}

LanguageParts python_parts(const fs::path& torch) {
  constexpr std::size_t kRound = 20, kTestAt = 10;  // 5 % each, from all folders
  LanguageParts parts{.name = kPythonSource, .train = {}, .validation = {}, .test = {}};
  const std::vector<fs::path> files = python_files(torch);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::size_t at = i % kRound;
    (at == 0 ? parts.validation : at == kTestAt ? parts.test : parts.train).push_back({.file = torch / files[i]});
  }
  if (parts.test.empty()) {
    base::fail(torch.string(), "expected at least ", kTestAt + 1, " files of Python source, got ", files.size());
  }
  return parts;
}

/// Where the end of a text that is to be held out begins: after the last line end before `limit`, if that is not far
/// away, else with a character.
uint64_t held_out_start(std::string_view text, uint64_t limit) {
  const std::size_t line_end = text.substr(0, limit).rfind('\n');
  const uint64_t after_line = line_end == text.npos ? 0 : line_end + 1;
  return after_line > limit / 2 ? after_line : whole_characters(text, limit);
}

/// The name of a file, also one that is given as "..".
std::string name_of(const fs::path& file) {
  const std::string name = fs::absolute(file).lexically_normal().filename().string();
  return name.empty() ? "text" : name;
}

}  // namespace

std::span<const LanguageSet> language_sets() { return kLanguageSets; }

std::optional<fs::path> find_language_set(std::string_view set, const SearchPath& search) {
  const auto place = find_place(set, search);
  if (!place || set == kEnwik8) return place;
  return set == kPythonSource ? place->parent_path().parent_path() : place->parent_path();
}

LanguageParts language_parts(const std::string& set, const SearchPath& search, uint64_t bytes) {
  const fs::path place = locate_place(language_set(set), search);
  if (set == kEnwik8) return enwik8_parts(place, bytes);
  if (bytes > 0) base::fail("data.bytes", "expected 0 with data.set = ", set, ", which is taken whole, got ", bytes);
  if (set == kPythonSource) return python_parts(place.parent_path().parent_path());
  return wikitext_parts(set, place);
}

LanguageParts own_text(const fs::path& train, const fs::path& validation, const fs::path& test) {
  constexpr uint64_t kFewest = 20;  // of which 5 % are a byte
  const TextSource source({.file = train});
  const std::string_view text = source.text();
  LanguageParts parts{.name = name_of(train), .train = {}, .validation = {}, .test = {}};
  if (text.size() < kFewest && (validation.empty() || test.empty())) {
    base::fail(train.string(), "expected at least ", kFewest, " bytes, of which 5 % are held out for each of ",
               "data.validation and data.test that is not given, got ", text.size());
  }
  uint64_t end = text.size();
  const auto part = [&](const fs::path& file, uint64_t twentieths) -> std::vector<TextPiece> {
    if (!file.empty()) {
      const TextSource is_there({.file = file});
      return {{.file = file}};
    }
    const uint64_t limit = text.size() - text.size() * twentieths / 20;
    const uint64_t start = held_out_start(text, std::min(limit, end - 1));
    if (start == 0) base::fail(train.string(), "is too short to hold a part of it out; got ", text.size(), " bytes");
    return {{train, start, std::exchange(end, start)}};
  };
  parts.test = part(test, 1);
  parts.validation = part(validation, test.empty() ? 2 : 1);
  parts.train = {{train, 0, end == text.size() ? TextPiece::kWhole : end}};
  return parts;
}

}  // namespace primal::data
