// SPDX-License-Identifier: Apache-2.0
#include "data/splits/unit_borders.hpp"

#include <algorithm>
#include <utility>

#include "data/text/fbdialog.hpp"
#include "data/text/fields.hpp"
#include "data/text/parlai_text.hpp"

namespace lockstep::data {
namespace {

// A token has about four bytes, so that a stretch gives about four rows. Longer ones would make the
// share of a small file inexact, and shorter ones would break more blocks.
constexpr std::uint64_t stretch_bytes_per_token = 16;
constexpr std::uint64_t longest_block = std::uint64_t{1} << 40;  // their product fits 64 bits

bool is_blank(std::string_view line) noexcept {
    return line.find_first_not_of(" \t") == std::string_view::npos;
}

}  // namespace

std::string_view unit_name(const ReadOptions& read) noexcept {
    switch (read.format) {
        case TextFormat::parlai:
        case TextFormat::fbdialog:
            return "episodes";
        case TextFormat::text:
            return read.documents == Documents::file ? "stretches of text" : "documents";
        case TextFormat::json_texts:
            return "documents";
        default:
            return "conversations";
    }
}

UnitBorders::UnitBorders(const ReadOptions& read, std::int64_t block_size)
    : read_(read),
      stretch_bytes_(stretch_bytes_per_token *
                     std::min(static_cast<std::uint64_t>(block_size), longest_block)) {}

std::vector<std::size_t> UnitBorders::begins(const TextChunk& chunk) {
    const bool plain = read_.format == TextFormat::text;
    const bool new_file = chunk.first_line == 1 || chunk.file != file_;
    if (new_file) file_offset_ = 0;
    // A chunk of dialogues begins with an episode. One of plain text may begin inside a document.
    if (new_file || !plain) {
        open_ = false;
        last_number_.reset();
    }
    file_ = chunk.file;
    std::vector<std::size_t> found;
    for_each_line(chunk, [&](std::string_view line, const SourceLine&) {
        const auto offset = static_cast<std::size_t>(line.data() - chunk.text.data());
        if (begins_unit(line, file_offset_ + offset)) found.push_back(offset);
    });
    file_offset_ += chunk.text.size();
    return found;
}

bool UnitBorders::begins_unit(std::string_view line, std::uint64_t offset) {
    switch (read_.format) {
        case TextFormat::parlai:
            return begins_episode(line);
        case TextFormat::fbdialog:
            return !continues_numbers(stripped(line));
        case TextFormat::text:
            break;
        default:  // one line is one conversation or document
            return !stripped(line).empty();
    }
    const bool was_open =
        std::exchange(open_, read_.documents == Documents::file || !is_blank(line));
    if (read_.documents == Documents::blank_line) return open_ && !was_open;
    const std::uint64_t last = std::exchange(stretch_, offset / stretch_bytes_);
    return stretch_ != last || !was_open;
}

bool UnitBorders::begins_episode(std::string_view line) {
    if (line.empty()) return false;
    return !std::exchange(open_, !parlai_line_ends_episode(line));
}

bool UnitBorders::continues_numbers(std::string_view line) {
    if (line.empty()) return true;
    const auto number = fbdialog_line_number(line);
    if (!number) return true;  // the reader will refuse this line
    const auto last = std::exchange(last_number_, number);
    return last && *number > *last;
}

}  // namespace lockstep::data
