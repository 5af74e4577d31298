// SPDX-License-Identifier: Apache-2.0
// Dictionary files and FbDialog text against what ParlAI itself reads (make_parlai_golden.py).
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "data/tokenizers/dictionary_tokenizer.hpp"
#include "runtime/core/json_text.hpp"
#include "tests/data/recorded_turns.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

nlohmann::json golden() { return parse_json(tests::read_text("tests/golden/parlai_data.json")); }

std::string recorded(const nlohmann::json& turns) {
    std::string out;
    for (const auto& turn : turns) {
        if (turn["begins"]) out += out.empty() ? "[" : "][";
        out += " " + turn["text"].get<std::string>() + "->";
        for (std::size_t i = 0; i < turn["labels"].size(); ++i)
            out += (i ? "|" : "") + turn["labels"][i].get<std::string>();
    }
    return out;
}

// RecordedTurns' form without the lines, which ParlAI does not tell.
class TurnsAlone final : public TurnSink {
public:
    void begin_episode() override { begins_ = true; }
    void turn(std::string_view said, std::span<const std::string_view> labels,
              const SourceLine&) override {
        turns.push_back({{"text", said},
                         {"labels", std::vector<std::string>(labels.begin(), labels.end())},
                         {"begins", begins_}});
        begins_ = false;
    }

    nlohmann::json turns = nlohmann::json::array();

private:
    bool begins_ = false;
};

}  // namespace

TEST_CASE("dictionary files give ParlAI's tokens and ids, saved again as well") {
    const tests::ScratchFolder dir;
    const nlohmann::json cases = golden()["dictionaries"];
    REQUIRE(cases.size() == 9);
    for (const auto& one : cases) {
        CAPTURE(one["name"].get<std::string>());
        tests::write_text(dir / "d", one["file"].get<std::string>());
        const LetterCase letters = one["lower"] ? LetterCase::lower : LetterCase::keep;
        for (int again = 0; again < 2; ++again) {
            const DictionaryTokenizer tokenizer(Dictionary::load(dir / "d", letters));
            std::vector<std::string> tokens;
            for (std::int32_t id = 0; id < tokenizer.size(); ++id)
                tokens.emplace_back(tokenizer.dictionary().token(id));
            CHECK(tokens == one["tokens"].get<std::vector<std::string>>());
            for (std::size_t i = 0; i < one["texts"].size(); ++i) {
                std::vector<std::int32_t> ids;
                tokenizer.encode(one["texts"][i].get<std::string>(), ids);
                CHECK(ids == one["encoded"][i].get<std::vector<std::int32_t>>());
            }
            tokenizer.dictionary().save(dir / "d");
        }
    }
}

TEST_CASE("special tokens are part of what a dictionary is") {
    const tests::ScratchFolder dir;
    tests::write_text(dir / "special", "<user>\t1000000004\na\t1\n");
    tests::write_text(dir / "word", "<user>\t1000000009\na\t1\n");
    const Dictionary special = Dictionary::load(dir / "special", LetterCase::keep);
    const Dictionary word = Dictionary::load(dir / "word", LetterCase::keep);
    CHECK(special.special_tokens().size() == 1);
    CHECK(word.special_tokens().empty());
    CHECK(special.hash() != word.hash());
}

TEST_CASE("FbDialog text gives ParlAI's turns, a line of a bare number too") {
    const nlohmann::json cases = golden()["fbdialog"];
    REQUIRE(cases.size() == 7);
    for (const auto& one : cases) {
        CAPTURE(dump_json(one));
        TextChunk chunk;
        chunk.path = "f";
        chunk.text = one["file"].get<std::string>();
        TurnsAlone sink;
        Warnings warnings;
        ReadOptions options;
        options.format = TextFormat::fbdialog;
        read_turns(chunk, options, warnings, sink);
        CHECK(recorded(sink.turns) == recorded(one["turns"]));
    }
}
