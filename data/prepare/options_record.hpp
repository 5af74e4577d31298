// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/prepare/prepare_options.hpp"

namespace lockstep::data {

// Returns the options as a JSON object, for dataset.json.
std::string options_record(const PrepareOptions& options);

// Returns the name that options and records use.
std::string_view name(TextFormat format) noexcept;
std::string_view name(LabelTurns turns) noexcept;
std::string_view name(SentencePieceModel model) noexcept;

}  // namespace lockstep::data
