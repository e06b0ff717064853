#include "models/language_options_json.h"

#include <concepts>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>

#include "base/names.h"

namespace primal::models {

namespace {

using Json = nlohmann::json;

constexpr auto names_of(Positions /*of*/) {
  return base::Names<Positions, 3>{
      {{"sinusoidal", Positions::sinusoidal}, {"learnt", Positions::learnt}, {"none", Positions::none}}};
}
constexpr auto names_of(AttentionInit /*of*/) {
  return base::Names<AttentionInit, 2>{{{"default", AttentionInit::as_layers}, {"xavier", AttentionInit::xavier}}};
}
constexpr auto names_of(Activation /*of*/) {
  return base::Names<Activation, 2>{{{"gelu", Activation::gelu}, {"relu", Activation::relu}}};
}
constexpr auto names_of(LayerMemory /*of*/) {
  return base::Names<LayerMemory, 2>{{{"none", LayerMemory::none}, {"decay", LayerMemory::decay}}};
}
constexpr auto names_of(Padding /*of*/) {
  return base::Names<Padding, 2>{{{"respect", Padding::respect}, {"ignore", Padding::ignore}}};
}
constexpr auto names_of(nn::Masking /*of*/) {
  return base::Names<nn::Masking, 2>{{{"right", nn::Masking::right}, {"published", nn::Masking::published}}};
}
constexpr auto names_of(nn::NystromStart /*of*/) {
  return base::Names<nn::NystromStart, 2>{
      {{"per_matrix", nn::NystromStart::per_matrix}, {"original", nn::NystromStart::original}}};
}
constexpr auto names_of(Trace /*of*/) {
  return base::Names<Trace, 2>{{{"raw", Trace::raw}, {"data_dependent", Trace::data_dependent}}};
}
constexpr auto names_of(LambdaForm /*of*/) {
  return base::Names<LambdaForm, 3>{
      {{"squared", LambdaForm::squared}, {"softplus", LambdaForm::softplus}, {"exp", LambdaForm::exp}}};
}
constexpr auto names_of(Init /*of*/) {
  return base::Names<Init, 2>{{{"reference", Init::reference}, {"per_head", Init::per_head_orthonormal}}};
}
constexpr auto names_of(Projections /*of*/) {
  return base::Names<Projections, 3>{
      {{"both", Projections::both}, {"right", Projections::right}, {"left", Projections::left}}};
}
constexpr auto names_of(Sampling /*of*/) {
  return base::Names<Sampling, 3>{
      {{"exact", Sampling::exact}, {"linspace", Sampling::linspace}, {"legacy", Sampling::legacy}}};
}
constexpr auto names_of(Memory /*of*/) {
  return base::Names<Memory, 2>{{{"mean", Memory::mean}, {"decay", Memory::decay}}};
}

// The options of each struct, once for the way there and the way back.
template <typename Given, typename Plain>
concept OptionsOf = std::same_as<std::remove_const_t<Given>, Plain>;

void each_option(auto& visit, OptionsOf<nn::PrimalKindOptions> auto& o) {
  visit("rank", o.rank);
  visit("rows", o.rows);
  visit("feature_map", o.feature_map);
  visit("data_dependent", o.data_dependent);
  visit("trace", o.trace);
  visit("lambda", o.lambda);
  visit("init", o.init);
  visit("projections", o.projections);
  visit("sampling", o.sampling);
  visit("memory", o.memory);
  visit("memory_tokens", o.memory_tokens);
}
void each_option(auto& visit, OptionsOf<nn::LinearKindOptions> auto& o) { visit("normalised", o.normalised); }
void each_option(auto& visit, OptionsOf<nn::LinformerKindOptions> auto& o) { visit("rows", o.rows); }
void each_option(auto& visit, OptionsOf<nn::PerformerKindOptions> auto& o) {
  visit("features", o.features);
  visit("redraw", o.redraw);
  visit("epsilon", o.epsilon);
  visit("seed", o.seed);
}
void each_option(auto& visit, OptionsOf<nn::NystromKindOptions> auto& o) {
  visit("landmarks", o.landmarks);
  visit("iterations", o.iterations);
  visit("kernel", o.kernel);
  visit("start", o.start);
}
void each_option(auto& visit, OptionsOf<nn::FlowKindOptions> auto& o) { visit("clamp", o.clamp); }
void each_option(auto& visit, OptionsOf<nn::WindowKindOptions> auto& o) { visit("tokens", o.tokens); }
void each_option(auto& visit, OptionsOf<nn::ReformerKindOptions> auto& o) {
  visit("hashes", o.hashes);
  visit("chunk", o.chunk);
  visit("seed", o.seed);
}
void each_option(auto& visit, OptionsOf<nn::AttentionOptions> auto& o) {
  visit("kind", o.kind);
  visit("width", o.width);
  visit("heads", o.heads);
  visit("dropout", o.dropout);
  visit("causal", o.causal);
  visit("bias", o.bias);
  visit("padding", o.padding);
  visit("masking", o.masking);
  visit("tokens", o.tokens);
  visit("primal", o.primal);
  visit("linear", o.linear);
  visit("linformer", o.linformer);
  visit("performer", o.performer);
  visit("nystrom", o.nystrom);
  visit("flow", o.flow);
  visit("window", o.window);
  visit("reformer", o.reformer);
}
void each_option(auto& visit, OptionsOf<nn::EncoderLayerOptions> auto& o) {
  visit("attention", o.attention);
  visit("feed_forward", o.feed_forward);
  visit("dropout", o.dropout);
  visit("norm_first", o.norm_first);
  visit("activation", o.activation);
  visit("recompute", o.recompute);
  visit("fused", o.fused);
  visit("memory", o.memory);
  visit("memory_scales", o.memory_scales);
  visit("memory_tokens", o.memory_tokens);
  visit("kernel", o.kernel);
  visit("masked", o.masked);
}
void each_option(auto& visit, OptionsOf<AdaptiveOptions> auto& o) {
  visit("cutoffs", o.cutoffs);
  visit("factor", o.factor);
}
void each_option(auto& visit, OptionsOf<LanguageModelOptions> auto& o) {
  visit("vocabulary", o.vocabulary);
  visit("tokens", o.tokens);
  visit("padding", o.padding);
  visit("positions", o.positions);
  visit("dropout", o.dropout);
  visit("attention_init", o.attention_init);
  visit("adaptive", o.adaptive);
  visit("layers", o.layers);
}

struct OptionWriter {
  Json json = Json::object();

