// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "data/storage/special_tokens.hpp"
#include "runtime/core/json_object.hpp"

namespace lockstep::data {

// dataset.json and a tokenizer's description have this member. null in it means that the tokenizer
// has no such token.
inline constexpr const char* special_tokens_member = "special_tokens";

inline nlohmann::ordered_json to_json(const SpecialTokens& special) {
    const auto id = [](std::optional<std::int32_t> token) {
        return token ? nlohmann::ordered_json(*token) : nlohmann::ordered_json(nullptr);
    };
    return {{"null", id(special.null)},
            {"start", id(special.start)},
            {"begin", id(special.begin)},
            {"ends", special.ends},
            {"unk", id(special.unk)}};
}

// Reads the member of `json`, whose ids are less than `vocabulary`. Files of older versions lack
// it, and have the default ids.
template <class Json>
SpecialTokens special_tokens_of(const JsonObject<Json>& json, std::int32_t vocabulary) {
    if (!json.has(special_tokens_member)) return {};
    const auto object = json.object(special_tokens_member);
    const typename JsonObject<Json>::template Range<std::int32_t> ids{0, vocabulary - 1};
    const auto id = [&](const char* name) -> std::optional<std::int32_t> {
        if (object.at(name).is_null()) return std::nullopt;
        return object.template whole<std::int32_t>(name, ids);
    };
    SpecialTokens special{.null = id("null"),
                          .start = id("start"),
                          .begin = id("begin"),
                          .ends = object.template wholes<std::int32_t>("ends", ids),
                          .unk = id("unk")};
    if (special.ends.empty()) object.refuse("ends", "a list of at least one id");
    return special;
}

}  // namespace lockstep::data
