// SPDX-License-Identifier: Apache-2.0
#include "data/text/text_chunks.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "data/text/episode_borders.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/text_start.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::data {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
// This is the maximum length of a line and of an episode, because a worker must hold it in memory
// at once.
constexpr std::size_t longest_chunk_bytes = std::size_t{16} << 20;

std::uint64_t size_of(const std::string& path) {
    if (path == "-")
        throw Error(ErrorKind::config,
                    "-: the text is read twice, so it cannot be standard input; name a file, which "
                    "may be compressed by gzip");
    if (!path_exists(path))
        throw Error(ErrorKind::config, path + ": no such file; check --input, --valid and --test");
    if (!is_file(path))
        throw Error(ErrorKind::config, path + ": not a regular file (the text is read twice)");
    std::error_code failure;
    const std::uint64_t bytes = std::filesystem::file_size(path, failure);
    if (failure || bytes == 0)
        throw Error(ErrorKind::config, path + ": the file is empty; leave it out or fill it");
    return bytes;
}

// Returns the line that ends just before `end`, without its line feed.
std::string_view line_before(std::string_view text, std::size_t end) {
    const std::size_t last = end - 1;
    const std::size_t feed = last == 0 ? std::string_view::npos : text.rfind('\n', last - 1);
    const std::size_t begin = feed == std::string_view::npos ? 0 : feed + 1;
    return text.substr(begin, last - begin);
}

}  // namespace

void throw_bad_text(const SourceLine& source_line, const std::string& what) {
    throw Error(ErrorKind::data,
                *source_line.path + ":" + std::to_string(source_line.line) + ": " + what);
}

ChunkReader::ChunkReader(std::vector<std::string> paths, TextFormat format)
    : paths_(std::move(paths)), format_(format) {
    for (const std::string& path : paths_) {
        total_bytes_ += size_of(path);
        const InputFile readable(path);
    }
}

bool ChunkReader::next(TextChunk& chunk) {
    if (!file_) {
        if (file_index_ == paths_.size()) return false;
        open_next_file();
    }
    for (std::size_t bytes = chunk_bytes;; bytes *= 2) {
        read_until(bytes);
        const std::size_t cut = state_ == State::at_end ? buffer_.size() : find_cut();
        if (cut > longest_chunk_bytes || (cut == 0 && buffer_.size() > longest_chunk_bytes))
            throw_too_long();
        if (cut == 0 && state_ == State::reading) continue;
        take(cut, chunk);
        return true;
    }
}

void ChunkReader::open_next_file() {
    file_ = InputFile(paths_[file_index_]);
    taken_bytes_ = 0;
    state_ = State::reading;
    next_line_ = 1;
    array_.reset();
    read_until(text_start_bytes);
    buffer_.erase(0, mark_bytes(buffer_, paths_[file_index_]));
    begin_array();
}

void ChunkReader::begin_array() {
    const bool lines_are_objects = format_ == TextFormat::jsonl ||
                                   format_ == TextFormat::messages ||
                                   format_ == TextFormat::json_texts;
    if (!lines_are_objects || !ArrayLines::begins(buffer_)) return;
    array_.emplace();
    const std::string begin = std::exchange(buffer_, {});
    add_array(begin);
}

void ChunkReader::add_array(std::string_view text) {
    array_->add(text, buffer_);
    const auto lines = std::count(buffer_.begin(), buffer_.end(), '\n');
    const SourceLine last{&paths_[file_index_], next_line_ + static_cast<std::uint64_t>(lines)};
    if (!array_->fault().empty()) throw_bad_text(last, array_->fault());
    if (state_ != State::at_end || array_->closed()) return;
    throw_bad_text(last, "the JSON array is not closed by ']'; was the file cut?");
}

void ChunkReader::read_until(std::size_t bytes) {
    if (!array_) return read_bytes(bytes);
    while (state_ != State::at_end && buffer_.size() < bytes) {
        std::string lines = std::exchange(buffer_, {});
        read_bytes(std::min(bytes, chunk_bytes));
        const std::string read = std::exchange(buffer_, std::move(lines));
        add_array(read);
    }
}

void ChunkReader::read_bytes(std::size_t bytes) {
    if (state_ == State::at_end || buffer_.size() >= bytes) return;
    const std::size_t had = buffer_.size();
    buffer_.resize(bytes);
    std::string damage;
    const std::size_t got = file_.read(buffer_.data() + had, bytes - had, damage);
    buffer_.resize(had + got);
    if (!damage.empty()) {
        const auto lines = std::count(buffer_.begin(), buffer_.end(), '\n');
        throw_bad_text({&paths_[file_index_], next_line_ + static_cast<std::uint64_t>(lines)},
                       damage);
    }
    if (had + got < bytes) state_ = State::at_end;
}

void ChunkReader::take(std::size_t bytes, TextChunk& chunk) {
    chunk.path = paths_[file_index_];
    chunk.file = static_cast<std::uint32_t>(file_index_);
    chunk.first_line = next_line_;
    chunk.text.assign(buffer_, 0, bytes);
    chunk.file_bytes = file_.position() - taken_bytes_;
    taken_bytes_ += chunk.file_bytes;
    chunk.ends = TextChunk::Ends::within;
    buffer_.erase(0, bytes);
    next_line_ +=
        static_cast<std::uint64_t>(std::count(chunk.text.begin(), chunk.text.end(), '\n'));
    if (state_ == State::at_end && buffer_.empty()) {
        chunk.ends = TextChunk::Ends::file;
        file_ = InputFile();
        ++file_index_;
    }
}

// Returns the last offset between two complete lines at which an episode ends; 0 if there is none.
std::size_t ChunkReader::find_cut() const {
    const std::string_view text = buffer_;
    const std::size_t feed = text.rfind('\n');
    if (feed == std::string_view::npos) return 0;
    for (std::size_t end = feed + 1; end > 0;) {
        const std::string_view next = line_before(text, end);
        const std::size_t border = end - 1 - next.size();
        if (border > 0 && episode_ends(format_, line_before(text, border), next)) return border;
        end = border;
    }
    return 0;
}

void ChunkReader::throw_too_long() const {
    const bool episodes = format_ == TextFormat::parlai || format_ == TextFormat::fbdialog;
    throw_bad_text({&paths_[file_index_], next_line_},
                   std::string(episodes ? "an episode" : "a line") + " of more than " +
                       std::to_string(longest_chunk_bytes >> 20) + " MiB begins here; " +
                       (format_ == TextFormat::parlai ? "mark ends with episode_done:True"
                        : episodes                    ? "begin episodes with line number 1"
                                                      : "break it into shorter lines"));
}

}  // namespace lockstep::data
