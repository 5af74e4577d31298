// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "data/text/text_chunks.hpp"
#include "data/text/warnings.hpp"

namespace lockstep::data {

// Calls `read` for every line of the chunk that is not blank. A line that is not JSON, has an
// object with the same name twice, or has other types than `read` expects, is a data error that
// names the line and shows `form`, the expected form.
void for_each_json_line(const TextChunk& chunk, std::string_view form,
                        const std::function<void(const nlohmann::json&, const SourceLine&)>& read);

// Does the same with lines whose members keep their order.
void for_each_ordered_json_line(
    const TextChunk& chunk, std::string_view form,
    const std::function<void(const nlohmann::ordered_json&, const SourceLine&)>& read);

// Returns the string, with or without spaces at both ends. Throws a data error for a NUL character
// (`\u0000`), and nlohmann's error if the value is not a string.
std::string_view text_of(const nlohmann::json& string, Texts texts, const SourceLine& source_line);

// Returns the text before an answer to nothing.
std::string_view silence(Texts texts) noexcept;

// Adds the warning `what` for the name of each member that is not `known` and holds something.
void warn_of_members(const nlohmann::json& object, std::span<const std::string_view> known,
                     std::string_view what, Warnings& warnings, const SourceLine& source_line);

// Members of a line that say where it comes from: other programs write them, and no row has a place
// for them.
std::span<const std::string_view> members_of_origin() noexcept;

}  // namespace lockstep::data
