// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_json/canonical_form.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "data/tokenizer_steps/json_part.hpp"
#include "data/tokenizer_steps/post_processor.hpp"

namespace lockstep::data {
namespace {

using Json = nlohmann::json;

bool is_default(const std::string& name, const Json& value) {
    if (name == "use_regex" || name == "split") return value == true;
    if (value.is_string()) return value.get_ref<const std::string&>().empty();
    return value.is_null() || value == false;
}

Json without_defaults(const Json& value) {
    if (value.is_array()) {
        Json all = Json::array();
        for (const Json& element : value) all.push_back(without_defaults(element));
        return all;
    }
    if (!value.is_object()) return value;
    Json kept = Json::object();
    for (const auto& member : value.items())
        // Offsets are places in the text, which nobody asks for.
        if (member.key() != "trim_offsets" && !is_default(member.key(), member.value()))
            kept[member.key()] = without_defaults(member.value());
    return kept;
}

// Without a normalizer it only matters in which of two stages a token is found if others are found
// in the other one.
Json canonical_tokens(const Json& rest) {
    Json tokens = rest.value("added_tokens", Json::array());
    if (!tokens.is_array()) return tokens;
    const auto normalized = [](const Json& token) {
        const auto found = token.find("normalized");
        return found == token.end() || found->is_null() || *found == true;
    };
    const bool normalizes = !rest.value("normalizer", Json()).is_null();
    const bool alike =
        !normalizes && std::all_of(tokens.begin(), tokens.end(), [&](const Json& token) {
            return normalized(token) == normalized(tokens.front());
        });
    for (Json& token : tokens) {
        const bool marked = !alike && normalized(token);
        token.erase("normalized");
        token = without_defaults(token);
        if (marked) token["normalized"] = true;
    }
    std::sort(tokens.begin(), tokens.end(),
              [](const Json& a, const Json& b) { return a.value("id", 0) < b.value("id", 0); });
    return tokens;
}

// Returns the ids around a text, which is -1.
Json canonical_processor(const RawTokenizerFile& file) {
    const JsonPart root(file.rest, file.path, "");
    std::vector<std::int32_t> ids{-1};
    PostProcessor(root.member("post_processor")).add(0, ids);
    return ids;
}

Json canonical_decoder(const Json& decoder) {
    if (decoder.is_object() && decoder.value("type", "") == "ByteLevel")
        return {{"type", "ByteLevel"}};
    return without_defaults(decoder);
}

}  // namespace

nlohmann::json canonical_form(const RawTokenizerFile& file) {
    const Json& rest = file.rest;
    Json model = without_defaults(rest.value("model", Json::object()));
    model["type"] = "BPE";
    return {{"added_tokens", canonical_tokens(rest)},
            {"normalizer", without_defaults(rest.value("normalizer", Json()))},
            {"pre_tokenizer", without_defaults(rest.value("pre_tokenizer", Json()))},
            {"post_processor", canonical_processor(file)},
            {"decoder", canonical_decoder(rest.value("decoder", Json()))},
            {"model", std::move(model)}};
}

}  // namespace lockstep::data
