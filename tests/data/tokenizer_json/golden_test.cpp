// SPDX-License-Identifier: Apache-2.0
// What `tokenizers` and transformers make of awkward texts (make_tokenizer_golden.py).
#include "tests/data/tokenizer_json/golden.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <thread>

#include "data/bpe/byte_alphabet.hpp"
#include "data/tokenizer_json/open_pretrained.hpp"
#include "data/tokenizer_json/stream_decoder.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using Ids = std::vector<std::int32_t>;
using Json = nlohmann::json;

namespace {

constexpr data::EncodeOptions plain{data::AddSpecial::no, data::SpecialsInText::tokens};
constexpr data::EncodeOptions around{data::AddSpecial::yes, data::SpecialsInText::tokens};
constexpr data::EncodeOptions split{data::AddSpecial::no, data::SpecialsInText::text};

std::string streamed(const data::PretrainedTokenizer& tokenizer, const Ids& ids,
                     data::SkipSpecial skip) {
    data::StreamDecoder decoder(tokenizer, skip);
    std::string text;
    for (const std::int32_t id : ids) text += decoder.add(id);
    return text + decoder.finish();
}

void check_case(const data::PretrainedTokenizer& tokenizer, const Json& expected) {
    const auto text = expected["text"].get<std::string>();
    CAPTURE(text);
    const auto ids = expected["ids"].get<Ids>();
    CHECK(tokenizer.encode(text, plain) == ids);
    CHECK(tokenizer.encode(text, around) == expected.value("around", ids));
    CHECK(tokenizer.encode(text, split) == expected.value("split", ids));
    const auto decoded = expected["decoded"].get<std::string>();
    CHECK(tokenizer.decode(ids, data::SkipSpecial::no) == decoded);
    CHECK(streamed(tokenizer, ids, data::SkipSpecial::no) == decoded);
    const auto skipping = expected.value("skipping", decoded);
    const auto all = expected.value("around", ids);
    CHECK(tokenizer.decode(all, data::SkipSpecial::yes) == skipping);
    CHECK(streamed(tokenizer, all, data::SkipSpecial::yes) == skipping);
}

void check_cases(const data::PretrainedTokenizer& tokenizer, const Json& cases) {
    REQUIRE(cases.size() > 80);
    for (const Json& expected : cases) check_case(tokenizer, expected);
}

void write_folder(const ScratchFolder& folder, const Json& vocab, const Json& merges,
                  const Json& config) {
    write_text(folder / "vocab.json", vocab.dump());
    std::string lines = "#version: 0.2\n";
    for (const Json& merge : merges)
        lines +=
            (merge.is_string() ? merge.get<std::string>()
                               : merge[0].get<std::string>() + " " + merge[1].get<std::string>()) +
            "\n";
    write_text(folder / "merges.txt", lines);
    write_text(folder / "tokenizer_config.json", config.dump());
}

}  // namespace

TEST_CASE("every kind of tokenizer.json gives the ids and texts of tokenizers") {
    for (const std::string name : {"gpt2", "few_bytes", "llama3", "qwen2", "roberta", "llama",
                                   "suffix", "added", "metaspace_first", "metaspace_always"}) {
        CAPTURE(name);
        const Json golden = read_golden(name);
        const auto tokenizer = tokenizer_of(golden["tokenizer"]);
        check_cases(*tokenizer, golden["cases"]);
        check_cases(*tokenizer, golden["cases"]);  // from the cache
    }
}

