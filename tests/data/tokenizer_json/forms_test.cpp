// SPDX-License-Identifier: Apache-2.0
// The same tokenizer in several forms, tokens that only tokenizer_config.json describes, and files
// that Git LFS has not fetched.
#include <doctest/doctest.h>

#include "data/text/input_file.hpp"
#include "data/tokenizer_json/open_pretrained.hpp"
#include "data/tokenizers/dictionary.hpp"
#include "data/tokenizers/sentencepiece_tokenizer.hpp"
#include "runtime/core/error.hpp"
#include "tests/data/tokenizer_json/golden.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;

namespace {

std::uint64_t meaning(const Json& file) { return tokenizer_of(file)->meaning(); }

std::unique_ptr<data::PretrainedTokenizer> opened(const ScratchFolder& folder) {
    return data::open_pretrained_tokenizer(folder.path());
}

void write_plain_files(const ScratchFolder& folder, const Json& file) {
    write_text(folder / "vocab.json", file["model"]["vocab"].dump());
    std::string merges = "#version: 0.2\n";
    for (const Json& merge : file["model"]["merges"])
        merges += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
    write_text(folder / "merges.txt", merges);
}

Json described(const std::string& content, bool special) {
    return {{"content", content},  {"lstrip", false},      {"rstrip", false},
            {"normalized", false}, {"single_word", false}, {"special", special}};
}

constexpr const char* pointer =
    "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 7031645\n";

}  // namespace

TEST_CASE("a file that names defaults and one that leaves them out mean the same") {
    const Json file = read_golden("gpt2")["tokenizer"];
    const std::uint64_t wanted = meaning(file);
    const auto alike = [&](const char* place, const Json& value) {
        CAPTURE(place);
        Json changed = file;
        changed[Json::json_pointer(place)] = value;
        CHECK(tokenizer_of(changed)->hash() != tokenizer_of(file)->hash());
        CHECK(meaning(changed) == wanted);
    };
    alike("/model/continuing_subword_prefix", "");
    alike("/model/end_of_word_suffix", "");
    alike("/post_processor", nullptr);
    alike("/decoder", {{"type", "ByteLevel"}});
    alike("/added_tokens/0/normalized", false);
    alike("/pre_tokenizer/trim_offsets", !file["pre_tokenizer"]["trim_offsets"].get<bool>());
    const auto other = [&](const char* place, const Json& value) {
        CAPTURE(place);
        Json changed = file;
        changed[Json::json_pointer(place)] = value;
        CHECK(meaning(changed) != wanted);
    };
    other("/pre_tokenizer/add_prefix_space", true);
    other("/pre_tokenizer/use_regex", false);
    other("/added_tokens/0/lstrip", true);
    other("/added_tokens/0/special", false);
    other("/normalizer", {{"type", "NFC"}});
    other("/decoder", {{"type", "Fuse"}});
    other("/model/ignore_merges", true);
    Json listed = file;
    listed["model"]["vocab"]["<|endoftext|>"] = listed["added_tokens"][0]["id"];
    CHECK(meaning(listed) == wanted);
    Json fewer = file;
    fewer["model"]["merges"].erase(0);
    CHECK(meaning(fewer) != wanted);
}

TEST_CASE("vocab.json with merges.txt means what an equal tokenizer.json does") {
    const Json file = read_golden("gpt2")["tokenizer"];
    const ScratchFolder plain, whole;
    write_plain_files(plain, file);
    write_text(whole / "tokenizer.json", file.dump());
    for (const ScratchFolder* folder : {&plain, &whole})
        write_text(*folder / "tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer"})");
    CHECK(opened(plain)->hash() != opened(whole)->hash());
    CHECK(opened(plain)->meaning() == opened(whole)->meaning());
}

TEST_CASE("tokens that only tokenizer_config.json describes are added, as in transformers") {
    const Json file = read_golden("gpt2")["tokenizer"];
    const ScratchFolder folder;
    write_text(folder / "tokenizer.json", file.dump());
    const std::int32_t next = opened(folder)->size();
    Json config;
    const std::string first = std::to_string(next), second = std::to_string(next + 1);
    config["added_tokens_decoder"] = {{second, described("<|b|>", false)},
                                      {first, described("<|a|>", true)}};
    write_text(folder / "tokenizer_config.json", config.dump());
    const auto tokenizer = opened(folder);
    CHECK(tokenizer->size() == next + 2);
    CHECK(tokenizer->is_special(next));
    CHECK(!tokenizer->is_special(next + 1));
    CHECK(tokenizer->encode("<|b|><|a|>", {data::AddSpecial::no, data::SpecialsInText::tokens}) ==
          Ids{next + 1, next});
    const auto refused = [&](const Json& value, const char* words) {
        write_text(folder / "tokenizer_config.json", Json{{"added_tokens_decoder", value}}.dump());
        CHECK_THROWS_WITH_AS(opened(folder), doctest::Contains(words), Error);
    };
    refused({{std::to_string(next + 5), described("<|a|>", true)}}, "transformers would give it");
    refused({{"x", described("<|a|>", true)}}, "'x'");
    refused({{"-1", described("<|a|>", true)}}, "'-1'");
    refused({{first, "<|a|>"}}, "is no id of a token");
    refused(Json::array({1}), "added_tokens_decoder");
    // What the file has, counts.
    config["added_tokens_decoder"] = {{"7", described("<|endoftext|>", false)}};
    write_text(folder / "tokenizer_config.json", config.dump());
    CHECK(opened(folder)->size() == next);
}

TEST_CASE("a pointer of Git LFS instead of a file is named with its remedy") {
    const Json file = read_golden("gpt2")["tokenizer"];
    for (const std::string name : {"tokenizer.json", "tokenizer.model", "tokenizer_config.json",
                                   "vocab.json", "merges.txt"}) {
        CAPTURE(name);
        const ScratchFolder folder;
        if (name == "tokenizer_config.json") write_text(folder / "tokenizer.json", file.dump());
        if (name == "vocab.json" || name == "merges.txt") {
            write_plain_files(folder, file);
            write_text(folder / "config.json", R"({"model_type": "gpt2"})");
        }
        write_text(folder / name, pointer);
        CHECK_THROWS_WITH_AS(opened(folder), doctest::Contains((folder / name).c_str()), Error);
        CHECK_THROWS_WITH_AS(opened(folder), doctest::Contains("git lfs pull"), Error);
    }
    const ScratchFolder folder;
    const std::string path = folder / "x";
    write_text(path, pointer);
    CHECK_THROWS_WITH_AS(data::Dictionary::load(path, data::LetterCase::keep),
                         doctest::Contains("git lfs pull"), Error);
    CHECK_THROWS_WITH_AS(data::SentencePieceTokenizer::load(path),
                         doctest::Contains("git lfs pull"), Error);
    CHECK_THROWS_WITH_AS(data::InputFile{path}, doctest::Contains("git lfs pull"), Error);
}
