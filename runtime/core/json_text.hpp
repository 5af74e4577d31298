// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace lockstep {

// Returns why JSON text must not be parsed; empty: it may. nlohmann's values are copied and written
// by functions that call themselves for each level, and a value takes many times the memory of its
// text. So text with more than 64 levels or a million values and members is refused. Whether the
// text is JSON at all is for the parser to say.
std::string json_excess(std::string_view text);

// Returns the text of a JSON file that may be parsed. Throws an io error with `complaint` if the
// file cannot be read, and a data error if the text is not to be parsed; both name the path.
std::string read_json_text(const std::string& path,
                           const std::string& complaint = "cannot be read");

// The next functions do what nlohmann's templates do, which take seconds to compile in each source
// that uses them.

// Parses JSON. Throws nlohmann's parse_error if the text is not JSON.
nlohmann::json parse_json(std::string_view text);
// Parses JSON. Returns a discarded value if the text is not JSON.
nlohmann::json try_parse_json(std::string_view text);

// Returns the text of a value in one line, or with each level indented by so many spaces. What is
// not UTF-8 becomes U+FFFD.
std::string dump_json(const nlohmann::json& json, int indent = -1);
std::string dump_json(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace lockstep
