// SPDX-License-Identifier: Apache-2.0
#include "data/text/escaped_bytes.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "data/text/unicode.hpp"
#include "runtime/core/json_text.hpp"

using lockstep::data::escape_bytes;
using lockstep::data::unescape_bytes;

TEST_CASE("any bytes become UTF-8 and come back") {
    std::set<std::string> texts;
    const auto check = [&](const std::string& bytes) {
        const std::string text = escape_bytes(bytes);
        CHECK(lockstep::data::unicode::first_invalid(text) == text.size());
        CHECK(unescape_bytes(text) == bytes);
        CHECK(lockstep::parse_json(lockstep::dump_json(nlohmann::json(text))).get<std::string>() ==
              text);
        CHECK(texts.insert(text).second);
    };
    for (int byte = 0; byte < 256; ++byte) {
        check(std::string(1, static_cast<char>(byte)));
        check("/data/\xC3\xA9" + std::string(1, static_cast<char>(byte)) + "x");
    }
    check("");
    check(escape_bytes("\xFF"));  // a text that looks escaped already
    check(escape_bytes(escape_bytes("\xFF\xFE")));
    check("cut \xE2\x82");
}

TEST_CASE("UTF-8 stays as it is") {
    CHECK(escape_bytes("/home/zoë/数据 1") == "/home/zoë/数据 1");
    CHECK(unescape_bytes("/home/zoë/数据 1") == "/home/zoë/数据 1");
    CHECK(escape_bytes("a\xFF") == "a\xF4\x8F\xBF\xBF");
}
