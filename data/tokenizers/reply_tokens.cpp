// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/reply_tokens.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/core/json_object.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::data {
namespace {

constexpr const char* start_key = "decoder_start_token_id";
constexpr const char* first_key = "forced_bos_token_id";
constexpr const char* ends_key = "eos_token_id";

// A file of keys that are ids, lists of ids, null or absent.
class IdFile {
public:
    IdFile(std::string path, std::int32_t tokens)
        : path_(std::move(path)), exists_(path_exists(path_)), ids_{0, tokens - 1} {
        if (exists_) json_ = try_parse_json(read_json_text(path_, "cannot be read"));
    }

    bool exists() const noexcept { return exists_; }
    const nlohmann::json& json() const noexcept { return json_; }

    std::vector<std::int32_t> ids(const char* key) const {
        const JsonOrigin origin{path_, "; copy the file again"};
        if (!exists_) return {};
        const JsonObject object(json_, origin);
        if (!object.has(key) || object.at(key).is_null()) return {};
        if (object.at(key).is_array()) return object.wholes(key, ids_);
        return {object.whole<std::int32_t>(key, ids_)};
    }
    // A list of one is what a list of ends may have become; of several, one would be lost.
    std::optional<std::int32_t> id(const char* key) const {
        const auto found = ids(key);
        if (found.size() == 1) return found.front();
        if (!exists_) return std::nullopt;
        const JsonOrigin origin{path_, "; copy the file again, or write one id there"};
        const JsonObject object(json_, origin);
        if (!found.empty() || (object.has(key) && object.at(key).is_array()))
            object.refuse(key, "one id, but a list of " + std::to_string(found.size()));
        return std::nullopt;
    }

private:
    const std::string path_;
    const bool exists_;
    const JsonObject<nlohmann::json>::Range<std::int32_t> ids_;
    nlohmann::json json_ = nlohmann::json::object();
};

// transformers' classes feed these unless config.json names another one.
std::optional<std::int32_t> start_of_class(const std::string& model_type) {
    constexpr std::array<std::pair<const char*, std::int32_t>, 3> classes{
        {{"bart", 2}, {"blenderbot", 1}, {"blenderbot-small", 1}}};
    for (const auto& [name, start] : classes)
        if (model_type == name) return start;
    return std::nullopt;
}

}  // namespace

ReplyTokens read_reply_tokens(const std::string& folder, std::int32_t tokens) {
    const IdFile config(folder + "/config.json", tokens);
    const IdFile settings(folder + "/generation_config.json", tokens);
    // transformers reads config.json where there are no settings of generation.
    const IdFile& of_generation = settings.exists() ? settings : config;
    // A model that was trained to talk often has more ends than its tokenizer.
    ReplyTokens found{.ends = of_generation.ids(ends_key), .start = {}, .first = {}};
    if (!config.json().is_object()) return found;
    const auto type = config.json().find("model_type"),
               encoder = config.json().find("is_encoder_decoder");
    const bool is_text = type != config.json().end() && type->is_string();
    const auto of_class = start_of_class(is_text ? type->get<std::string>() : "");
    const bool has_encoder = encoder != config.json().end() && *encoder == true;
    if (!of_class && !has_encoder) return found;
    // Labels were shifted by that of config.json.
    found.start = config.id(start_key);
    if (!found.start) found.start = settings.id(start_key);
    if (!found.start) found.start = of_class;
    found.first = of_generation.id(first_key);
    return found;
}

}  // namespace lockstep::data
