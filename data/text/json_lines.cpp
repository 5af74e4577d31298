// SPDX-License-Identifier: Apache-2.0
#include "data/text/json_lines.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "data/text/conversation_shapes.hpp"
#include "data/text/fields.hpp"
#include "data/text/format_hint.hpp"
#include "runtime/core/json_names.hpp"
#include "runtime/core/json_text.hpp"

namespace lockstep::data {
namespace {

constexpr std::array<std::string_view, 9> of_origin = {"id",       "source",        "model",
                                                       "metadata", "metadata_path", "dataset",
                                                       "created",  "timestamp",     "name"};

bool holds_something(const nlohmann::json& value) {
    if (value.is_string()) return !value.get_ref<const std::string&>().empty();
    return !value.empty();  // null, [] and {} are empty
}

// A line of ParlAI's or of chat messages is told by its own reader.
void refuse_other_shape(const nlohmann::json& json, std::string_view line, std::string_view own,
                        const std::string& expected, const SourceLine& source_line) {
    const bool known = json.is_object() && (json.contains("messages") || json.contains("dialog") ||
                                            (own == "\"messages\"" && has_other_shape(json)));
    if (known) return;
    throw_bad_text(source_line, "no " + std::string(own) + expected + format_hint(line));
}

using ReadLine =
    std::function<void(const nlohmann::json&, std::string_view line, const SourceLine&)>;

void for_each_checked_line(const TextChunk& chunk, std::string_view form, const ReadLine& read) {
    const std::string expected = "; a line is " + std::string(form);
    const std::size_t quote = form.find('"');
    const std::string_view own = form.substr(quote, form.find('"', quote + 1) + 1 - quote);
    for_each_line(chunk, [&](std::string_view line, const SourceLine& source_line) {
        if (stripped(line).empty()) return;
        try {
            const nlohmann::json json = parse_json(line);
            const std::string twice = repeated_name(line);
            if (!twice.empty())
                throw_bad_text(source_line, "an object has " + in_quotes(twice) +
                                                " twice, of which only one can be meant");
            if (!json.is_object() || !json.contains(own.substr(1, own.size() - 2)))
                refuse_other_shape(json, line, own, expected, source_line);
            read(json, line, source_line);
        } catch (const nlohmann::json::parse_error& e) {
            throw_bad_text(
                source_line,
                "not JSON, at byte " + std::to_string(e.byte) + expected +
                    (line.find(own) == std::string_view::npos ? format_hint(line) : std::string()));
        } catch (const nlohmann::json::exception&) {
            throw_bad_text(source_line, "not a conversation" + expected);
        }
    });
}

}  // namespace

void for_each_json_line(const TextChunk& chunk, std::string_view form,
                        const std::function<void(const nlohmann::json&, const SourceLine&)>& read) {
    for_each_checked_line(chunk, form,
                          [&](const nlohmann::json& json, std::string_view,
                              const SourceLine& source_line) { read(json, source_line); });
}

void for_each_ordered_json_line(
    const TextChunk& chunk, std::string_view form,
    const std::function<void(const nlohmann::ordered_json&, const SourceLine&)>& read) {
    for_each_checked_line(
        chunk, form,
        [&](const nlohmann::json&, std::string_view line, const SourceLine& source_line) {
            read(nlohmann::ordered_json::parse(line), source_line);
        });
}

std::string_view text_of(const nlohmann::json& string, Texts texts, const SourceLine& source_line) {
    const auto& text = string.get_ref<const std::string&>();
    if (text.find('\0') != std::string::npos)
        throw_bad_text(source_line, "a NUL character (\\u0000); text has none: take it out");
    return texts == Texts::parlais ? stripped(text) : text;
}

std::string_view silence(Texts texts) noexcept {
    return texts == Texts::parlais ? "__SILENCE__" : "";
}

void warn_of_members(const nlohmann::json& object, std::span<const std::string_view> known,
                     std::string_view what, Warnings& warnings, const SourceLine& source_line) {
    for (const auto& [name, value] : object.items())
        if (std::find(known.begin(), known.end(), name) == known.end() && holds_something(value))
            warnings.add(what, source_line, name.empty() ? " " : name);
}

std::span<const std::string_view> members_of_origin() noexcept { return of_origin; }

}  // namespace lockstep::data
