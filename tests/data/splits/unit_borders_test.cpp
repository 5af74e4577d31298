// SPDX-License-Identifier: Apache-2.0
#include "data/splits/unit_borders.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "data/splits/divided_text.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

TextChunk chunk_of(const std::string& text, std::uint64_t first_line = 1) {
    TextChunk chunk;
    chunk.path = "f";
    chunk.text = text;
    chunk.first_line = first_line;
    return chunk;
}

// The lines with which units begin, counted from 1.
std::vector<std::size_t> lines(const ReadOptions& read, const std::string& text) {
    UnitBorders borders(read, 2);
    std::vector<std::size_t> found;
    for (const std::size_t begin : borders.begins(chunk_of(text)))
        found.push_back(
            1 + static_cast<std::size_t>(std::count(
                    text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n')));
    return found;
}

using Lines = std::vector<std::size_t>;

}  // namespace

TEST_CASE("an episode of ParlAI's text begins behind episode_done, and a blank line is no border") {
    const ReadOptions read{.format = TextFormat::parlai};
    CHECK(
        lines(
            read,
            "\ntext:a\tlabels:b\n\ntext:c\tlabels:d\tepisode_done:False\r\n\ntext:e\tlabels:f\n") ==
        Lines{2, 6});
    CHECK(lines(read, "text:a\tlabels:b\tepisode_done:\ntext:c\tlabels:d\n") == Lines{1});
}

TEST_CASE("an FbDialog episode begins where the number does not grow") {
    const ReadOptions read{.format = TextFormat::fbdialog};
    CHECK(lines(read, "1 a\tb\n2 c\td\n\n5 c\td\n 2 x\ty\n1 x\ty\n1 x\n") == Lines{1, 5, 6, 7});
}

TEST_CASE("a line of JSON is a conversation") {
    for (const TextFormat format : {TextFormat::jsonl, TextFormat::messages})
        CHECK(lines({.format = format}, "{}\n \r\n\n{}\n{}") == Lines{1, 4, 5});
}

TEST_CASE("a document begins behind blank lines, wherever chunks are cut") {
    const ReadOptions read{.format = TextFormat::text, .documents = Documents::blank_line};
    const std::string text = "\n\na\nb\n\t\nc\n\n\nd\ne\n";
    CHECK(lines(read, text) == Lines{3, 6, 9});
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
        if (text[cut - 1] != '\n') continue;
        UnitBorders borders(read, 2);
        const std::size_t found =
            borders.begins(chunk_of(text.substr(0, cut))).size() +
            borders.begins(chunk_of(text.substr(cut), 2)).size();  // not the first line of a file
        CHECK(found == 3);
    }
}

TEST_CASE("a file without documents has stretches of 16 bytes for each token of a block") {
    const ReadOptions read{.format = TextFormat::text};
    std::string text;
    for (int line = 0; line < 12; ++line) text += "1234567\n";  // with --block-size 2, 32 bytes
    CHECK(lines(read, text) == Lines{1, 5, 9});
    UnitBorders borders(read, 2);
    CHECK(borders.begins(chunk_of(text.substr(0, 40))) == Lines{0, 32});
    CHECK(borders.begins(chunk_of(text.substr(40), 6)) == Lines{24});
    CHECK(borders.begins(chunk_of(text)) == Lines{0, 32, 64});  // another file
    CHECK(lines(read, std::string(100, 'x') + "\nb\n") == Lines{1, 2});
    UnitBorders long_blocks(read, INT64_MAX);
    CHECK(long_blocks.begins(chunk_of(text)) == Lines{0});
}

TEST_CASE("a divided chunk is the whole text in its order, with its lines and bytes") {
    const ReadOptions read{.format = TextFormat::jsonl};
    UnitChunk chunk;
    chunk.text = chunk_of("1\n2\n\n3\n4\n5\n6\n7\n8\n9\n", 5);
    chunk.text.file_bytes = 19;
    chunk.text.ends = TextChunk::Ends::file;
    chunk.begins = UnitBorders(read, 2).begins(chunk.text);
    const UnitSplit units({.valid = 0.3}, 9, "conversations", "f");
    const auto pieces = divided(UnitChunk(chunk), {.units = &units});
    std::string text;
    std::uint64_t line = 5, bytes = 0;
    for (const SplitText& piece : pieces) {
        CHECK(piece.text.first_line == line);
        CHECK(piece.text.path == "f");
        text += piece.text.text;
        bytes += piece.text.file_bytes;
        line += static_cast<std::uint64_t>(
            std::count(piece.text.text.begin(), piece.text.text.end(), '\n'));
    }
    CHECK(text == chunk.text.text);
    CHECK(bytes == 19);
    CHECK(pieces.size() > 3);
    CHECK(pieces.front().text.ends == TextChunk::Ends::within);
    CHECK(pieces.back().text.ends == TextChunk::Ends::file);
    CHECK(divided(UnitChunk(chunk), {.whole = SplitPart::test}).front().part == SplitPart::test);
}
