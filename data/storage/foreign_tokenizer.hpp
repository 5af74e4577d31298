// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

namespace lockstep::data::format {

// Describes a tokenizer in Hugging Face's form, one of whose own files is a tokenizer.json.
inline constexpr const char* foreign_tokenizer_file = "lockstep_tokenizer.json";

// The files of such a tokenizer. A folder has some of them, byte for byte as they came.
inline constexpr std::array foreign_tokenizer_files{"tokenizer.json",
                                                    "tokenizer_config.json",
                                                    "special_tokens_map.json",
                                                    "added_tokens.json",
                                                    "vocab.json",
                                                    "merges.txt",
                                                    "tokenizer.model",
                                                    "chat_template.jinja",
                                                    "generation_config.json"};

}  // namespace lockstep::data::format
