// SPDX-License-Identifier: Apache-2.0
#include "data/text/plain_lines.hpp"

#include <algorithm>

#include "data/text/unicode.hpp"
#include "runtime/core/text_start.hpp"

namespace lockstep::data {
namespace {

void check_encoding(const TextChunk& chunk) {
    const std::size_t invalid = unicode::first_invalid(chunk.text);
    const std::size_t bad = std::min(invalid, chunk.text.find('\0'));
    if (bad == chunk.text.size()) return;
    const auto end = chunk.text.begin() + static_cast<std::ptrdiff_t>(bad);
    const auto lines = static_cast<std::uint64_t>(std::count(chunk.text.begin(), end, '\n'));
    throw_bad_text(
        {&chunk.path, chunk.first_line + lines},
        chunk.text[bad] == '\0'
            ? "a NUL byte; is this a text file?"
            : "not valid UTF-8; convert the file, a Windows text by iconv -f WINDOWS-1252 "
              "-t UTF-8");
}

// Returns the position of the next carriage return that no line feed and no end of the file
// follows.
std::size_t lone_return(std::string_view text, std::size_t from) noexcept {
    for (std::size_t at = from; (at = text.find('\r', at)) != std::string_view::npos; ++at)
        if (at + 1 < text.size() && text[at + 1] != '\n') return at;
    return std::string_view::npos;
}

void tell_lone_returns(const TextChunk& chunk, Warnings& warnings) {
    const std::string_view text = chunk.text;
    std::size_t at = lone_return(text, 0);
    if (at == std::string_view::npos) return;
    const bool whole = chunk.first_line == 1 && chunk.ends == TextChunk::Ends::file;
    if (whole && text.find('\n') == std::string_view::npos)
        throw_bad_text({&chunk.path, 1},
                       "the lines end with a carriage return alone, as on old Macs; convert the "
                       "file with tr '\\r' '\\n'");
    SourceLine line{&chunk.path, chunk.first_line};
    for (std::size_t counted = 0; at != std::string_view::npos; at = lone_return(text, at + 1)) {
        line.line += static_cast<std::uint64_t>(
            std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                       text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
        counted = at;
        warnings.add(
            "a carriage return without a line feed is no end of a line and stays in the text; if "
            "lines end so, convert the file with tr '\\r' '\\n'",
            line);
    }
}

// Returns the line without the marks at its beginning.
std::string_view without_marks(std::string_view text, const SourceLine& line, Warnings& warnings) {
    for (;;) {
        if (text.starts_with(byte_order_mark)) {
            warnings.add(
                "a byte order mark at the beginning of a line is left out; were files joined?",
                line);
            text.remove_prefix(byte_order_mark.size());
        } else if (text.starts_with(end_of_dos_text)) {
            warnings.add("a Ctrl-Z (1A) at the beginning of a line is left out; were files joined?",
                         line);
            text.remove_prefix(1);
        } else {
            return text;
        }
    }
}

bool has_marks(std::string_view text) noexcept {
    return text.find(byte_order_mark) != std::string_view::npos ||
           text.find(end_of_dos_text) != std::string_view::npos;
}

}  // namespace

std::optional<TextChunk> with_plain_lines(const TextChunk& chunk, Warnings& warnings) {
    check_encoding(chunk);
    tell_lone_returns(chunk, warnings);
    if (!has_marks(chunk.text)) return std::nullopt;
    TextChunk mended = chunk;
    mended.text.clear();
    std::string_view rest = chunk.text;
    if (chunk.ends == TextChunk::Ends::file)
        rest = rest.substr(0, rest.find_last_not_of(end_of_dos_text) + 1);
    for (SourceLine line{&chunk.path, chunk.first_line}; !rest.empty(); ++line.line) {
        const std::size_t bytes = std::min(rest.find('\n'), rest.size() - 1) + 1;
        mended.text += without_marks(rest.substr(0, bytes), line, warnings);
        rest.remove_prefix(bytes);
    }
    return mended;
}

}  // namespace lockstep::data
