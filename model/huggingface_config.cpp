// SPDX-License-Identifier: Apache-2.0
#include "model/huggingface_config.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::model {

namespace {

// Reads the members of a config.json. One that is missing has the default of transformers' class.
class Members {
public:
    Members(const nlohmann::json& json, const std::string& origin) : json_(json), origin_(origin) {}

    std::int64_t whole(const char* name, std::int64_t missing) const {
        const nlohmann::json* found = find(name);
        if (found == nullptr) return missing;
        if (!found->is_number_integer() ||
            (found->is_number_unsigned() && found->get<std::uint64_t>() > largest) ||
            found->get<std::int64_t>() < 1)
            refuse(name, "a whole number above 0");
        return found->get<std::int64_t>();
    }
    float share(const char* name, double missing) const {
        const nlohmann::json* found = find(name);
        if (found == nullptr) return static_cast<float>(missing);
        const double value = found->is_number() ? found->get<double>() : std::nan("");
        if (!(value >= 0 && value < 1)) refuse(name, "a share from 0 to below 1");
        return static_cast<float>(value);
    }
    // Refuses another value than `only`, which is also the default.
    void require(const char* name, const nlohmann::json& only) const {
        const nlohmann::json* found = find(name);
        if (found != nullptr && *found != only) refuse(name, dump_json(only));
    }
    void require_one_of(const char* name, std::initializer_list<const char*> values) const {
        const nlohmann::json* found = find(name);
        std::string all;
        for (const char* value : values) {
            if (found == nullptr || *found == value) return;
            all += (all.empty() ? "" : " or ") + std::string(value);
        }
        refuse(name, all);
    }
    void require_absent(const char* name) const {
        if (find(name) != nullptr) refuse(name, "absent");
    }

private:
    static constexpr std::uint64_t largest = std::uint64_t{1} << 62;

    const nlohmann::json* find(const char* name) const {
        const auto found = json_.find(name);
        return found == json_.end() || found->is_null() ? nullptr : &*found;
    }
    [[noreturn]] void refuse(const char* name, const std::string& wanted) const {
        throw Error(ErrorKind::config, origin_ + ": \"" + name + "\" is " +
                                           shown(dump_json(json_.at(name))) + ", but gpt2 needs " +
                                           wanted + "; choose another model");
    }

    const nlohmann::json& json_;
    const std::string& origin_;
};

void require_gpt2(const Members& members) {
    members.require_one_of("activation_function", {"gelu_new", "gelu_pytorch_tanh"});
    members.require("layer_norm_epsilon", 1e-5);
    members.require("scale_attn_weights", true);
    members.require("scale_attn_by_inverse_layer_idx", false);
    members.require("add_cross_attention", false);
    members.require("tie_word_embeddings", true);
    members.require_absent("quantization_config");
    members.require_absent("auto_map");
}

}  // namespace

bool is_huggingface_config(const std::string& text) {
    const nlohmann::json json = try_parse_json(text);
    return json.is_object() && json.contains("model_type") && !json.contains("model");
}

ModelConfig config_from_huggingface(const std::string& text, const std::string& origin) {
    const nlohmann::json json = try_parse_json(text);
    if (!json.is_object())
        throw Error(ErrorKind::config, origin + ": not a JSON object; copy the file again");
    const auto type = json.find("model_type");
    if (type == json.end() || *type != "gpt2")
        throw Error(ErrorKind::config,
                    origin + ": \"model_type\" is " +
                        shown(type == json.end() ? "missing" : dump_json(*type)) +
                        ", but only gpt2 is read from transformers' folders");
    const Members members(json, origin);
    require_gpt2(members);
    ModelConfig config = gpt2_config();
    config.vocabulary = members.whole("vocab_size", 50257);
    config.embedding_size = members.whole("n_embd", 768);
    config.ffn_size =
        members.whole("n_inner", 4 * std::min(config.embedding_size, std::int64_t{1} << 40));
    config.heads = members.whole("n_head", 12);
    config.encoder_layers = 0;
    config.decoder_layers = members.whole("n_layer", 12);
    config.n_positions = members.whole("n_positions", 1024);
    config.dropout = members.share("resid_pdrop", 0.1);
    config.attention_dropout = members.share("attn_pdrop", 0.1);
    try {
        validate(config);
    } catch (const Error& error) {
        throw Error(error.kind(), origin + ": " + error.what());
    }
    return config;
}

}  // namespace lockstep::model
