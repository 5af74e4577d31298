// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/prepare/prepare_options.hpp"
#include "data/splits/unit_split.hpp"

namespace lockstep::data {

// Returns the options as a JSON object, for dataset.json, with the number of units of each split if
// text is held out; otherwise `units` is null.
std::string options_record(const PrepareOptions& options, const UnitSplit* units);

// Returns the name that options and records use.
std::string_view name(TextFormat format) noexcept;
std::string_view name(LabelTurns turns) noexcept;
std::string_view name(SentencePieceModel model) noexcept;

}  // namespace lockstep::data
