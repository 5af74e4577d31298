// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/printable.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "runtime/core/error.hpp"
#include "runtime/core/log.hpp"

using namespace lockstep;

TEST_CASE("control characters and bytes that are not UTF-8 become visible, other text stays") {
    CHECK(printable("plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80") ==
          "plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
    CHECK(printable("\x1b[31m\a\n\r\t\x7f") == "\\x1b[31m\\x07\\x0a\\x0d\\x09\\x7f");
    CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
    CHECK(printable("\xff\xc3(\xe2\x82") == "\\xff\\xc3(\\xe2\\x82");
    CHECK(printable("\xc2\x9b") ==
          "\\xc2\\x9b");  // U+009B begins an escape sequence, as ESC [ does
    CHECK(printable(printable("\x1b\xff")) == printable("\x1b\xff"));
    CHECK(printable_lines("a\n\tb\x1b") == "a\n\tb\\x1b");
}

TEST_CASE("a value is shown up to its 80th character") {
    CHECK(shown(std::string(80, 'a')) == std::string(80, 'a'));
    CHECK(shown(std::string(100'000, 'a')) == std::string(80, 'a') + "...");
    CHECK(shown(std::string(79, 'a') + "\xc3\xa4\xc3\xa4") == std::string(79, 'a') + "\xc3\xa4...");
}

TEST_CASE("an error is one short line whatever its values are") {
    const Error error(ErrorKind::data,
                      "a\x1b" + std::string(100'000, '\xc3') + "\nb; do this instead");
    const std::string text = error.what();
    CHECK(text.size() < 10'000);
    CHECK(text.starts_with("a\\x1b\\xc3"));
    CHECK(text.find('\n') == std::string::npos);
    CHECK(text.ends_with("; do this instead"));
}

TEST_CASE("lines of the log show control characters, but keep their line feeds") {
    std::ostringstream out;
    Log log(out, Verbosity::normal, 0, "");
    log.info("a\x1b]0;title\a\nb");
    CHECK(out.str() == "a\\x1b]0;title\\x07\nb\n");
}
