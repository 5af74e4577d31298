// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/input_file.hpp"
#include "data/text/json_array.hpp"
#include "data/text/read_options.hpp"

namespace lockstep::data {

// Identifies a line of the input.
struct SourceLine {
    const std::string* path = nullptr;
    std::uint64_t line = 0;  // counted from 1
};

// Throws a data error "path:line: what".
[[noreturn]] void throw_bad_text(const SourceLine& source_line, const std::string& what);

// Holds whole lines of one file, as UTF-8 without NUL bytes. An episode is never split between
// chunks.
struct TextChunk {
    std::string path;
    std::uint32_t file = 0;  // its number among the inputs
    std::uint64_t first_line = 1;
    std::string text;
    std::uint64_t file_bytes = 0;  // bytes of the file, compressed or not, that were read for it
    enum class Ends { within, file } ends = Ends::within;
};

// Calls `line(std::string_view, SourceLine)` for every line, without its end (LF or CRLF).
template <class Line>
void for_each_line(const TextChunk& chunk, Line&& line) {
    std::string_view rest = chunk.text;
    for (SourceLine source_line{&chunk.path, chunk.first_line}; !rest.empty(); ++source_line.line) {
        const std::size_t end = rest.find('\n');
        std::string_view text = rest.substr(0, end);
        if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
        line(text, source_line);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
}

// Cuts files, plain or compressed by gzip, into chunks of about a megabyte, in order. One file is
// open at a time.
class ChunkReader {
public:
    // Throws a config error that names a file which cannot be read or is empty.
    ChunkReader(std::vector<std::string> paths, TextFormat format);

    // Returns false at the end of the last file.
    bool next(TextChunk& chunk);
    std::uint64_t total_bytes() const noexcept { return total_bytes_; }  // total size of the files

private:
    void open_next_file();
    void read_until(std::size_t bytes);
    void read_bytes(std::size_t bytes);
    void begin_array();
    void add_array(std::string_view text);
    void take(std::size_t bytes, TextChunk& chunk);
    std::size_t find_cut() const;
    [[noreturn]] void throw_too_long() const;

    std::vector<std::string> paths_;
    TextFormat format_;
    std::uint64_t total_bytes_ = 0;
    std::size_t file_index_ = 0;  // index of the open file
    InputFile file_;
    std::optional<ArrayLines> array_;  // the open file is a JSON array of conversations
    std::uint64_t taken_bytes_ = 0;    // bytes taken from the open file
    std::uint64_t next_line_ = 1;
    std::string buffer_;
    enum class State { reading, at_end } state_ = State::reading;
};

}  // namespace lockstep::data
