// SPDX-License-Identifier: Apache-2.0
// What transformers' renderer makes of small templates (make_template_golden.py), and what only
// Lockstep promises: marks of the words of the data, limits, dates.
#include "data/templates/template.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/core/error.hpp"

using namespace lockstep;
using Json = nlohmann::ordered_json;
using Ranges = std::vector<data::ByteRange>;

namespace {

constexpr data::jinja::Date some_day{2024, 7, 6};

Json golden() {
    std::ifstream file("tests/data/templates/golden/rendered.json");
    return Json::parse(file);
}

data::RenderedText render(std::string_view source, const Json& data = Json::object(),
                          const Json& constants = Json::object(),
                          const data::RenderOptions& options = {}) {
    return data::Template(source, "chat.jinja").render(data, constants, options);
}

std::string error_of(std::string_view source, const data::RenderOptions& options = {}) {
    try {
        render(source, Json::object(), Json::object(), options);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::data);
        return error.what();
    }
    return "no error";
}

// The bytes that are in the ranges, with a bar behind each range.
std::string marked(const data::RenderedText& rendered, const Ranges& ranges) {
    std::string out;
    for (const auto& [begin, end] : ranges) out += rendered.text.substr(begin, end - begin) + "|";
    return out;
}

}  // namespace

TEST_CASE("templates are rendered as transformers renders them") {
    const Json expected = golden();
    REQUIRE(expected["cases"].size() > 80);
    const data::RenderOptions options{.date = some_day, .limits = {}};
    for (const Json& one : expected["cases"]) {
        const auto name = one["name"].get<std::string>();
        CAPTURE(name);
        const auto source = one["template"].get<std::string>();
        if (one.contains("error")) {
            const std::string place =
                "chat.jinja:" + std::to_string(one["error_line"].get<int>()) + ": ";
            try {
                render(source, expected["data"], expected["constants"], options);
                FAIL_CHECK("no error");
            } catch (const Error& error) {
                CHECK(std::string(error.what()).starts_with(place));
            }
            continue;
        }
        const auto rendered = render(source, expected["data"], expected["constants"], options);
        CHECK(rendered.text == one["text"].get<std::string>());
        Ranges generation;
        for (const Json& range : one["generation"])
            generation.push_back({range[0].get<std::size_t>(), range[1].get<std::size_t>()});
        CHECK(rendered.generation == generation);
    }
}

TEST_CASE("the words of the data stay marked through what a template does with them") {
    const Json data = {{"x", "a<b>c"}, {"d", {{"k<", "v"}}}, {"n", 12}};
    const Json constants = {{"end", "</s>"}};
    const auto words = [&](std::string_view source) {
        const auto rendered = render(source, data, constants);
        return marked(rendered, rendered.from_data);
    };
    CHECK(words("[{{ x }}]{{ end }}") == "a<b>c|");
    CHECK(words("{{ 'u' + x ~ end }}") == "a<b>c|");
    CHECK(words("{{ x[1:4] }}{{ x.split('<') | join('-') }}") == "<b>a|b>c|");
    CHECK(words("{{ ('  ' + x) | trim | upper }}{{ x | replace('b', end) }}") == "A<B>Ca<|>c|");
    CHECK(words("{{ d | tojson }}") == "k<|v|");
    CHECK(words("{{ d }}{% for k, v in d | items %}{{ k }}={{ v }}{% endfor %}") == "k<|v|k<|v|");
    CHECK(words("{% set y %}({{ x }}){% endset %}{{ y }}") == "a<b>c|");
    CHECK(words("{% macro m(y) %}({{ y }}){% endmacro %}{{ m(x) }}") == "a<b>c|");
    CHECK(words("{% set ns = namespace(s='') %}{% set ns.s = ns.s + x %}{{ ns.s }}{{ n }}") ==
          "a<b>c|");
    CHECK(words("{{ x | string | safe | default('z') | list | reverse | join }}") == "c>b<a|");
    CHECK(words("no words {{ end }}") == "");
    const auto roles = render("<|{{ m[0].role }}|><|{{ m[1].role }}|>{{ m[0].name }}",
                              {{"m", {{{"role", "user"}, {"name", "user"}}, {{"role", "end"}}}}});
    CHECK(roles.text == "<|user|><|end|>user");
    CHECK(marked(roles, roles.from_data) == "end|user|");
}

TEST_CASE("generation blocks keep their marks in macros and texts") {
    const auto rendered = render(
        "{% macro m() %}a{% generation %}b{% endgeneration %}{% endmacro %}é{{ m() }}"
        "{% set x %}c{% generation %}d{% endgeneration %}{% endset %}{{ x }}e");
    CHECK(rendered.text == "éabcde");
    CHECK(marked(rendered, rendered.generation) == "b|d|");
}

