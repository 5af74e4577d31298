// SPDX-License-Identifier: Apache-2.0
// Files that are damaged or say what is not supported: one line that names the file and the part.
#include <doctest/doctest.h>

#include <functional>

#include "data/tokenizer_json/open_pretrained.hpp"
#include "runtime/core/error.hpp"
#include "tests/data/tokenizer_json/golden.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using Json = nlohmann::json;

namespace {

std::string refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::data);
        return error.what();
    }
    return "";
}

Json small_file() {
    return {{"version", "1.0"},
            {"truncation", nullptr},
            {"padding", nullptr},
            {"added_tokens", Json::array()},
            {"normalizer", nullptr},
            {"pre_tokenizer", nullptr},
            {"post_processor", nullptr},
            {"decoder", nullptr},
            {"model",
             {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}}}, {"merges", {"a b"}}}}};
}

void refused(const std::function<void(Json&)>& change, const std::string& words) {
    Json file = small_file();
    change(file);
    const std::string said = refusal([&] { tokenizer_of(file); });
    CAPTURE(file.dump());
    CAPTURE(said);
    CAPTURE(words);
    CHECK(said.find(words) != std::string::npos);
    CHECK(said.find("tokenizer.json") != std::string::npos);
    CHECK(said.find('\n') == std::string::npos);
}

void refused_text(const std::string& text, const std::string& words) {
    const std::string said =
        refusal([&] { data::PretrainedTokenizer(data::parse_tokenizer_file("t.json", text), {}); });
    CAPTURE(said);
    CHECK(said.find("t.json") != std::string::npos);
    CHECK(said.find(words) != std::string::npos);
}

Json token(int id, const std::string& content) {
    return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
            {"rstrip", false}, {"normalized", false}, {"special", true}};
}

}  // namespace

TEST_CASE("the small file itself is read") {
    const auto tokenizer = tokenizer_of(small_file());
    CHECK(tokenizer->encode("abab", {}) == std::vector<std::int32_t>{2, 2});
    CHECK(tokenizer->size() == 3);
    CHECK_FALSE(tokenizer->special_tokens().begin);
    CHECK(tokenizer->notes().empty());
}

