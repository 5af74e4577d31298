// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/lines.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/file_descriptor.hpp"

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
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) throw_errno("cannot be read", path);
    Splitter lines(action);
    std::vector<char> block(1 << 18);
    for (;;) {
        const ssize_t got = ::read(file.raw(), block.data(), block.size());
        if (got == 0) return;
        if (got > 0) {
            lines.add({block.data(), static_cast<std::size_t>(got)});
        } else if (errno != EINTR) {
            throw_errno("cannot be read", path);
        }
    }
}

}  // namespace lockstep::launcher::report
