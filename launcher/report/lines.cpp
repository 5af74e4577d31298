// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/lines.hpp"

#include "runtime/core/read_file.hpp"

namespace lockstep::launcher::report {

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
        too_long_ = too_long_ || line_.size() + part.size() > longest_line_bytes;
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

void for_each_line(const std::string& path, const std::function<void(std::string_view)>& action) {
    Splitter lines(action);
    read_blocks(path, "cannot be read", [&lines](std::string_view block) { lines.add(block); });
}

}  // namespace lockstep::launcher::report
