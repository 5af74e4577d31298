// SPDX-License-Identifier: Apache-2.0
#include "model/huggingface_config.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "model/architectures.hpp"
#include "model/huggingface_families.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::model {

namespace {

constexpr std::array families_of_transformers{
    ReadFamily{"gpt2", "GPT2LMHeadModel", Kind::gpt2},
    ReadFamily{"llama", "LlamaForCausalLM", Kind::llama},
    ReadFamily{"mistral", "MistralForCausalLM", Kind::mistral},
    ReadFamily{"qwen2", "Qwen2ForCausalLM", Kind::qwen2},
    ReadFamily{"qwen3", "Qwen3ForCausalLM", Kind::qwen3},
    ReadFamily{"phi3", "Phi3ForCausalLM", Kind::phi3},
    ReadFamily{"bart", "BartForConditionalGeneration", Kind::bart, "BartModel"},
    ReadFamily{"blenderbot", "BlenderbotForConditionalGeneration", Kind::blenderbot,
               "BlenderbotModel"},
    ReadFamily{"blenderbot-small", "BlenderbotSmallForConditionalGeneration",
               Kind::blenderbot_small, "BlenderbotSmallModel"},
};

// Keys of transformers' base class, of generation, and of tokens, which the tokenizer's files tell.
constexpr std::array no_arithmetic{"model_type",
                                   "transformers_version",
                                   "torch_dtype",
                                   "dtype",
                                   "use_cache",
                                   "bos_token_id",
                                   "eos_token_id",
                                   "pad_token_id",
                                   "unk_token_id",
                                   "sep_token_id",
                                   "cls_token_id",
                                   "initializer_range",
                                   "return_dict",
                                   "output_attentions",
                                   "output_hidden_states",
                                   "attn_implementation",
                                   "chunk_size_feed_forward",
                                   "id2label",
                                   "label2id",
                                   "num_labels",
                                   "problem_type",
                                   "task_specific_params",
                                   "finetuning_task",
                                   "tokenizer_class",
                                   "name_or_path",
                                   "prefix",
                                   "do_sample",
                                   "temperature",
                                   "top_k",
                                   "top_p",
                                   "max_length",
                                   "max_new_tokens",
                                   "repetition_penalty",
                                   "num_beams",
                                   "no_repeat_ngram_size",
                                   "encoder_no_repeat_ngram_size",
                                   "min_length",
                                   "length_penalty",
                                   "early_stopping",
                                   "num_beam_groups",
                                   "num_return_sequences",
                                   "diversity_penalty",
                                   "typical_p",
                                   "bad_words_ids",
                                   "forced_bos_token_id",
                                   "forced_eos_token_id",
                                   "decoder_start_token_id",
                                   "model_max_length",
                                   "max_sequence_length",
                                   "gradient_checkpointing",
                                   "is_llama_config",
                                   "transformers.js_config"};

const ReadFamily& family_of(const nlohmann::json& json, const std::string& origin) {
    const auto type = json.find("model_type");
    std::string known;
    for (const ReadFamily& family : read_families()) {
        if (type != json.end() && *type == family.model_type) return family;
        known += (known.empty() ? "" : ", ") + std::string(family.model_type);
    }
    throw Error(ErrorKind::config,
                origin + ": \"model_type\" is " +
                    shown(type == json.end() ? "missing" : dump_json(*type)) +
                    ", but only these are read from transformers' folders: " + known);
}

// GPT-2's other classes hold the same model.
void check_class(ConfigKeys& keys, const ReadFamily& family) {
    const nlohmann::json* const classes = keys.find("architectures");
    if (classes == nullptr || family.kind == Kind::gpt2) return;
    const bool one = classes->is_array() && classes->size() == 1;
    if (!one || (classes->front() != family.architecture && classes->front() != family.base))
        keys.refuse("architectures", family.architecture);
}

// Readers differ in which of the values they take.
void refuse_repeated_keys(const std::string& text, const std::string& origin) {
    using Event = nlohmann::json::parse_event_t;
    std::vector<std::set<std::string>> open;
    const auto look = [&](int, Event event, nlohmann::json& value) {
        if (event == Event::object_start) open.emplace_back();
        if (event == Event::object_end) open.pop_back();
        if (event == Event::key && !open.back().insert(value.get<std::string>()).second)
            throw Error(ErrorKind::config, origin + ": has " + shown(dump_json(value)) +
                                               " twice; remove the one that is wrong");
        return true;
    };
    [[maybe_unused]] const nlohmann::json all = nlohmann::json::parse(text, look, false);
}

ModelConfig read_family(ConfigKeys& keys, Kind kind) {
    if (kind == Kind::gpt2) return read_gpt2(keys);
    return architecture(kind).stacks == Stacks::encoder_and_decoder ? read_bart(keys, kind)
                                                                    : read_llama(keys, kind);
}

}  // namespace

std::span<const ReadFamily> read_families() noexcept { return families_of_transformers; }

const ReadFamily* find_family(Kind kind) noexcept {
    const auto found = std::ranges::find(families_of_transformers, kind, &ReadFamily::kind);
    return found == families_of_transformers.end() ? nullptr : &*found;
}

bool is_huggingface_config(const std::string& text) {
    const nlohmann::json json = try_parse_json(text);
    return json.is_object() && json.contains("model_type") && !json.contains("model");
}

ModelConfig config_from_huggingface(const std::string& text, const std::string& origin) {
    const nlohmann::json json = try_parse_json(text);
    if (!json.is_object())
        throw Error(ErrorKind::config, origin + ": not a JSON object; copy the file again");
    refuse_repeated_keys(text, origin);
    const ReadFamily& family = family_of(json, origin);
    ConfigKeys keys(json, family.model_type, origin);
    check_class(keys, family);
    keys.require("is_encoder_decoder",
                 architecture(family.kind).stacks == Stacks::encoder_and_decoder);
    keys.ignore(no_arithmetic);
    ModelConfig config = read_family(keys, family.kind);
    keys.require_all_read();
    try {
        validate(config);
    } catch (const Error& error) {
        throw Error(error.kind(), origin + ": " + error.what());
    }
    return config;
}

}  // namespace lockstep::model
