// SPDX-License-Identifier: Apache-2.0
#include "model/huggingface_writing.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/architectures.hpp"
#include "model/huggingface_config.hpp"
#include "model/huggingface_families.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/ordered_json.hpp"

namespace lockstep::model {

namespace {

void write_family(nlohmann::ordered_json& json, const ModelConfig& config,
                  const ModelConfig* before) {
    if (config.kind == Kind::gpt2)
        write_gpt2(json, config, before);
    else if (has_encoder(config))
        write_bart(json, config, before);
    else
        write_llama(json, config, before);
}

void write_tokens(nlohmann::ordered_json& json, const HuggingfaceTokens& tokens) {
    const auto id = [](const std::optional<std::int32_t>& token) {
        return token ? nlohmann::ordered_json(*token) : nlohmann::ordered_json();
    };
    json["bos_token_id"] = id(tokens.begin);
    json["pad_token_id"] = id(tokens.pad);
    if (tokens.ends.size() == 1)
        json["eos_token_id"] = tokens.ends.front();
    else
        json["eos_token_id"] = tokens.ends;
}

// transformers shifts labels by the first of them, and needs a token that fills them up.
void write_decoder_tokens(nlohmann::ordered_json& json, const HuggingfaceTokens& tokens) {
    if (!tokens.pad) json["pad_token_id"] = tokens.ends.front();
    json["decoder_start_token_id"] = tokens.start.value_or(tokens.ends.front());
    json["forced_eos_token_id"] = tokens.ends.front();
    if (tokens.first) json["forced_bos_token_id"] = *tokens.first;
}

std::string new_config(const ModelConfig& config, const std::string& dtype,
                       const HuggingfaceTokens& tokens) {
    const ReadFamily& family = *find_family(config.kind);
    nlohmann::ordered_json json;
    json["architectures"] = nlohmann::ordered_json::array({family.architecture});
    json["model_type"] = family.model_type;
    write_family(json, config, nullptr);
    write_tokens(json, tokens);
    if (has_encoder(config)) write_decoder_tokens(json, tokens);
    json["dtype"] = dtype;
    json["torch_dtype"] = dtype;
    return dump_json(json, 2) + "\n";
}

}  // namespace

bool has_huggingface_form(Kind kind) noexcept { return find_family(kind) != nullptr; }

std::string config_for_huggingface(const ModelConfig& config, const std::string& dtype,
                                   const std::string& before, const HuggingfaceTokens& tokens) {
    require(has_huggingface_form(config.kind), "transformers has models of the kind");
    if (before.empty()) return new_config(config, dtype, tokens);
    const ModelConfig described = config_from_huggingface(before, "config.json");
    nlohmann::ordered_json json = try_parse_ordered_json(before);
    write_family(json, config, &described);
    const ReadFamily& family = *find_family(config.kind);
    const auto only = [](const char* name) { return nlohmann::ordered_json::array({name}); };
    if (json.contains("architectures") && json["architectures"] == only(family.base))
        json["architectures"] = only(family.architecture);
    for (const char* key : {"dtype", "torch_dtype"})
        if (json.contains(key)) json[key] = dtype;
    return dump_json(json, 2) + "\n";
}

}  // namespace lockstep::model
