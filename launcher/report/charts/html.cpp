// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/charts/html.hpp"

#include "data/text/unicode.hpp"

namespace lockstep::launcher::report {

namespace {

// XML forbids the other control characters and the last two code points of each plane.
bool is_text(char32_t c) {
    if (c < 0x20) return c == '\n' || c == '\t';
    const bool direction = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
    return !(c >= 0x7F && c < 0xA0) && !direction && (c & 0xFFFE) != 0xFFFE;
}

void append_escaped(char32_t c, std::string& out) {
    switch (c) {
        case '&':
            out += "&amp;";
            return;
        case '<':
            out += "&lt;";
            return;
        case '>':
            out += "&gt;";
            return;
        case '"':
            out += "&quot;";
            return;
        case '\'':
            out += "&#39;";
            return;
        default:
            data::unicode::append(is_text(c) ? c : U'\uFFFD', out);
    }
}

std::string row(const char* first, const char* others, const Cells& cells) {
    std::string html = "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string tag = i == 0 ? first : others;
        html += "<" + tag + ">" + escaped(cells[i]) + "</" + tag.substr(0, 2) + ">";
    }
    return html + "</tr>\n";
}

}  // namespace

std::string escaped(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const auto [code_point, bytes] = data::unicode::decode(text);
        append_escaped(bytes == 0 ? U'\uFFFD' : code_point, out);
        text.remove_prefix(bytes == 0 ? 1 : bytes);
    }
    return out;
}

std::string table(TableKind kind, const Cells& head, const std::vector<Cells>& rows) {
    std::string html = "<div class=\"scroll\"><table";
    html += kind == TableKind::numbers ? " class=\"numbers\">\n" : ">\n";
    constexpr const char* column = "th scope=\"col\"";
    if (!head.empty()) html += "<thead>" + row(column, column, head) + "</thead>\n";
    html += "<tbody>\n";
    for (const Cells& cells : rows) html += row("th scope=\"row\"", "td", cells);
    return html + "</tbody></table></div>\n";
}

std::string folded(std::string_view line, std::string_view content) {
    return "<details>\n<summary>" + escaped(line) + "</summary>\n" + std::string(content) +
           "</details>\n";
}

}  // namespace lockstep::launcher::report
