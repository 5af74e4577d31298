// SPDX-License-Identifier: Apache-2.0
#include "data/text/json_texts.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "data/text/conversation_shapes.hpp"
#include "data/text/fields.hpp"
#include "data/text/json_lines.hpp"
#include "data/text/plain_lines.hpp"
#include "data/text/plain_text.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"

namespace lockstep::data {
namespace {

constexpr std::string_view form_of_texts = R"({"text": "..."})";

bool is_conversation(const nlohmann::json& line) {
    return line.contains("messages") || line.contains("dialog") || has_other_shape(line);
}

bool is_text(const nlohmann::json& line) {
    return line.is_object() && line.contains("text") && line["text"].is_string() &&
           !is_conversation(line);
}

bool begins_with_text(const std::string& path) {
    TextChunk chunk;
    try {
        if (!ChunkReader({path}, TextFormat::json_texts).next(chunk)) return false;
    } catch (const Error&) {
        return false;  // such as an array that does not end; its own reader tells
    }
    std::string_view rest = chunk.text;
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        const std::string_view line = stripped(rest.substr(0, end));
        if (!line.empty()) return is_text(try_parse_json(std::string(line)));
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return false;
}

// A plain text may begin with any character; only what begins as JSON is looked at.
bool begins_as_json(const std::string& path) {
    ChunkReader reader({path}, TextFormat::text);
    TextChunk chunk;
    if (!reader.next(chunk)) return false;
    const std::string_view text = stripped(chunk.text);
    return text.starts_with('{') || text.starts_with('[');
}

}  // namespace

bool hold_json_texts(const std::vector<std::string>& paths) {
    const std::string *with = nullptr, *without = nullptr;
    for (const std::string& path : paths)
        (begins_as_json(path) && begins_with_text(path) ? with : without) = &path;
    if (with != nullptr && without != nullptr)
        throw Error(ErrorKind::config, *without + ": does not begin with a document " +
                                           std::string(form_of_texts) + ", as " + *with +
                                           " does; prepare them apart or in the same form");
    return with != nullptr;
}

void read_documents(const TextChunk& chunk, const ReadOptions& options, Warnings& warnings,
                    const std::function<void(std::string_view)>& text,
                    const std::function<void()>& document_end) {
    if (options.format != TextFormat::json_texts)
        return read_plain_text(chunk, options.documents, warnings, text, document_end);
    std::vector<std::string_view> known(members_of_origin().begin(), members_of_origin().end());
    known.push_back("text");
    const std::optional<TextChunk> mended = with_plain_lines(chunk, warnings);
    for_each_json_line(
        mended ? *mended : chunk, form_of_texts,
        [&](const nlohmann::json& line, const SourceLine& source_line) {
            if (!is_text(line))
                throw_bad_text(source_line,
                               "a line of another form in a file of texts; a line is " +
                                   std::string(form_of_texts) +
                                   "; put other lines in a file of their own");
            warn_of_members(line, known, "the member @ of a line is unknown and is left out",
                            warnings, source_line);
            const std::string_view own = text_of(line["text"], Texts::as_written, source_line);
            if (own.empty()) return warnings.add("empty texts are left out", source_line);
            text(own);
            document_end();
        });
}

}  // namespace lockstep::data
