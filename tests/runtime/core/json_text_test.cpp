// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/json_text.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "runtime/core/json_names.hpp"
#include "runtime/core/json_object.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using Json = nlohmann::json;

namespace {

std::string repeated(const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

template <class Action>
std::string complaint(Action action) {
    try {
        action();
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::data);
        return error.what();
    }
    return "no error";
}

}  // namespace

TEST_CASE("text of more than 64 levels or a million values is not parsed") {
    CHECK(json_excess(repeated("[", 64) + repeated("]", 64)).empty());
    CHECK_FALSE(json_excess(repeated("[", 65) + repeated("]", 65)).empty());
    CHECK_FALSE(json_excess(repeated("{\"a\":", 65)).empty());
    CHECK(json_excess(repeated("[]", 1000)).empty());
    CHECK(json_excess("[" + repeated("1,", 999'990) + "1]").empty());
    CHECK_FALSE(json_excess("[" + repeated("1,", 1'000'000) + "1]").empty());
}

TEST_CASE("brackets and commas inside of strings are text") {
    CHECK(json_excess("\"" + repeated("[", 100) + "\"").empty());
    CHECK(json_excess("\"\\\"" + repeated("{", 100) + "\"").empty());
    CHECK_FALSE(json_excess("\"\\\\\"" + repeated("{", 100)).empty());
    CHECK(json_excess("\"\\").empty());
}

TEST_CASE("a file that is nested too deeply is named") {
    const tests::ScratchFolder folder;
    tests::write_text(folder / "a.json", repeated("[", 100'000));
    CHECK_THROWS_WITH_AS(
        read_json_text(folder / "a.json"),
        (folder / "a.json: is damaged: its values are nested in more than 64 levels").c_str(),
        Error);
}

TEST_CASE("a member that is not as it must be is named with its place and its range") {
    const Json json = Json::parse(
        R"({"a": {"list": [{"n": 3}, {"n": -1}, {"n": 1.5}, {"n": 18446744073709551615}]},
            "text": 7, "number": 1e308})");
    const JsonOrigin origin{"x.json", "; restore it"};
    const JsonObject root(json, origin);
    const auto list = root.object("a").objects("list");
    const auto n = [&](std::size_t i) { return list.at(i).whole<std::int32_t>("n", {0, 9}); };
    CHECK(n(0) == 3);
    for (const std::size_t i : {1, 2, 3})
        CHECK(complaint([&] { n(i); }) == "x.json: is damaged: \"a/list/" + std::to_string(i) +
                                              "/n\" is not a whole number from 0 to 9; restore it");
    CHECK(list.at(3).whole<std::uint64_t>("n", {0, std::numeric_limits<std::uint64_t>::max()}) ==
          std::numeric_limits<std::uint64_t>::max());
    CHECK(complaint([&] { list.at(3).count("n"); }).find("\"a/list/3/n\"") != std::string::npos);
    CHECK(complaint([&] { root.text("text"); }) ==
          "x.json: is damaged: \"text\" is not text; restore it");
    CHECK(complaint([&] { root.text("none"); }) ==
          "x.json: is damaged: \"none\" is missing; restore it");
    CHECK(complaint([&] {
              root.number("number", {0, 1e6});
          }).find("\"number\" is not a number") != std::string::npos);
    CHECK(complaint([&] { root.object("text"); }).find("\"text\" is not an object") !=
          std::string::npos);
    CHECK(complaint([&] { root.objects("text"); }).find("\"text\" is not a list") !=
          std::string::npos);
    const Json array = Json::array();
    CHECK(complaint([&] { JsonObject(array, origin); }) ==
          "x.json: is damaged: not a JSON object; restore it");
}

TEST_CASE("a name that an object has twice is found, at any depth and in any order") {
    CHECK(repeated_name(R"({"a":1,"b":{"a":2},"c":[{"a":1},{"a":2}],"d":"a:","e":"x\"a\": "})")
              .empty());
    CHECK(repeated_name(R"({"a":1,"b":2,"a" : 3})") == "a");
    CHECK(repeated_name(R"([{"x":{"k":1,"l":2,"k":[]}}])") == "k");
    CHECK(repeated_name(R"({"a":{"b":1},"b":1,"a":2})") == "a");
    CHECK(repeated_name("").empty());
    CHECK(repeated_name("}{\"").empty());
}

TEST_CASE("a JSON file with a byte order mark is read, one in UTF-16 is named") {
    const tests::ScratchFolder folder;
    tests::write_text(folder / "m.json", "\xEF\xBB\xBF{}");
    CHECK(read_json_text(folder / "m.json") == "{}");
    tests::write_text(folder / "w.json", std::string("\xFF\xFE{\0}\0", 6));
    CHECK_THROWS_WITH_AS(read_json_text(folder / "w.json"), doctest::Contains("is UTF-16"), Error);
}
