// SPDX-License-Identifier: Apache-2.0
#include "data/text/plain_text.hpp"

#include <string>

namespace lockstep::data {
namespace {

std::string with_plain_line_ends(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') out += text[i];
    return out;
}

void read_paragraphs(const TextChunk& chunk, const std::function<void(std::string_view)>& text,
                     const std::function<void()>& document_end) {
    std::string run;
    const auto hand_on = [&] {
        if (!run.empty()) text(run);
        run.clear();
    };
    for_each_line(chunk, [&](std::string_view line, const SourceLine&) {
        if (line.find_first_not_of(" \t") != std::string_view::npos) {
            run.append(line) += '\n';
            return;
        }
        hand_on();
        document_end();
    });
    hand_on();
}

}  // namespace

void read_plain_text(const TextChunk& chunk, Documents documents,
                     const std::function<void(std::string_view)>& text,
                     const std::function<void()>& document_end) {
    check_encoding(chunk);
    if (documents == Documents::blank_line) {
        read_paragraphs(chunk, text, document_end);
    } else if (chunk.text.find('\r') == std::string::npos) {
        text(chunk.text);
    } else {
        text(with_plain_line_ends(chunk.text));
    }
    if (chunk.ends == TextChunk::Ends::file) document_end();
}

}  // namespace lockstep::data
