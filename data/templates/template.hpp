// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/templates/machine.hpp"

namespace lockstep::data {

struct ByteRange {
    std::size_t begin = 0, end = 0;
    friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// What a template makes of a conversation. The ranges are in order and do not touch.
struct RenderedText {
    std::string text;
    std::vector<ByteRange> from_data;   // the words of the data, and not of the template
    std::vector<ByteRange> generation;  // what {% generation %} blocks wrote
};

struct RenderOptions {
    std::optional<jinja::Date> date = std::nullopt;  // nothing: there is no strftime_now
    jinja::Limits limits = {};
};

// A template in the language of Jinja, as transformers renders chat templates: with trim_blocks,
// lstrip_blocks, loop controls and {% generation %}. Several threads may call render() at once.
class Template {
public:
    // `name` is for errors, which are data errors "NAME:LINE: what".
    Template(std::string_view source, std::string name);
    ~Template();
    Template(Template&&) noexcept;
    Template& operator=(Template&&) noexcept;

    // The texts of `data` are words of the data, but for "role": "user" and the like; those of
    // `constants` are the template's own, such as the names of special tokens. `constants` hides
    // members of `data`. Both are objects.
    RenderedText render(const nlohmann::ordered_json& data, const nlohmann::ordered_json& constants,
                        const RenderOptions& options = {}) const;

    const std::string& name() const noexcept { return name_; }

private:
    struct Parsed;
    std::string name_;
    std::unique_ptr<const Parsed> parsed_;
};

}  // namespace lockstep::data
