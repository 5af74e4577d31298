// SPDX-License-Identifier: Apache-2.0
#include "model/config_json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "model/architectures.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/ordered_json.hpp"

namespace lockstep::model {

namespace {

using Json = nlohmann::ordered_json;

template <class Enum, std::size_t N>
using Names = std::array<std::pair<Enum, const char*>, N>;

constexpr Names<Variant, 4> variants{{{Variant::aiayn, "aiayn"},
                                      {Variant::prelayernorm, "prelayernorm"},
                                      {Variant::xlm, "xlm"},
                                      {Variant::bart, "bart"}}};
constexpr Names<kernels::Activation, 4> activations{
    {{kernels::Activation::relu, "relu"},
     {kernels::Activation::silu, "silu"},
     {kernels::Activation::gelu_erf, "gelu"},
     {kernels::Activation::gelu_tanh, "gelu_tanh"}}};
constexpr Names<Positions, 3> positions{{{Positions::sinusoidal, "sinusoidal"},
                                         {Positions::learned, "learned"},
                                         {Positions::rotary, "rotary"}}};
constexpr Names<kernels::NormKind, 2> norms{
    {{kernels::NormKind::layer, "layer"}, {kernels::NormKind::rms, "rms"}}};
constexpr Names<Has, 2> answers{{{Has::no, "no"}, {Has::yes, "yes"}}};
constexpr Names<RotaryScaling, 4> scalings{{{RotaryScaling::none, "none"},
                                            {RotaryScaling::linear, "linear"},
                                            {RotaryScaling::llama3, "llama3"},
                                            {RotaryScaling::yarn, "yarn"}}};
constexpr Names<EmbeddingScale, 2> scales{
    {{EmbeddingScale::none, "none"}, {EmbeddingScale::sqrt_dim, "sqrt_dim"}}};

std::vector<std::pair<Kind, const char*>> kinds() {
    std::vector<std::pair<Kind, const char*>> names;
    for (const Architecture& family : architectures()) names.emplace_back(family.kind, family.name);
    return names;
}

template <class Parts, class Visitor>
void visit_parts(Parts& p, Visitor&& v) {
    v.choice("norm", p.norm, norms);
    v.number("norm_epsilon", p.norm_epsilon);
    v.number("n_kv_heads", p.kv_heads);
    v.number("head_size", p.head_dim);
    v.choice("head_norms", p.head_norms, answers);
    v.choice("gate", p.gate, answers);
    v.choice("qkv_bias", p.qkv_bias, answers);
    v.choice("out_bias", p.out_bias, answers);
    v.choice("ffn_bias", p.ffn_bias, answers);
    v.choice("own_head", p.own_head, answers);
    v.number("window", p.window);
    auto& r = p.rotary;
    v.number("rope_theta", r.theta);
    v.choice("rope_scaling", r.scaling, scalings);
    v.number("rope_factor", r.factor);
    v.number("rope_original_positions", r.original_positions);
    v.number("rope_low_frequency_factor", r.low_frequency_factor);
    v.number("rope_high_frequency_factor", r.high_frequency_factor);
    v.number("rope_beta_fast", r.beta_fast);
    v.number("rope_beta_slow", r.beta_slow);
    v.choice("rope_whole_bounds", r.whole_bounds, answers);
    v.number("rope_attention_factor", r.attention_factor);
}

// Visits each member of the config with its name in the JSON object; the visitor reads or writes.
template <class Config, class Visitor>
void visit(Config& c, Visitor&& v) {
    v.choice("model", c.kind, kinds());
    v.choice("variant", c.variant, variants);
    v.choice("activation", c.activation, activations);
    v.choice("positions", c.positions, positions);
    v.choice("embeddings_scale", c.embedding_scale, scales);
    v.number("vocabulary_size", c.vocabulary);
    v.number("embedding_size", c.embedding_size);
    v.number("ffn_size", c.ffn_size);
    v.number("n_heads", c.heads);
    v.number("n_encoder_layers", c.encoder_layers);
    v.number("n_decoder_layers", c.decoder_layers);
    v.number("n_positions", c.n_positions);
    v.number("dropout", c.dropout);
    v.number("attention_dropout", c.attention_dropout);
    v.number("relu_dropout", c.relu_dropout);
    v.number("label_smoothing", c.label_smoothing);
    v.optional_number("z_loss", c.z_loss);
    v.optional_number("excluded_token", c.excluded_token);
    if (architecture(c.kind).parts) visit_parts(c.parts, v);
}

// The member "lora" of config.json, which models without adapters do not have.
template <class Adapters, class Visitor>
void visit_lora(Adapters& a, Visitor&& v) {
    v.number("r", a.rank);
    v.number("alpha", a.alpha);
    v.choice("rank_stabilized", a.rank_stabilized, answers);
    v.optional_choice("ensure_weight_tying", a.ensure_tied, answers);
    v.optional_number("dropout", a.dropout);
    v.numbers("rank_pattern", a.ranks);
    v.numbers("alpha_pattern", a.alphas);
    v.text("base", a.base);
    v.text("base_hash", a.base_hash);
}

struct Writer {
    Json& json;

    void text(const char* member, const std::string& value) { json[member] = value; }

