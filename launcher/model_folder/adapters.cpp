// SPDX-License-Identifier: Apache-2.0
#include "launcher/model_folder/adapters.hpp"

#include <filesystem>
#include <sstream>
#include <vector>

#include "launcher/model_folder/huggingface_folder.hpp"
#include "model/lora_modules.hpp"
#include "model/peft_config.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/manifest.hpp"
#include "runtime/train/checkpoint/weight_index.hpp"

namespace lockstep::launcher {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse_lora(const std::string& what) { throw Error(ErrorKind::config, what); }

std::string canonical_folder(const std::string& path) {
    std::error_code unknown;
    const fs::path whole = fs::canonical(path, unknown);
    return unknown ? fs::absolute(path).lexically_normal().string() : whole.string();
}

// A model of transformers, which a run may have written, without adapters.
bool may_be_base(const std::string& folder) {
    if (is_adapter_folder(folder) || huggingface_config_in(folder).empty()) return false;
    return is_huggingface_folder(folder) || open_model_folder(folder).config.lora.rank == 0;
}

// Paths in adapter_config.json are seen from the folder, or from where the program was called.
std::string base_of(const std::string& folder, const std::string& config, const std::string& text) {
    const std::string named = model::peft_base(text, config);
    for (const std::string& path : {(fs::path(folder) / named).string(), named})
        if (may_be_base(path)) return canonical_folder(path);
    refuse_lora(config + ": \"base_model_name_or_path\" is " + shown(named) +
                ", and no folder of a model of transformers has this path; write there the path "
                "of the folder that the adapters were trained on");
}

std::vector<std::string> words_of(const std::string& list) {
    std::vector<std::string> words;
    std::istringstream in(list);
    for (std::string word; std::getline(in, word, ',');) words.push_back(word);
    return words;
}

model::Lora chosen(const model::ModelConfig& base, const LoraChoice& choice) {
    model::Lora lora;
    lora.rank = choice.rank;
    lora.alpha =
        static_cast<float>(choice.alpha > 0 ? choice.alpha : 2 * static_cast<double>(choice.rank));
    lora.rank_stabilized = choice.rank_stabilized ? model::Has::yes : model::Has::no;
    lora.dropout = choice.dropout;
    lora.modules = model::lora_paths(base.kind, words_of(choice.modules), "--lora-modules");
    lora.saved =
        model::whole_paths(base.kind, words_of(choice.modules_to_save), "--lora-modules-to-save");
    if (choice.ensure_weight_tying) model::tie_tables(base.kind, lora);
    if (choice.ensure_weight_tying && base.parts.own_head == model::Has::yes)
        refuse_lora(
            "--lora-ensure-weight-tying: the head of this base is not its table of "
            "embeddings; leave it out");
    return lora;
}

// Of a folder that has a model already.
void require_same_adapters(const model::ModelConfig& model, const std::string& folder,
                           const LoraChoice& choice, const std::set<std::string>& given) {
    const model::Lora& there = model.lora;
    const auto differs = [&](const char* option, bool is) {
        if (given.contains(option) && is)
            refuse_lora("--" + std::string(option) + ": the model in " + folder +
                        (there.rank == 0 ? " has no adapters" : " has other adapters") +
                        "; leave the option out, or give another -mf");
    };
    differs("lora-r", choice.rank != there.rank);
    differs("lora-dropout", choice.dropout != there.dropout);
    differs("lora", there.rank == 0);
    if (choice.rank == 0 || there.rank == 0) return;
    const model::Lora wanted = chosen(model, choice);
    differs("lora-alpha", wanted.alpha != there.alpha);
    differs("lora-rs", wanted.rank_stabilized != there.rank_stabilized);
    differs("lora-modules", wanted.modules != there.modules);
    differs("lora-modules-to-save", wanted.saved != there.saved);
    differs("lora-ensure-weight-tying", wanted.ensure_tied != there.ensure_tied);
}

void require_base_for_adapters(const ModelSource& source, const char* option) {
    if (!source.folder.empty() && may_be_base(source.folder)) return;
    if (!source.folder.empty() && holds_model(source.folder))
        refuse_lora(
            std::string(option) + ": " + source.folder +
            (open_model_folder(source.folder).config.lora.rank > 0
                 ? " has adapters already: leave the option out to go on with them, or merge "
                   "them by `lockstep checkpoint convert --merge` first"
                 : " has Lockstep's own form; make a model of transformers of it by `lockstep "
                   "checkpoint convert " +
                       source.folder + " BASE --to transformers`"));
    refuse_lora(std::string(option) +
                ": adapters are added to a model of transformers; name its folder by "
                "--init-model");
}

}  // namespace

bool is_adapter_folder(const std::string& folder) {
    if (folder.empty() || !path_exists(folder + "/" + adapter_config_file)) return false;
    if (!path_exists(folder + "/config.json")) return true;
    return is_huggingface_folder(folder) && !path_exists(folder + "/" + train::weights_file) &&
           !path_exists(folder + "/" + train::weight_index_file);
}

OpenedModel open_adapter_folder(const std::string& folder, const std::string& base) {
    const std::string config = folder + "/" + adapter_config_file;
    const std::string text = read_json_text(config);
    const std::string path = base.empty() ? base_of(folder, config, text) : base;
    OpenedModel opened = open_model_folder(path);
    opened.config.lora = model::lora_from_peft(text, config, opened.config.kind);
    opened.config.lora.base = canonical_folder(path);
    model::validate(opened.config);
    return opened;
}

model::ModelConfig with_adapters(const model::ModelConfig& model, const ModelSource& source,
                                 const LoraChoice& choice, const std::set<std::string>& given) {
    const bool starts = std::string(source.option) == "--init-model";
    const bool there = !starts && holds_model(source.folder);
    if (there) require_same_adapters(model, source.folder, choice, given);
    const bool chooses = choice.rank > 0 || !choice.adapter.empty();
    if (there || !chooses) return model;
    const char* const option = choice.rank > 0 ? "--lora-r" : "--lora";
    require_base_for_adapters(starts ? source : ModelSource{""}, option);
    model::ModelConfig adapted = model;
    if (choice.rank > 0) {
        adapted.lora = chosen(model, choice);
        adapted.lora.base = canonical_folder(source.folder);
    } else {
        if (!is_adapter_folder(choice.adapter))
            refuse_lora("--lora " + choice.adapter +
                        (holds_model(choice.adapter)
                             ? ": is a model or a run; to go on from it, give its folder by "
                               "--init-model instead"
                             : ": has no " + std::string(adapter_config_file) +
                                   "; name a folder of PEFT's adapters"));
        adapted.lora = open_adapter_folder(choice.adapter, source.folder).config.lora;
        if (given.contains("lora-dropout")) adapted.lora.dropout = choice.dropout;
    }
    model::validate(adapted);
    return adapted;
}

std::string base_weights(const model::Lora& lora) {
    const std::string one = lora.base + "/" + train::weights_file;
    if (path_exists(one)) return one;
    const std::string index = lora.base + "/" + train::weight_index_file;
    if (path_exists(index)) return index;
    refuse_lora("the base of these adapters is not there: " + lora.base +
                " has no weights; put it back, or write its new path into the config.json of the "
                "adapters' folder");
}

}  // namespace lockstep::launcher
