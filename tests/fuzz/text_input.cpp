// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/text_input.hpp"

#include "data/text/text_chunks.hpp"
#include "data/text/turns.hpp"
#include "data/text/unicode.hpp"
#include "data/tokenizers/re_split.hpp"
#include "tests/fuzz/target.hpp"

namespace lockstep::fuzz {
namespace {

// Tokens lie inside of their text and follow one another.
class SplitTurns final : public data::TurnSink {
public:
    void begin_episode() override {}
    void turn(std::string_view text, std::span<const std::string_view> labels,
              const data::SourceLine& source_line) override {
        expect(source_line.line > 0, "a turn without a line");
        split(text);
        for (const std::string_view label : labels) split(label);
    }

private:
    static void split(std::string_view text) {
        expect(data::unicode::first_invalid(text) == text.size(), "a turn that is not UTF-8");
        const char* end = text.data();
        data::for_each_token(text, [&](std::string_view token) {
            expect(!token.empty() && token.data() >= end, "a token that does not follow");
            end = token.data() + token.size();
        });
        expect(end <= text.data() + text.size(), "a token behind its text");
    }
};

bool is_compressed(std::span<const std::uint8_t> bytes) {
    return bytes.size() > 1 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

}  // namespace

void read_as_text(std::span<const std::uint8_t> bytes, const data::ReadOptions& options) {
    constexpr const char* file = "input.txt";
    data::Warnings warnings;
    SplitTurns turns;
    expect_answer([&] {
        data::TextChunk chunk;
        // A reader takes blocks of a megabyte, which costs the time of ten inputs.
        if (bytes.size() % 8 != 0 && !is_compressed(bytes)) {
            chunk.path = file;
            chunk.text = text_of(bytes.data(), bytes.size());
            return data::read_turns(chunk, options, warnings, turns);
        }
        write_input(file, bytes);
        data::ChunkReader reader({file}, options.format);
        while (reader.next(chunk)) data::read_turns(chunk, options, warnings, turns);
    });
}

}  // namespace lockstep::fuzz