    template <class Enum, class Choices>
    void choice(const char* member, Enum value, const Choices& names) {
        for (const auto& [known, name] : names) {
            if (known == value) json[member] = name;
        }
    }
    // The first value is that of a missing member.
    template <class Enum, class Choices>
    void optional_choice(const char* member, Enum value, const Choices& names) {
        if (value != Enum()) choice(member, value, names);
    }
    void number(const char* member, std::int64_t value) { json[member] = value; }
    // Members of an object, in their order.
    template <class Value>
    void numbers(const char* member, const std::vector<std::pair<std::string, Value>>& values) {
        for (const auto& [name, value] : values) Writer{json[member]}.number(name.c_str(), value);
    }
    void optional_number(const char* member, std::int64_t value) {
        if (value >= 0) number(member, value);
    }
    // Writes the shortest digits that give the same float, not the digits of the float as a double.
    void optional_number(const char* member, float value) {
        if (value > 0) number(member, value);
    }
    void number(const char* member, float value) {
        std::array<char, 32> digits;
        const auto end = std::to_chars(digits.begin(), digits.end(), value).ptr;
        json[member] = Json::parse(digits.begin(), end);
    }
};

class Reader {
public:
    Reader(const Json& json, const std::string& origin) : json_(json), origin_(origin) {}

    template <class Enum, class Choices>
    void choice(const char* member, Enum& value, const Choices& names) const {
        const Json& found = at(member);
        std::string choices;
        for (const auto& [known, name] : names) {
            if (found == name) {
                value = known;
                return;
            }
            choices += (choices.empty() ? "" : ", ") + std::string(name);
        }
        refuse(member, "is not one of " + choices);
    }
    template <class Enum, class Choices>
    void optional_choice(const char* member, Enum& value, const Choices& names) const {
        if (json_.contains(member)) choice(member, value, names);
    }
    void number(const char* member, std::int64_t& value) const {
        const Json& found = at(member);
        if (!found.is_number_integer()) refuse(member, "is not a whole number");
        constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
        if (found.is_number_unsigned() && found.get<std::uint64_t>() > largest)
            refuse(member, "is too large");
        value = found.get<std::int64_t>();
    }
    void optional_number(const char* member, float& value) const {
        if (json_.contains(member)) number(member, value);
    }
    template <class Value>
    void numbers(const char* member, std::vector<std::pair<std::string, Value>>& values) const {
        if (!json_.contains(member)) return;
        const Json& found = json_[member];
        if (!found.is_object()) refuse(member, "is not an object");
        for (const auto& [name, each] : found.items())
            Reader(found, origin_).number(name.c_str(), values.emplace_back(name, 0).second);
    }
    void text(const char* member, std::string& value) const {
        const Json& found = at(member);
        if (!found.is_string()) refuse(member, "is not a text");
        value = found.get<std::string>();
    }
    void optional_number(const char* member, std::int64_t& value) const {
        if (json_.contains(member)) number(member, value);
    }
    void number(const char* member, float& value) const {
        const Json& found = at(member);
        if (!found.is_number()) refuse(member, "is not a number");
        const double read = found.get<double>();
        if (!(std::abs(read) <= std::numeric_limits<float>::max())) refuse(member, "is too large");
        value = static_cast<float>(read);
    }

private:
    const Json& at(const char* member) const {
        if (!json_.contains(member)) refuse(member, "is missing");
        return json_[member];
    }
    [[noreturn]] void refuse(const char* member, const std::string& what) const {
        throw Error(ErrorKind::config, origin_ + ": \"" + member + "\" " + what +
                                           ": this is not the config.json of a Lockstep model");
    }

    const Json& json_;
    const std::string& origin_;
};

Lora lora_of(const Json& json, const std::string& origin) {
    Lora lora;
    const auto read_list = [&](const char* member, std::vector<std::string>& paths) {
        const bool is_list = json.is_object() && json.contains(member) && json[member].is_array();
        const auto is_text = [](const Json& path) { return path.is_string(); };
        if (!is_list || !std::ranges::all_of(json[member], is_text))
            throw Error(ErrorKind::config, origin + ": \"lora\" has no list of \"" + member +
                                               "\": this is not the config.json of a Lockstep "
                                               "model");
        for (const Json& path : json[member]) paths.push_back(path.get<std::string>());
    };
    read_list("modules", lora.modules);
    visit_lora(lora, Reader(json, origin));
    if (json.contains("modules_to_save")) read_list("modules_to_save", lora.saved);
    return lora;
}

}  // namespace

const char* name(Kind kind) noexcept { return architecture(kind).name; }

std::string to_json(const ModelConfig& config) {
    Json json;
    Writer writer{json};
    visit(config, writer);
    if (config.lora.rank > 0) {
        Json& lora = json["lora"];
        visit_lora(config.lora, Writer{lora});
        lora["modules"] = config.lora.modules;
        if (!config.lora.saved.empty()) lora["modules_to_save"] = config.lora.saved;
    }
    return dump_json(json, 2) + "\n";
}

ModelConfig config_from_json(const std::string& text, const std::string& origin) {
    const Json json = try_parse_ordered_json(text);
    if (!json.is_object()) {
        throw Error(
            ErrorKind::config,
            origin + ": not a JSON object: this is not the config.json of a Lockstep model");
    }
    ModelConfig config;
    visit(config, Reader(json, origin));
    if (json.contains("lora")) config.lora = lora_of(json["lora"], origin);
    try {
        validate(config);
    } catch (const Error& error) {
        throw Error(error.kind(), origin + ": " + error.what());
    }
    return config;
}

}  // namespace lockstep::model
