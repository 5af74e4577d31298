// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/ordered_json.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

using namespace lockstep;

TEST_CASE("values, and the order of members, are those of nlohmann's own parser") {
    for (const char* text :
         {R"({"z": 1, "a": [1, -2, 3.5, true, false, null, "é\n"], "m": {"y": {}, "b": []}})",
          R"([[[]], {"a": {"b": {"c": [{"d": 18446744073709551615}]}}}, {}])", "7", "\"text\"",
          "null", " [ ] "}) {
        CAPTURE(text);
        CHECK(try_parse_ordered_json(text).dump() == nlohmann::ordered_json::parse(text).dump());
    }
}

TEST_CASE("a member that is there twice has its first place and its last value") {
    CHECK(try_parse_ordered_json(R"({"a": 1, "b": {"c": 2}, "a": [3], "b": 4})").dump() ==
          R"({"a":[3],"b":4})");
}

TEST_CASE("text that is not JSON is told by a discarded value") {
    for (const char* text : {"", "{", "[1,]", "{\"a\"}", "1 2", "1e999", "\"\xff\"", "nul", "}"}) {
        CAPTURE(text);
        CHECK(try_parse_ordered_json(text).is_discarded());
    }
}

// A parser that compares each name with all earlier ones would take hours.
TEST_CASE("an object with very many members is parsed") {
    constexpr int count = 900'000;
    std::string text = "{";
    for (int i = 0; i < count; ++i) text += "\"member" + std::to_string(i) + "\":0,";
    text += "\"last\":1}";
    const auto json = try_parse_ordered_json(text);
    REQUIRE(json.size() == count + 1);
    CHECK(json.back() == 1);
}
