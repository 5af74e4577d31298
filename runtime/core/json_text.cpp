// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/json_text.hpp"

#include <cstddef>
#include <nlohmann/json.hpp>

#include "runtime/core/error.hpp"
#include "runtime/core/read_file.hpp"
#include "runtime/core/text_start.hpp"

namespace lockstep {
namespace {

constexpr int max_levels = 64;
constexpr std::size_t max_values = 1'000'000;

// Returns the position of the quotation mark that ends a string, or of the text's last character.
std::size_t end_of_string(std::string_view text, std::size_t at) {
    for (++at; at < text.size() && text[at] != '"'; ++at)
        if (text[at] == '\\') ++at;
    return at;
}

}  // namespace

std::string json_excess(std::string_view text) {
    int levels = 0;
    std::size_t values = 1;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '"') at = end_of_string(text, at);
        if (c == '[' || c == '{') ++levels;
        if (c == ']' || c == '}') --levels;
        if (c == '[' || c == '{' || c == ',') ++values;
        if (levels > max_levels)
            return "its values are nested in more than " + std::to_string(max_levels) + " levels";
        if (values > max_values)
            return "it has more than " + std::to_string(max_values) + " values";
    }
    return "";
}

std::string read_json_text(const std::string& path, const std::string& complaint) {
    std::string text = read_file(path, complaint);
    text.erase(0, mark_bytes(text, path));
    const std::string excess = json_excess(text);
    if (!excess.empty()) throw Error(ErrorKind::data, path + ": is damaged: " + excess);
    return text;
}

nlohmann::json parse_json(std::string_view text) { return nlohmann::json::parse(text); }

nlohmann::json try_parse_json(std::string_view text) {
    return nlohmann::json::parse(text, nullptr, false);
}

std::string dump_json(const nlohmann::json& json, int indent) {
    return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string dump_json(const nlohmann::ordered_json& json, int indent) {
    return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace lockstep
