// SPDX-License-Identifier: Apache-2.0
#include "launcher/generate/line_reader.hpp"

#include <unistd.h>

#include <cstdint>
#include <iostream>

#include "launcher/generate/line_editor.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/read_lines.hpp"

namespace lockstep::launcher {

namespace {

class PlainReader final : public LineReader {
public:
    explicit PlainReader(std::string prompt) : prompt_(std::move(prompt)) {}

    bool next(std::string& line) override {
        if (isatty(STDIN_FILENO) == 1) std::cout << prompt_ << std::flush;
        if (!read_line(std::cin, line, "standard input", ++number_)) return false;
        if (!line.empty() && line.back() == '\r') line.pop_back();
        if (isatty(STDIN_FILENO) == 0)
            std::cout << prompt_ << printable_lines(line) << '\n' << std::flush;
        return true;
    }

private:
    const std::string prompt_;
    std::uint64_t number_ = 0;
};

}  // namespace

std::unique_ptr<LineReader> make_line_reader(const std::string& prompt) {
    if (isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1)
        return std::make_unique<LineEditor>(prompt);
    return std::make_unique<PlainReader>(prompt);
}

}  // namespace lockstep::launcher