  template <typename Value>
  void operator()(const char* name, const Value& value) {
    json[name] = written(value);
  }

  template <typename Value>
  static Json written(const std::optional<Value>& value) {
    return value ? written(*value) : Json(nullptr);
  }
  template <typename Value>
  static Json written(const std::vector<Value>& values) {
    Json all = Json::array();
    for (const Value& value : values) all.push_back(written(value));
    return all;
  }
  template <typename Value>
  static Json written(const Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      return base::name_in(names_of(value), value);
    } else if constexpr (std::is_arithmetic_v<Value> || std::same_as<Value, std::string>) {
      return value;
    } else {
      OptionWriter inner;
      each_option(inner, value);
      return std::move(inner.json);
    }
  }
};

struct OptionReader {
  const Json& json;
  std::string where;
  std::set<std::string> known{};

  template <typename Value>
  void operator()(const char* name, Value& value) {
    known.insert(name);
    if (const auto found = json.find(name); found != json.end()) read(*found, name, value);
  }

  [[noreturn]] void fail(const std::string& name, const std::string& what) const {
    throw Error(where + ": field \"" + name + "\": " + what);
  }
  void expect(bool is_so, const std::string& name, const char* expected, const Json& value) const {
    if (!is_so) fail(name, std::string("expected ") + expected + ", got a value of kind " + value.type_name());
  }

  template <typename Value>
  void read(const Json& given, const std::string& name, std::optional<Value>& value) {
    if (given.is_null()) return value.reset();
    read(given, name, value.emplace());
  }
  template <typename Value>
  void read(const Json& given, const std::string& name, std::vector<Value>& values) {
    expect(given.is_array(), name, "an array", given);
    values.clear();
    for (const Json& item : given) {
      const std::string place = name + "[" + std::to_string(values.size()) + "]";
      read(item, place, values.emplace_back());
    }
  }
  template <typename Value>
  void read(const Json& given, const std::string& name, Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      expect(given.is_string(), name, "a name", given);
      value = base::named(names_of(value), where + ": " + name, given.template get<std::string>());
    } else if constexpr (std::same_as<Value, std::string>) {
      expect(given.is_string(), name, "a string", given);
      value = given.template get<std::string>();
    } else if constexpr (std::same_as<Value, bool>) {
      expect(given.is_boolean(), name, "true or false", given);
      value = given.template get<bool>();
    } else if constexpr (std::integral<Value>) {
      expect(given.is_number_integer() && (std::is_signed_v<Value> || given >= 0), name, "a whole number", given);
      value = given.template get<Value>();
    } else if constexpr (std::floating_point<Value>) {
      expect(given.is_number(), name, "a number", given);
      value = given.template get<Value>();
    } else {
      read_object(given, where + ": " + name, value);
    }
  }

  template <typename Options>
  static void read_object(const Json& given, const std::string& where, Options& options) {
    if (!given.is_object()) throw Error(where + ": expected an object, got a value of kind " + given.type_name());
    OptionReader inner{.json = given, .where = where};
    each_option(inner, options);
    for (const auto& [name, value] : given.items()) {
      if (!inner.known.contains(name)) inner.fail(name, "is not known: was the run made by a newer version?");
    }
  }
};

}  // namespace

Json to_json(const LanguageModelOptions& options) { return OptionWriter::written(options); }

LanguageModelOptions language_options_from_json(const Json& object, const std::string& where) {
  LanguageModelOptions options;
  OptionReader::read_object(object, where, options);
  return options;
}

}  // namespace primal::models
