// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/storage/special_tokens.hpp"
#include "model/config.hpp"
#include "runtime/core/dtype.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"

namespace lockstep::launcher {

// Tells whether the folder is a model of Hugging Face's transformers alone, and none that Lockstep
// wrote. Such a folder is read and never written to.
bool is_huggingface_folder(const std::string& folder);

// Returns the text of the folder's config.json if it is that of a model of transformers; else an
// empty one, also if there is no folder.
std::string huggingface_config_in(const std::string& folder);

// Returns whose names the tensors of a model have in transformers. Throws kind config that names
// `folder` if transformers has no such models.
train::NamesOf names_in_huggingface(const model::ModelConfig& config, const std::string& folder);

// Returns how transformers reads the model with weights of this type. `before` is the text of the
// config.json that it came with; empty: it came with none. `reply_begin` begins each reply.
train::TransformersForm huggingface_form(const model::ModelConfig& config, Dtype type,
                                         const std::string& before,
                                         const data::SpecialTokens& tokens,
                                         std::optional<std::int32_t> reply_begin);

// Returns how a model's folder is one of transformers: if these have models of the kind and read
// the tokenizer's files, which lie in `tokenizer_folder`. Its config.json is made of that in the
// first of the folders that has one. Else the form is empty, as it is for adapters alone.
train::TransformersForm folder_form(const model::ModelConfig& config,
                                    const std::string& tokenizer_folder,
                                    const data::SpecialTokens& tokens,
                                    const std::vector<std::string>& folders);

}  // namespace lockstep::launcher
