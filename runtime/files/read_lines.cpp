// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/read_lines.hpp"

#include <ios>
#include <string>

#include "runtime/core/error.hpp"
#include "runtime/core/read_file.hpp"
#include "runtime/core/text_start.hpp"

namespace lockstep {

namespace {

[[noreturn]] void refuse_line(const std::string& path, std::uint64_t number) {
    throw Error(ErrorKind::data,
                path + ":" + std::to_string(number) + ": the line is longer than " +
                    std::to_string(longest_text_line_bytes >> 20) + " MiB; is it the right file?");
}

class Splitter {
public:
    Splitter(const std::string& path, const std::function<void(std::string_view)>& action)
        : path_(path), action_(action) {}

    void add(std::string_view block) {
        for (std::size_t end; (end = block.find('\n')) != std::string_view::npos;) {
            keep(block.substr(0, end));
            action_(line_);
            ++number_;
            line_.clear();
            bytes_ = 0;
            block.remove_prefix(end + 1);
        }
        keep(block);
    }

private:
    void keep(std::string_view part) {
        bytes_ += part.size();
        if (bytes_ > longest_text_line_bytes) refuse_line(path_, number_);
        if (bytes_ > longest_kept_line_bytes) {
            line_.clear();
        } else {
            line_ += part;
        }
    }

    const std::string& path_;
    const std::function<void(std::string_view)>& action_;
    std::uint64_t number_ = 1;  // of the line
    std::size_t bytes_ = 0;     // of the line so far
    std::string line_;          // empty if it is too long to be kept
};

bool read_whole_line(std::istream& in, std::string& line, const std::string& path,
                     std::uint64_t number) {
    line.clear();
    for (char part[4096];;) {
        in.getline(part, sizeof part);
        const auto got = static_cast<std::size_t>(in.gcount());
        // The line feed is counted, but not stored.
        const bool ended = !in.eof() && !in.fail();
        line.append(part, ended ? got - 1 : got);
        if (line.size() > longest_text_line_bytes) refuse_line(path, number);
        if (ended) return true;
        if (in.bad() || (!in.eof() && got == 0)) return false;
        if (!in.eof()) {
            in.clear();  // the part is full, which counts as a failure
            continue;
        }
        if (!line.empty()) in.clear(std::ios::eofbit);
        return !line.empty();
    }
}

}  // namespace

bool read_line(std::istream& in, std::string& line, const std::string& path, std::uint64_t number) {
    if (!read_whole_line(in, line, path, number)) return false;
    if (number == 1) line.erase(0, mark_bytes(line, path));
    if (!in.eof()) return true;
    line.resize(line.find_last_not_of(end_of_dos_text) + 1);
    return !line.empty();
}

void for_each_line(const std::string& path, const std::function<void(std::string_view)>& action) {
    Splitter lines(path, action);
    read_blocks(path, "cannot be read", [&lines](std::string_view block) { lines.add(block); });
}

}  // namespace lockstep