TEST_CASE("strftime_now is the given day, and is not there without one") {
    const data::RenderOptions options{.date = some_day, .limits = {}};
    const Json none = Json::object();
    CHECK(render("{{ strftime_now('%d %b %Y, %A, %-d.%-m.%y %F %B %a %j %H:%M %%') }}", none, none,
                 options)
              .text == "06 Jul 2024, Saturday, 6.7.24 2024-07-06 July Sat 188 00:00 %");
    CHECK(render("{{ strftime_now is defined }}").text == "False");
    CHECK(error_of("{{ strftime_now('%d') }}") ==
          "chat.jinja:1: 'strftime_now' is undefined without a day; give prepare one by "
          "--date, or let the template ask whether it is defined");
    CHECK(error_of("{{ strftime_now('%Q') }}", options) ==
          "chat.jinja:1: strftime_now: the code '%Q' is not supported");
}

TEST_CASE("a template cannot use up time, memory or the stack") {
    const std::string deep(10'000, '('), brackets(10'000, '['), nots = [] {
        std::string text;
        for (int i = 0; i < 10'000; ++i) text += "not ";
        return text;
    }();
    std::string blocks, sum = "{{ 1", members = "{{ x";
    for (int i = 0; i < 10'000; ++i) {
        blocks += "{% if 1 %}";
        sum += " + 1";
        members += ".a";
    }
    for (const std::string& source :
         {"{{ " + deep,
          "{{ " + brackets,
          "{{ " + nots + "1 }}",
          blocks,
          sum + " }}",
          members + " }}",
          std::string("{% for i in range(10000000000) %}{% endfor %}"),
          std::string("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}"
                      "{% endfor %}"),
          std::string("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
          std::string("{% set ns = namespace(x='a') %}{% for i in range(99) %}"
                      "{% set ns.x = ns.x + ns.x %}{% endfor %}"),
          std::string("{% set ns = namespace(x='a') %}{% for i in range(99) %}"
                      "{% set ns.x = ns.x ~ ns.x %}{% endfor %}"),
          std::string("{% set ns = namespace(x=[1]) %}{% for i in range(99) %}"
                      "{% set ns.x = ns.x + ns.x %}{% endfor %}"),
          std::string("{% set ns = namespace(x=[]) %}{% for i in range(99999) %}"
                      "{% set ns.x = [ns.x] %}{% endfor %}"),
          std::string("{% set ns = namespace(x={}) %}{% for i in range(99999) %}"
                      "{% set ns.x = {'a': ns.x} %}{% endfor %}"),
          std::string("{% set ns = namespace() %}{% for i in range(99999) %}"
                      "{% for y in [ns.x] %}{% set ns.x = loop %}{% endfor %}{% endfor %}"),
          std::string("{% set ns = namespace() %}{% set ns.x = {'a': 1} %}"
                      "{% for i in range(99999) %}{% set ns.x = {'a': ns.x.get} %}{% endfor %}"),
          std::string("{{ 'a' * 99999999999 }}"),
          std::string("{{ [0] * 99999999999 }}"),
          std::string("{{ 9 ** 9999999999 }}"),
          std::string("{{ 'ab' * 999999 * 99 }}"),
          std::string("{{ ('a' * 999999).replace('a', 'b' * 999) }}"),
          std::string("{{ ('a' * 999999) | list | join('b' * 999) }}"),
          std::string("{% for i in range(99999) %}{{ 'a' * 999 }}{% endfor %}"),
          std::string("{% set x = 'a' * 9999999 %}{% for i in range(9999) %}"
                      "{% if x | trim | length %}{% endif %}{% endfor %}"),
          std::string("{{ 9223372036854775807 + 1 }}"),
          std::string("{{ 99999999999999999999 }}")}) {
        CAPTURE(source.substr(0, 60));
        CHECK(error_of(source).starts_with("chat.jinja:1: "));
    }
}

TEST_CASE("namespaces that hold each other are no leak") {
    CHECK(render("{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}"
                 "{% set a.a = a %}{{ a.b.a.a.b is defined }}")
              .text == "True");
    CHECK(error_of("{% set a = namespace() %}{{ a }}") ==
          "chat.jinja:1: a value of the type namespace has no text");
}

TEST_CASE("errors name the template's line and say what is not supported") {
    CHECK(error_of("a\n{% include 'x' %}") ==
          "chat.jinja:2: the tag 'include' is unknown or not supported here");
    CHECK(error_of("\n\n{{ 'a' % 1 }}") ==
          "chat.jinja:3: '%' with a text on its left is not supported; use '~'");
    CHECK(error_of("{{ range(*x) }}") == "chat.jinja:1: arguments with '*' are not supported");
    CHECK(error_of("{% for x in y recursive %}{% endfor %}") ==
          "chat.jinja:1: a recursive loop is not supported");
    CHECK(error_of("{% break %}") == "chat.jinja:1: 'break' stands outside of a loop");
    CHECK(error_of("{{ 'é' | upper }}") ==
          "chat.jinja:1: upper-case letters are only made of ASCII; take the filter out");
    CHECK(error_of("{{ raise_exception('a\nb') }}").starts_with("chat.jinja:1: a"));
    CHECK(error_of("\xFF") == "chat.jinja: not UTF-8, at its byte 1");
}
