// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "data/templates/template.hpp"
#include "tests/fuzz/target.hpp"

using namespace lockstep;

namespace {

// A thousandth of the usual limits: a fuzzer looks for what is beside them.
constexpr data::jinja::Limits small{.steps = 10'000,
                                    .text_bytes = std::size_t{1} << 16,
                                    .work_bytes = std::size_t{1} << 22,
                                    .value_levels = 100,
                                    .call_levels = 600};

const nlohmann::ordered_json& talk() {
    static const auto json = nlohmann::ordered_json::parse(R"({"messages": [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": " What \u00e9? "},
        {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f",
        "arguments": {"a": [1, 2.5, true], "b": {"c": "<|end|>"}}}}]}], "tools": null,
        "add_generation_prompt": true})");
    return json;
}

void expect_ranges(const std::vector<data::ByteRange>& ranges, std::size_t size) {
    std::size_t done = 0;
    for (const data::ByteRange& range : ranges) {
        fuzz::expect(range.begin >= done && range.begin < range.end && range.end <= size,
                     "ranges that are not in order");
        done = range.end;
    }
}

}  // namespace

// The input is a chat template.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::expect_answer([&] {
        const data::Template given(fuzz::text_of(data, size), "chat.jinja");
        const data::RenderOptions options{.date = data::jinja::Date{2024, 7, 26}, .limits = small};
        const auto rendered = given.render(talk(), {{"bos_token", "<s>"}}, options);
        fuzz::expect(rendered.text.size() <= small.text_bytes, "a text beyond the limit");
        expect_ranges(rendered.from_data, rendered.text.size());
        expect_ranges(rendered.generation, rendered.text.size());
    });
    return 0;
}
