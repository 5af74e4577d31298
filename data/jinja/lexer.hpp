// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data::jinja {

struct Token {
    enum class Kind {
        data,            // text between the tags
        block_begin,     // {%
        block_end,       // %}
        variable_begin,  // {{
        variable_end,    // }}
        name,
        text,
        whole,
        real,
        operation,
        end
    } kind = Kind::end;
    int line = 0;
    std::string text = {};
    std::int64_t whole = 0;
    double real = 0;
};

// Throws a data error "NAME:LINE: what".
[[noreturn]] void throw_bad_template(const std::string& name, int line, const std::string& what);

// Divides a template into tokens, as jinja2 does with trim_blocks and lstrip_blocks: the line end
// behind a block and the spaces before it on its line are no text. The last token is the end.
std::vector<Token> template_tokens(std::string_view source, const std::string& name);

}  // namespace lockstep::data::jinja