TEST_CASE("vocab.json and merges.txt alone are read by the rules of their class") {
    for (const auto& [name, kind] :
         {std::pair{"gpt2", "GPT2Tokenizer"}, {"roberta", "BartTokenizerFast"}}) {
        CAPTURE(name);
        const ScratchFolder folder;
        const Json golden = read_golden(name);
        Json model = golden["tokenizer"]["model"];
        for (const Json& token : golden["tokenizer"]["added_tokens"])
            model["vocab"][token["content"].get<std::string>()] = token["id"];
        // transformers adds the special tokens; only a mask that is written down takes spaces.
        write_folder(folder, model["vocab"], model["merges"], {{"tokenizer_class", kind}});
        const auto tokenizer = data::open_pretrained_tokenizer(folder / "");
        for (const Json& expected : golden["cases"]) {
            const auto text = expected["text"].get<std::string>();
            if (text.find('<') != std::string::npos) continue;
            check_case(*tokenizer, expected);
        }
        CHECK(tokenizer->special_tokens().end ==
              tokenizer->find(std::string(name) == "gpt2" ? "<|endoftext|>" : "</s>"));
    }
}

TEST_CASE("a folder of BlenderbotSmall gives the ids and texts of transformers") {
    const ScratchFolder folder;
    const Json golden = read_golden("blenderbot_small");
    write_folder(folder, golden["vocab"], golden["merges"],
                 {{"tokenizer_class", "BlenderbotSmallTokenizer"}});
    const auto tokenizer = data::open_pretrained_tokenizer(folder / "");
    for (const Json& expected : golden["cases"]) {
        CAPTURE(expected.dump());
        const auto ids = expected["ids"].get<Ids>();
        CHECK(tokenizer->encode(expected["text"].get<std::string>(), plain) == ids);
        CHECK(tokenizer->decode(ids, data::SkipSpecial::no) == expected["decoded"]);
        CHECK(streamed(*tokenizer, ids, data::SkipSpecial::no) == expected["decoded"]);
    }
}

TEST_CASE("several threads encode with one tokenizer") {
    const Json golden = read_golden("llama3");
    const auto tokenizer = tokenizer_of(golden["tokenizer"]);
    std::vector<int> wrong(4);
    std::vector<std::thread> threads;
    for (int& count : wrong)
        threads.emplace_back([&] {
            for (const Json& expected : golden["cases"])
                count += tokenizer->encode(expected["text"].get<std::string>(), plain) !=
                         expected["ids"].get<Ids>();
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::vector<int>(4, 0));
}

namespace {

struct Collected : data::PieceSink {
    std::vector<std::string> pieces;
    data::SymbolKind symbols = data::SymbolKind::characters;

    void take(const data::Piece& piece) override {
        std::string text(piece.text);
        if (symbols == data::SymbolKind::bytes) {
            text.clear();
            data::append_byte_characters(piece.text, text);
        }
        pieces.push_back(text);
    }
};

}  // namespace

TEST_CASE("pre-tokenizers give the pieces of tokenizers") {
    const Json parts = read_golden("steps")["pre_tokenizers"];
    for (const Json& part : parts) {
        CAPTURE(part[0].dump());
        const auto steps = data::make_pre_tokenizers({part[0], "file", "pre_tokenizer"});
        for (const Json& expected : part[1]) {
            const auto text = expected[0].get<std::string>();
            CAPTURE(text);
            Collected found;
            found.symbols = steps.symbols;
            if (!text.empty()) steps.split({text, data::Piece::Place::begin}, found);
            CHECK(found.pieces == expected[1].get<std::vector<std::string>>());
        }
    }
}

TEST_CASE("normalizers and decoders give the texts of tokenizers") {
    const Json golden = read_golden("steps");
    for (const Json& part : golden["normalizers"]) {
        CAPTURE(part[0].dump());
        const auto normalizer = data::make_normalizer({part[0], "file", "normalizer"});
        for (const Json& expected : part[1]) {
            auto text = expected[0].get<std::string>();
            normalizer->normalize(text);
            CHECK(text == expected[1]);
        }
    }
    for (const Json& part : golden["decoders"]) {
        CAPTURE(part[0].dump());
        const auto decoder = data::make_decoder({part[0], "file", "decoder"}).decoder;
        for (const Json& expected : part[1]) {
            auto pieces = expected[0].get<std::vector<std::string>>();
            decoder->decode(pieces);
            std::string text;
            for (const std::string& piece : pieces) text += piece;
            CHECK(text == expected[1]);
        }
    }
}
