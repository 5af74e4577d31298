// SPDX-License-Identifier: Apache-2.0
#include "launcher/model_folder/huggingface_folder.hpp"

#include "data/storage/foreign_tokenizer.hpp"
#include "data/tokenizers/tokenizer_file.hpp"
#include "model/architectures.hpp"
#include "model/config_json.hpp"
#include "model/huggingface_config.hpp"
#include "model/huggingface_writing.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::launcher {

namespace {

const char* name_in_torch(Dtype type) {
    if (type == Dtype::bf16) return "bfloat16";
    return type == Dtype::fp16 ? "float16" : "float32";
}

}  // namespace

std::string huggingface_config_in(const std::string& folder) {
    const std::string path = folder + "/config.json";
    if (folder.empty() || !is_file(path)) return "";
    std::string text = read_json_text(path, "cannot be read");
    return model::is_huggingface_config(text) ? text : "";
}

bool is_huggingface_folder(const std::string& folder) {
    return !path_exists(folder + "/" + train::own_description_file) &&
           !huggingface_config_in(folder).empty();
}

train::NamesOf names_in_huggingface(const model::ModelConfig& config, const std::string& folder) {
    if (!model::has_huggingface_form(config.kind))
        throw Error(ErrorKind::config, folder + ": is a " + model::name(config.kind) +
                                           ", which transformers has no models of");
    if (config.kind == model::Kind::blenderbot) return train::NamesOf::blenderbot;
    if (model::has_encoder(config)) return train::NamesOf::bart;
    if (config.kind == model::Kind::phi3) return train::NamesOf::phi3;
    return config.kind == model::Kind::gpt2 ? train::NamesOf::gpt2 : train::NamesOf::llama;
}

train::TransformersForm huggingface_form(const model::ModelConfig& config, Dtype type,
                                         const std::string& before,
                                         const data::SpecialTokens& tokens,
                                         std::optional<std::int32_t> reply_begin) {
    const model::HuggingfaceTokens ids{tokens.begin ? tokens.begin : tokens.start, tokens.null,
                                       tokens.ends, tokens.start, reply_begin};
    return {model::config_for_huggingface(config, name_in_torch(type), before, ids),
            names_in_huggingface(config, "the model")};
}

train::TransformersForm folder_form(const model::ModelConfig& config,
                                    const std::string& tokenizer_folder,
                                    const data::SpecialTokens& tokens,
                                    const std::vector<std::string>& folders) {
    const bool described =
        path_exists(tokenizer_folder + "/" + data::format::foreign_tokenizer_file);
    const bool foreign = described || data::holds_huggingface_tokenizer(tokenizer_folder);
    // transformers takes a folder with a config.json of its own for the base of the adapters there.
    if (!foreign || !model::has_huggingface_form(config.kind) || config.lora.rank > 0) return {};
    std::optional<std::int32_t> reply_begin;
    if (described) reply_begin = data::read_tokenizer_file(tokenizer_folder).reply_begin;
    for (const std::string& folder : folders)
        if (const std::string before = huggingface_config_in(folder); !before.empty())
            return huggingface_form(config, Dtype::fp32, before, tokens, reply_begin);
    return huggingface_form(config, Dtype::fp32, "", tokens, reply_begin);
}

}  // namespace lockstep::launcher
