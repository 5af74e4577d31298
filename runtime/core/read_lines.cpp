// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/read_lines.hpp"

#include <ios>

#include "runtime/core/error.hpp"
#include "runtime/core/read_file.hpp"

namespace lockstep {

namespace {

class Splitter {
public:
    explicit Splitter(const std::function<void(std::string_view)>& action) : action_(action) {}

    void add(std::string_view block) {
        for (std::size_t end; (end = block.find('\n')) != std::string_view::npos;) {
            keep(block.substr(0, end));
            action_(too_long_ ? std::string_view() : line_);
            line_.clear();
            too_long_ = false;
            block.remove_prefix(end + 1);
        }
        keep(block);
    }

private:
    void keep(std::string_view part) {
        too_long_ = too_long_ || line_.size() + part.size() > longest_kept_line_bytes;
        if (too_long_) {
            line_.clear();
        } else {
            line_ += part;
        }
    }

    const std::function<void(std::string_view)>& action_;
    std::string line_;
    bool too_long_ = false;
};

}  // namespace

bool read_line(std::istream& in, std::string& line, const std::string& path, std::uint64_t number) {
    line.clear();
    for (char part[4096];;) {
        in.getline(part, sizeof part);
        const auto got = static_cast<std::size_t>(in.gcount());
        // The line feed is counted, but not stored.
        const bool ended = !in.eof() && !in.fail();
        line.append(part, ended ? got - 1 : got);
        if (line.size() > longest_text_line_bytes)
            throw Error(ErrorKind::data, path + ":" + std::to_string(number) +
                                             ": the line is longer than " +
                                             std::to_string(longest_text_line_bytes >> 20) +
                                             " MiB; is it the right file?");
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

void for_each_line(const std::string& path, const std::function<void(std::string_view)>& action) {
    Splitter lines(action);
    read_blocks(path, "cannot be read", [&lines](std::string_view block) { lines.add(block); });
}

}  // namespace lockstep
