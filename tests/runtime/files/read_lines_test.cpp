// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/read_lines.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <sstream>
#include <streambuf>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; read_line(in, line, "text", lines.size() + 1);) lines.push_back(line);
    CHECK(in.eof());
    CHECK_FALSE(in.bad());
    return lines;
}

// A stream of one character without end, as /dev/zero is. It counts what was read of it.
class Endless : public std::streambuf {
public:
    std::size_t blocks() const noexcept { return blocks_; }

private:
    int_type underflow() override {
        ++blocks_;
        setg(block_, block_, block_ + sizeof block_);
        return traits_type::to_int_type(block_[0]);
    }

    char block_[4096] = {};
    std::size_t blocks_ = 0;
};

}  // namespace

TEST_CASE("a line is read as std::getline does, whatever its length") {
    using Lines = std::vector<std::string>;
    CHECK(lines_of("").empty());
    CHECK(lines_of("\n") == Lines{""});
    CHECK(lines_of("a\n\nb") == Lines{"a", "", "b"});
    CHECK(lines_of(std::string("a\0b\r\n", 5)) == Lines{std::string("a\0b\r", 4)});
    for (const std::size_t bytes : {4094, 4095, 4096, 8190, 8191, 1 << 20}) {
        const std::string line(bytes, 'x');
        CHECK(lines_of(line) == Lines{line});
        CHECK(lines_of(line + "\n") == Lines{line});
        CHECK(lines_of(line + "\n\n" + line) == Lines{line, "", line});
    }
}

TEST_CASE("a line that is too long is refused by file and line, and no more of it is read") {
    Endless zeros;
    std::istream in(&zeros);
    std::string line;
    CHECK_THROWS_WITH_AS(read_line(in, line, "/dev/zero", 7),
                         "/dev/zero:7: the line is longer than 1 MiB; is it the right file?",
                         Error);
    CHECK(zeros.blocks() <= longest_text_line_bytes / 4096 + 2);
    CHECK_THROWS_AS(lines_of(std::string(longest_text_line_bytes + 1, 'x') + "\n"), Error);
}

TEST_CASE("lines of a file come one by one, without one that has no end or is too long") {
    const tests::ScratchFolder scratch;
    tests::write_text(scratch / "lines", "one\n\n" + std::string(longest_kept_line_bytes + 1, 'x') +
                                             "\n" + std::string(300000, 'y') + "\nlast\nunfin");
    std::vector<std::string> lines;
    for_each_line(scratch / "lines", [&](std::string_view line) { lines.emplace_back(line); });
    CHECK(lines == std::vector<std::string>{"one", "", "", "", "last"});
    CHECK_THROWS_AS(for_each_line(scratch / "none", [](std::string_view) {}), Error);
    tests::write_text(scratch / "sparse", "one\n");
    std::filesystem::resize_file(scratch / "sparse", std::uintmax_t{1} << 40);
    const std::string refused =
        (scratch / "sparse") + ":2: the line is longer than 1 MiB; is it the right file?";
    CHECK_THROWS_WITH_AS(for_each_line(scratch / "sparse", [](std::string_view) {}),
                         refused.c_str(), Error);
    CHECK_THROWS_AS(for_each_line(scratch.path(), [](std::string_view) {}), Error);
}

TEST_CASE(
    "a byte order mark and a Ctrl-Z at the end are no part of a text, and UTF-16 is refused") {
    using Lines = std::vector<std::string>;
    CHECK(lines_of("\xEF\xBB\xBF"
                   "a\n\xEF\xBB\xBF"
                   "b\n") == Lines{"a",
                                   "\xEF\xBB\xBF"
                                   "b"});
    CHECK(lines_of("\xEF\xBB\xBF").empty());
    CHECK(lines_of("a\r\n\x1A") == Lines{"a\r"});
    CHECK(lines_of("a\x1A\x1A") == Lines{"a"});
    CHECK(lines_of("a\x1A\nb") == Lines{"a\x1A", "b"});
    for (const std::string& text :
         {std::string("\xFF\xFEh\0i\0\n\0", 8), std::string("h\0i\0\n\0", 6)})
        CHECK_THROWS_WITH_AS(lines_of(text), doctest::Contains("text: is UTF-16"), Error);
}
