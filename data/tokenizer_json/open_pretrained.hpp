// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "data/tokenizer_json/pretrained_tokenizer.hpp"

namespace lockstep::data {

// Says whose tokenizer a folder holds: that of a Hugging Face model, Lockstep's own, which
// open_tokenizer() reads, or none.
enum class FolderTokenizer { pretrained, own, none };
FolderTokenizer tokenizer_in(const std::string& folder);

// Opens the tokenizer of a Hugging Face model: tokenizer.json, or else vocab.json with merges.txt,
// or else tokenizer.model; the names of special tokens, and more tokens, are in other files beside
// them. Throws a data error that names the
// file and what is wrong with it, or what the folder lacks. `model_type` is that of the model,
// where its config.json is not beside them: it decides what the other files leave open.
std::unique_ptr<PretrainedTokenizer> open_pretrained_tokenizer(const std::string& folder,
                                                               const std::string& model_type = "");

}  // namespace lockstep::data
