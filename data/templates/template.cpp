// SPDX-License-Identifier: Apache-2.0
#include "data/templates/template.hpp"

#include <nlohmann/json.hpp>

#include "data/jinja/parser.hpp"
#include "data/templates/evaluator.hpp"
#include "data/templates/json_values.hpp"
#include "data/text/unicode.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::data {
namespace {

std::vector<ByteRange> ranges_of(const jinja::Text& text, jinja::Mark mark) {
    std::vector<ByteRange> ranges;
    for (const jinja::Run& run : text.runs()) {
        if ((run.marks & mark) == 0) continue;
        if (!ranges.empty() && ranges.back().end == run.begin)
            ranges.back().end = run.end;
        else
            ranges.push_back({run.begin, run.end});
    }
    return ranges;
}

}  // namespace

struct Template::Parsed {
    jinja::Block block;
};

Template::Template(std::string_view source, std::string name) : name_(std::move(name)) {
    const std::size_t wrong = unicode::first_invalid(source);
    if (wrong != source.size())
        throw Error(ErrorKind::data,
                    name_ + ": not UTF-8, at its byte " + std::to_string(wrong + 1));
    parsed_ = std::make_unique<const Parsed>(Parsed{jinja::parse_template(source, name_)});
}

Template::~Template() = default;
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;

RenderedText Template::render(const nlohmann::ordered_json& data,
                              const nlohmann::ordered_json& constants,
                              const RenderOptions& options) const {
    jinja::Machine machine(name_, options.limits);
    jinja::Scope context(nullptr);
    for (const auto& [name, value] : data.items())
        context.set(name, jinja::value_of(machine, value, jinja::from_data));
    for (const auto& [name, value] : constants.items())
        context.set(name, jinja::value_of(machine, value, jinja::unmarked));
    const jinja::Text text =
        jinja::Evaluator(machine, context, options.date).render(parsed_->block);
    return {text.bytes(), ranges_of(text, jinja::from_data), ranges_of(text, jinja::generation)};
}

}  // namespace lockstep::data
