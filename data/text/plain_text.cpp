// SPDX-License-Identifier: Apache-2.0
#include "data/text/plain_text.hpp"

#include <string>

#include "data/text/format_hint.hpp"
#include "data/text/plain_lines.hpp"

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

void warn_of_other_format(const TextChunk& chunk, Warnings& warnings) {
    if (chunk.first_line != 1) return;
    const SourceLine line{&chunk.path, 1};
    const std::string_view first = std::string_view(chunk.text).substr(0, chunk.text.find('\n'));
    if (looks_like_json(first))
        warnings.add(
            "a file of JSON is read as plain text, with its braces and names, as no line of it "
            "begins "
            "with an object that has a \"text\"; say --format messages or jsonl if it holds "
            "conversations",
            line);
    if (looks_like_parlai_text(first))
        warnings.add(
            "a file of ParlAI text is read as plain text, with the names of its fields; say "
            "--format parlai",
            line);
}

void hand_on(const TextChunk& chunk, Documents documents,
             const std::function<void(std::string_view)>& text,
             const std::function<void()>& document_end) {
    if (documents == Documents::blank_line) {
        read_paragraphs(chunk, text, document_end);
    } else if (chunk.text.find('\r') == std::string::npos) {
        text(chunk.text);
    } else {
        text(with_plain_line_ends(chunk.text));
    }
    if (chunk.ends == TextChunk::Ends::file) document_end();
}

}  // namespace

void read_plain_text(const TextChunk& chunk, Documents documents, Warnings& warnings,
                     const std::function<void(std::string_view)>& text,
                     const std::function<void()>& document_end) {
    const std::optional<TextChunk> mended = with_plain_lines(chunk, warnings);
    warn_of_other_format(mended ? *mended : chunk, warnings);
    hand_on(mended ? *mended : chunk, documents, text, document_end);
}

}  // namespace lockstep::data