TEST_CASE("parts that are not supported are refused by name") {
    const auto part = [](const char* name, Json value) {
        return [=](Json& file) { file[name] = value; };
    };
    refused(part("normalizer", {{"type", "NFKC"}}), "normalizer: the type 'NFKC'");
    refused(part("normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "Lowercase"}}}}}),
            "normalizer/normalizers/0: the type 'Lowercase'");
    refused(part("normalizer", {{"type", "NFC"}, {"strict", true}}), "\"strict\" is not known");
    refused(part("normalizer", {{"type", "Replace"}, {"content", ""}}), "normalizer/pattern");
    refused(part("normalizer",
                 {{"type", "Replace"}, {"pattern", {{"Regex", "(?<name>a)"}}}, {"content", ""}}),
            "normalizer/pattern: ");
    refused(part("normalizer", Json::array()), "normalizer: it is not an object");
    refused(part("pre_tokenizer", {{"type", "BertPreTokenizer"}}), "'BertPreTokenizer'");
    refused(part("pre_tokenizer", {{"add_prefix_space", true}}), "\"type\" is missing");
    refused(part("pre_tokenizer", {{"type", "ByteLevel"}}), "\"add_prefix_space\" is missing");
    refused(part("pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", 1}}),
            "\"add_prefix_space\" is not true or false");
    refused(part("pre_tokenizer",
                 {{"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "Gone"}}),
            "'Gone'");
    refused(part("pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "ab"}}),
            "\"replacement\" is not one character");
    refused(part("pre_tokenizer",
                 {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "last"}}),
            "'last'");
    refused(part("decoder", {{"type", "WordPiece"}}), "decoder: the type 'WordPiece'");
    refused(part("decoder", {{"type", "Strip"}, {"content", "ab"}, {"start", 1}, {"stop", 0}}),
            "\"content\" is not one character");
    refused(part("decoder", {{"type", "Strip"}, {"content", "a"}, {"start", -1}, {"stop", 0}}),
            "\"start\" is negative");
    refused(part("post_processor", {{"type", "Other"}}), "post_processor: the type 'Other'");
    refused(part("post_processor", {{"type", "TemplateProcessing"}, {"single", Json::array()}}),
            "has no sequence A");
    refused(part("post_processor",
                 {{"type", "RobertaProcessing"}, {"sep", {"x", -1}}, {"cls", {"x", 0}}}),
            "not a whole number");
    refused(part("post_processor",
                 {{"type", "RobertaProcessing"}, {"sep", {"x", 3}}, {"cls", {"x", 0}}}),
            "adds the id 3, which no token has");
    refused(part("version", "2.0"), "'2.0'");
    refused(part("colour", "red"), "\"colour\" is not known");
}

TEST_CASE("models that are damaged or not supported are refused") {
    const auto model = [](const char* name, Json value) {
        return [=](Json& file) { file["model"][name] = value; };
    };
    refused(model("type", "Unigram"), "model: the type 'Unigram'");
    refused(model("type", "WordPiece"), "supported are BPE");
    refused(model("dropout", 0.1), "\"dropout\"");
    refused(model("speed", 1), "\"speed\" is not known");
    refused(model("unk_token", "<unk>"), "'<unk>'");
    refused(model("unk_token", 3), "\"unk_token\" is not text");
    refused(model("merges", {"a b", "a c"}), "merge 2, 'a' and 'c', needs the piece 'c'");
    refused(model("merges", {"b a"}), "needs the piece 'ba'");
    refused(model("merges", {"ab"}), "model/merges/0: 'ab' is not two pieces");
    refused(model("merges", Json::array({Json::array({"a"})})), "model/merges/0 is not a pair");
    refused(model("merges", Json::array({Json::array({"a", "b", "c"})})), "is not a pair");
    refused(model("merges", Json::array({3})), "model/merges/0 is not a pair");
    refused(model("vocab", Json::object()), "no pieces");
    refused(model("vocab", {{"a", 0}, {"b", 0}}), "the id 0 belongs to two pieces, 'a' and 'b'");
    refused(model("vocab", {{"a", -1}}), "'a' has the id -1");
    refused(model("vocab", {{"a", 5'000'000'000}}), "'a' has the id 5000000000");
    refused(model("vocab", {{"a", 1.5}}), "'a' has the id 1.5");
    refused(model("vocab", {{"a", "0"}}), "'a' has no whole number");
    refused(model("vocab", {{"a", Json::array()}}), "'a' has no whole number");
    refused([](Json& file) { file.erase("model"); }, "\"model\" is missing");
}

TEST_CASE("added tokens that contradict the vocabulary are refused") {
    const auto added = [](Json tokens) {
        return [=](Json& file) { file["added_tokens"] = tokens; };
    };
    refused(added({token(3, "x"), token(4, "x")}), "'x' is there twice");
    refused(added({token(3, "x"), token(3, "y")}), "the id 3 is there twice");
    refused(added({token(4, "x")}), "'x' has the id 4, but transformers would give it 3");
    refused(added({token(1, "a")}), "'a' has the id 1, but transformers would give it 0");
    refused(added({token(-1, "x")}), "\"id\" is -1");
    refused(added({token(1 << 30, "x")}), "ids are whole numbers");
    refused(added({token(3, "")}), "\"content\" is empty");
    refused(added({3}), "added_tokens/0: it is not an object");
    refused(added(3), "\"added_tokens\" is not a list");
}

TEST_CASE("text that is not a tokenizer's file is refused") {
    const std::string good = small_file().dump();
    for (std::size_t size = 0; size < good.size(); ++size)
        refused_text(good.substr(0, size), "t.json: ");
    refused_text("{\"a\": 1, \"a\": 2}", "\"a\" is twice");
    refused_text("[]", "not an object");
    refused_text("\"x\"", "not an object");
    refused_text("{\"x\": 1e999}", "t.json: ");
    refused_text("{\"model\": {\"vocab\": {\"a\": 0, \"a\": 1}}}", "'a' is twice");
    refused_text("{\"x\": " + std::string(100, '[') + std::string(100, ']') + "}", "levels");
    refused_text("\xFF\xFE{", "UTF-16");
}

TEST_CASE("truncation and padding are not followed, and that is said") {
    Json file = small_file();
    file["truncation"] = {{"max_length", 1}, {"stride", 0}};
    file["padding"] = {{"pad_id", 0}};
    const auto tokenizer = tokenizer_of(file);
    REQUIRE(tokenizer->notes().size() == 2);
    CHECK(tokenizer->notes()[0].find("truncation") != std::string::npos);
    CHECK(tokenizer->encode("abba", {}).size() == 3);
    CHECK(tokenizer->hash() == tokenizer_of(small_file())->hash());
}

TEST_CASE("the hash is that of the meaning") {
    const Json file = small_file();
    const auto hash = [](const Json& json) { return tokenizer_of(json)->hash(); };
    Json other = file;
    other["model"]["merges"] = Json::array({Json::array({"a", "b"})});
    CHECK(hash(other) == hash(file));
    other["decoder"] = {{"type", "Fuse"}};
    CHECK(hash(other) != hash(file));
    other = file;
    other["model"]["vocab"] = {{"a", 1}, {"b", 0}, {"ab", 2}};
    CHECK(hash(other) != hash(file));
    other = file;
    other["model"]["merges"] = Json::array();
    CHECK(hash(other) != hash(file));
}

TEST_CASE("folders name their special tokens, or lack what is needed") {
    const ScratchFolder scratch;
    const std::string folder = scratch / "";
    const auto open = [&] { return data::open_pretrained_tokenizer(folder); };
    CHECK(refusal([&] { open(); }).find("expected tokenizer.json, or vocab.json") !=
          std::string::npos);
    write_text(scratch / "vocab.json", "{\"a\": 0}");
    write_text(scratch / "merges.txt", "#version: 0.2\n");
    CHECK(refusal([&] { open(); }).find("names its class") != std::string::npos);
    write_text(scratch / "config.json", "{\"model_type\": \"t5\"}");
    CHECK(refusal([&] { open(); }).find("'t5'") != std::string::npos);
    write_text(scratch / "config.json", "{\"model_type\": \"gpt2\"}");
    CHECK(open()->special_tokens().end == 1);
    write_text(scratch / "vocab.json", R"({"a": 0, "b": 1, "ab": 2, "aba": 3, "abab": 4})");
    CHECK(refusal([&] { open(); }).find("makes only 0 of the 3 pieces") != std::string::npos);
    write_text(scratch / "merges.txt", "a b\n");
    CHECK(refusal([&] { open(); }).find("makes only 1 of the 3 pieces") != std::string::npos);
    write_text(scratch / "merges.txt", "a b\nab a\n");
    CHECK_NOTHROW(open());
    write_text(scratch / "vocab.json", "{\"a\": 0}");
    write_text(scratch / "merges.txt", "#version: 0.2\na b c\n");
    CHECK(refusal([&] { open(); }).find("merges.txt:2: 'a b c'") != std::string::npos);
    Json file = small_file();
    file["added_tokens"] = {token(3, "<s>"), token(4, "</s>")};
    write_text(scratch / "tokenizer.json", file.dump());
    CHECK_FALSE(open()->special_tokens().end);
    write_text(scratch / "tokenizer_config.json",
               R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>", "pad_token": null})");
    CHECK(open()->special_tokens().begin == 3);
    CHECK(open()->special_tokens().end == 4);
    CHECK_FALSE(open()->special_tokens().pad);
    write_text(scratch / "special_tokens_map.json", R"({"pad_token": "<s>", "unk_token": "ab"})");
    CHECK_FALSE(open()->special_tokens().pad);
    CHECK(open()->special_tokens().unknown == 2);
    write_text(scratch / "tokenizer_config.json", R"({"eos_token": "<end>"})");
    CHECK(refusal([&] { open(); }).find("\"eos_token\" is '<end>'") != std::string::npos);
    write_text(scratch / "tokenizer_config.json", R"({"eos_token": 3})");
    CHECK(refusal([&] { open(); }).find("tokenizer_config.json") != std::string::npos);
    write_text(scratch / "tokenizer_config.json", "[");
    CHECK(refusal([&] { open(); }).find("tokenizer_config.json") != std::string::npos);
}

TEST_CASE("a text that is not UTF-8 is refused") {
    const auto tokenizer = tokenizer_of(small_file());
    CHECK(refusal([&] { tokenizer->encode("ab\xFF", {}); }).find("at its byte 3") !=
          std::string::npos);
}

TEST_CASE("control tokens come from no text unless that is asked for") {
    for (const std::string name : {"llama3", "llama", "gpt2"}) {
        CAPTURE(name);
        const auto tokenizer = golden_tokenizer(name);
        for (std::int32_t id = 0; id < tokenizer->size(); ++id) {
            if (!tokenizer->is_special(id)) continue;
            const std::string text(*tokenizer->piece(id));
            if (text == "<unk>") continue;
            for (const std::int32_t found : tokenizer->encode(text, {}))
                CHECK_FALSE(tokenizer->is_special(found));
        }
    }
}

TEST_CASE("a normalizer that makes much of little is stopped") {
    Json file = small_file();
    const Json replace = {
        {"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1000, 'a')}};
    file["normalizer"] = {{"type", "Sequence"},
                          {"normalizers", Json::array({replace, replace, replace, replace})}};
    const auto tokenizer = tokenizer_of(file);
    std::vector<std::int32_t> ids;
    const std::string said = refusal([&] { tokenizer->encode("a", data::EncodeOptions{}, ids); });
    CHECK(said.find("longer than 64 MiB, by Replace") != std::string::npos);
    CHECK(ids.empty());
}
