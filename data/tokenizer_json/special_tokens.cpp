// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_json/special_tokens.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "data/text/git_lfs.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::data {
namespace {

using Name = std::optional<std::string> SpecialTokenNames::*;
constexpr std::array<std::pair<const char*, Name>, 7> members{{
    {"bos_token", &SpecialTokenNames::begin},
    {"eos_token", &SpecialTokenNames::end},
    {"pad_token", &SpecialTokenNames::pad},
    {"unk_token", &SpecialTokenNames::unknown},
    {"sep_token", &SpecialTokenNames::separator},
    {"cls_token", &SpecialTokenNames::classifier},
    {"mask_token", &SpecialTokenNames::mask},
}};

// Returns a JSON object; null: the folder does not have the file.
nlohmann::json read_object(const std::string& folder, const char* name) {
    const std::string path = folder + "/" + name;
    if (!path_exists(path)) return nullptr;
    refuse_lfs_pointer(path);
    nlohmann::json json = try_parse_json(read_json_text(path));
    if (!json.is_object()) throw Error(ErrorKind::data, path + ": is not a JSON object");
    return json;
}

SpecialTokenNames names_of_kind(const std::string& kind) {
    if (kind == "gpt2") return {"<|endoftext|>", "<|endoftext|>", {}, "<|endoftext|>", {}, {}, {}};
    if (kind == "qwen2") return {{}, "<|endoftext|>", "<|endoftext|>", "<|endoftext|>", {}, {}, {}};
    if (kind == "llama") return {"<s>", "</s>", {}, "<unk>", {}, {}, {}};
    if (kind == "blenderbot-small")
        return {"__start__", "__end__", "__null__", "__unk__", {}, {}, {}};
    if (kind == "roberta" || kind == "blenderbot")
        return {"<s>", "</s>", "<pad>", "<unk>", "</s>", "<s>", "<mask>"};
    return {};
}

// A token is its content or an object that has it. Returns false if the member is not there.
bool read_name(const nlohmann::json& json, const std::string& path, const char* member,
               std::optional<std::string>& name) {
    if (!json.is_object() || !json.contains(member)) return false;
    const JsonPart file(json, path, "");
    const nlohmann::json& value = json[member];
    name = value.is_object() ? std::optional(file.member(member).needed_text("content"))
                             : file.text(member);
    return true;
}

}  // namespace

TokenizerFacts read_tokenizer_facts(const std::string& folder, const std::string& model_type) {
    const std::string config_path = folder + "/tokenizer_config.json";
    const std::string map_path = folder + "/special_tokens_map.json";
    const nlohmann::json config = read_object(folder, "tokenizer_config.json");
    const nlohmann::json map = read_object(folder, "special_tokens_map.json");
    const nlohmann::json model = read_object(folder, "config.json");
    TokenizerFacts facts;
    facts.folder = folder;
    facts.model_type = model_type;
    if (config.is_object()) {
        const JsonPart part(config, config_path, "");
        facts.tokenizer_class = part.text("tokenizer_class").value_or("");
        facts.add_prefix_space = part.flag("add_prefix_space");
        if (facts.tokenizer_class.ends_with("Fast"))
            facts.tokenizer_class.resize(facts.tokenizer_class.size() - 4);
    }
    if (model.is_object())
        facts.model_type =
            JsonPart(model, folder + "/config.json", "").text("model_type").value_or(model_type);
    facts.by_class = names_of_kind(kind_of(facts));
    for (const auto& [member, name] : members) {
        const bool mentioned = read_name(config, config_path, member, facts.named.*name) ||
                               read_name(map, map_path, member, facts.named.*name);
        if (mentioned) (facts.by_class.*name).reset();
    }
    return facts;
}

std::string kind_of(const TokenizerFacts& facts) {
    struct Kind {
        std::string_view tokenizer_class, model_type, kind;
    };
    constexpr std::array<Kind, 8> kinds{{
        {"GPT2Tokenizer", "gpt2", "gpt2"},
        {"RobertaTokenizer", "roberta", "roberta"},
        {"BartTokenizer", "bart", "roberta"},
        {"BlenderbotTokenizer", "blenderbot", "blenderbot"},
        {"BlenderbotSmallTokenizer", "blenderbot-small", "blenderbot-small"},
        {"Qwen2Tokenizer", "qwen2", "qwen2"},
        {"Qwen2Tokenizer", "qwen3", "qwen2"},
        {"LlamaTokenizer", "llama", "llama"},
    }};
    for (const Kind& kind : kinds) {
        const bool is_it = facts.tokenizer_class.empty()
                               ? facts.model_type == kind.model_type
                               : facts.tokenizer_class == kind.tokenizer_class;
        if (is_it) return std::string(kind.kind);
    }
    return "";
}

}  // namespace lockstep::data
