// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::data {

// Holds the ids with which a model of transformers begins and ends replies, beyond those of its
// tokenizer.
struct ReplyTokens {
    std::vector<std::int32_t> ends;
    std::optional<std::int32_t> start;  // is fed first to the decoder of a model with an encoder
    std::optional<std::int32_t> first;  // begins each reply of such a model
};

// Reads config.json and generation_config.json of the folder. Throws a data error that names the
// file and a key whose id is not below `tokens`.
ReplyTokens read_reply_tokens(const std::string& folder, std::int32_t tokens);

}  // namespace lockstep::data
