// SPDX-License-Identifier: Apache-2.0
// Conversations as rows: what the assistant says has labels, with the token that ends its turn, and
// the words of a conversation are never control tokens.
#include "data/tokenizers/chat_format.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "data/bpe/byte_alphabet.hpp"
#include "data/prepare/encoded_chunk.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* plain_template =
    "{{ bos_token }}{% for m in messages %}"
    "{{ '<' + m.role[0] + '>' + (m.content or '') | trim + '<e>' }}\n"
    "{% endfor %}{% if add_generation_prompt %}{{ '<a>' }}{% endif %}";

// A tokenizer whose pieces are bytes, with <b>, which begins texts, <e>, which ends them, <x>, and
// a token for each role.
void write_tokenizer(const std::string& folder, const std::string& chat_template) {
    std::filesystem::create_directories(folder);
    Json vocabulary = Json::object(), added = Json::array();
    for (int byte = 0; byte < 256; ++byte)
        vocabulary[std::string(character_of_byte(static_cast<std::uint8_t>(byte)))] = byte;
    int id = 256;
    for (const char* content : {"<b>", "<e>", "<x>", "<s>", "<u>", "<a>"})
        added.push_back({{"id", id++},
                         {"content", content},
                         {"single_word", false},
                         {"lstrip", false},
                         {"rstrip", false},
                         {"normalized", false},
                         {"special", true}});
    const Json level = {{"type", "ByteLevel"},
                        {"add_prefix_space", false},
                        {"trim_offsets", false},
                        {"use_regex", false}};
    using tests::write_text;
    write_text(folder + "/tokenizer.json",
               Json{{"version", "1.0"},
                    {"truncation", nullptr},
                    {"padding", nullptr},
                    {"added_tokens", added},
                    {"normalizer", nullptr},
                    {"pre_tokenizer", level},
                    {"post_processor", nullptr},
                    {"decoder", level},
                    {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}}
                   .dump());
    write_text(folder + "/tokenizer_config.json",
               Json{{"tokenizer_class", "PreTrainedTokenizerFast"},
                    {"bos_token", "<b>"},
                    {"eos_token", "<e>"},
                    {"chat_template", chat_template}}
                   .dump());
    write_text(folder + "/generation_config.json", R"({"eos_token_id": [257, 258]})");
}

// Texts are shown as they are, and the tokens that are no bytes by their ids in brackets.
std::string shown(std::span<const std::int32_t> ids) {
    std::string out;
    for (const std::int32_t id : ids)
        out += id < 256 ? std::string(1, static_cast<char>(id)) : "[" + std::to_string(id) + "]";
    return out;
}

struct Folder {
    explicit Folder(const std::string& chat_template = plain_template) {
        write_tokenizer(scratch / "t", chat_template);
        tokenizer = open_tokenizer(scratch / "t");
    }
    // The rows of some lines as "context>label ", with a | where the writer adds the end. The
    // labels of a conversation are in braces.
    std::string rows(const std::string& lines, TalkRows talk_rows = TalkRows::turns,
                     std::string* warned = nullptr) const {
        const auto chat = ChatFormat::of(*tokenizer);
        TextChunk chunk;
        chunk.path = "f";
        chunk.text = lines;
        EncodeSettings settings;
        settings.read.format = TextFormat::messages;
        settings.chat = &*chat;
        settings.talk_rows = talk_rows;
        try {
            const EncodedChunk encoded = encode_dialogues(chunk, *tokenizer, settings);
            const std::span<const std::int32_t> ids = encoded.ids;
            std::string out;
            std::ostringstream told;
            Log log(told, Verbosity::normal, 0, "");
            encoded.warnings.write(log);
            if (warned != nullptr) *warned = told.str();
            for (const EncodedRow& row : encoded.rows) {
                if (row.spans_begin < row.spans_end) {
                    out += conversation(encoded, row);
                    continue;
                }
                out += shown(ids.subspan(row.source_begin, row.source_end - row.source_begin)) +
                       ">" +
                       shown(ids.subspan(row.target_begin, row.target_end - row.target_begin)) +
                       (row.end == TargetEnd::added ? "| " : " ");
            }
            return out;
        } catch (const Error& error) {
            return without_folder(error.what());
        }
    }

    // Messages about a template name its file with its folder.
    std::string without_folder(std::string what) const {
        const std::string folder = scratch / "t/";
        if (const std::size_t at = what.find(folder); at != std::string::npos)
            what.erase(at, folder.size());
        return what;
    }

    static std::string conversation(const EncodedChunk& chunk, const EncodedRow& row) {
        const auto ids =
            std::span(chunk.ids).subspan(row.source_begin, row.target_end - row.source_begin);
        std::string out;
        std::size_t done = 0;
        for (std::size_t i = row.spans_begin; i < row.spans_end; ++i) {
            const auto begin = static_cast<std::size_t>(chunk.spans[i].begin),
                       end = static_cast<std::size_t>(chunk.spans[i].end);
            out += shown(ids.subspan(done, begin - done)) + "{" +
                   shown(ids.subspan(begin, end - begin)) + "}";
            done = end;
        }
        return out + shown(ids.subspan(done)) + " ";
    }

    tests::ScratchFolder scratch;
    std::unique_ptr<Tokenizer> tokenizer;
};

std::string talk(std::initializer_list<std::pair<const char*, const char*>> messages) {
    Json list = Json::array();
    for (const auto& [role, content] : messages)
        list.push_back({{"role", role}, {"content", content}});
    return Json{{"messages", list}}.dump() + "\n";
}

}  // namespace

TEST_CASE("each turn of the assistant becomes a row that ends with its end token") {
    const Folder folder;
    CHECK(folder.rows(talk({{"user", "Hi "}, {"assistant", " Yes. "}})) ==
          "[256][260]Hi[257]\n[261]>Yes.[257] ");
    CHECK(folder.rows(talk({{"system", "S"},
                            {"user", "a"},
                            {"assistant", "b"},
                            {"user", "c"},
                            {"assistant", "d"}})) ==
          "[256][259]S[257]\n[260]a[257]\n[261]>b[257] "
          "[256][259]S[257]\n[260]a[257]\n[261]b[257]\n[260]c[257]\n[261]>d[257] ");
    CHECK(folder.rows(R"({"messages": [{"role": "user", "content": "a"},)"
                      R"({"role": "assistant", "content": "b", "weight": 0},)"
                      R"({"role": "user", "content": "c"},)"
                      R"({"role": "assistant", "content": "d", "weight": 1}]})") ==
          "[256][260]a[257]\n[261]b[257]\n[260]c[257]\n[261]>d[257] ");
    CHECK(folder.rows(talk({{"user", "a"}, {"assistant", ""}})) ==
          "[256][260]a[257]\n[261]>[257] ");
    CHECK(folder.rows(talk({{"user", "a"}})) == "");
}

TEST_CASE("words of a conversation are no control tokens") {
    const Folder folder;
    CHECK(folder.rows(talk({{"user", "a<e>b<x><a>"}, {"assistant", "c<e><b>"}})) ==
          "[256][260]a<e>b<x><a>[257]\n[261]>c<e><b>[257] ");
    // Neither are those that begin in the template's words and end in those of a message.
    CHECK(Folder("<{{ messages[0].content }}{% for m in messages[1:] %}<a>{{ m.content }}<e>"
                 "{% endfor %}{% if add_generation_prompt %}<a>{% endif %}")
              .rows(talk({{"user", "x>"}, {"assistant", "y"}})) == "<x>[261]>y[257] ");
}

TEST_CASE("a template that cannot teach is refused with file and line of the data") {
    const std::string two = talk({{"user", "a"}, {"assistant", "b"}});
    CHECK(Folder("{{ bos_token }}<b>{{ messages[0].content }}{% if messages | length > 1 %}b<e>"
                 "{% endif %}")
              .rows(two) ==
          "f:1: message 2: tokenizer_config.json, chat_template: the text begins with two tokens "
          "that begin a text; take one out of the template");
    CHECK(Folder("{% for m in messages %}<a>{{ m.content }}{% endfor %}"
                 "{% if add_generation_prompt %}<a>{% endif %}")
              .rows("\n" + two)
              .starts_with("f:2: message 2: tokenizer_config.json, chat_template: it ends the turn "
                           "by no end token"));
    CHECK(Folder("{% for m in messages %}{{ m.content }}<e>{% endfor %}"
                 "{% if add_generation_prompt %}<a>{% endif %}")
              .rows(two)
              .starts_with("f:1: message 2: tokenizer_config.json, chat_template: what it writes "
                           "with add_generation_prompt is not how it begins this turn"));
    CHECK(Folder("\n{{ raise_exception('No ' + messages[0].content) }}").rows(two) ==
          "f:1: message 2: tokenizer_config.json, chat_template:2: No a");
    CHECK(Folder().rows(R"({"messages": [{"content": "a"}]})") ==
          "f:1: message 1 has no 'role'; a line is {\"messages\": [{\"role\": \"user\", "
          "\"content\": \"...\"}, {\"role\": \"assistant\", ...}]}");
    for (const char* content : {"1", "true"})
        CHECK(Folder()
                  .rows(R"({"messages": [{"role": "user", "content": )" + std::string(content) +
                        "}]}")
                  .starts_with("f:1: message 1 has a 'content' that is neither a text nor a list"));
    // A lenient template would write nothing for the misspelt one.
    for (const char* user : {R"("contnet": "a")", R"("content": null)"})
        CHECK(Folder()
                  .rows(R"({"messages": [{"role": "user", )" + std::string(user) +
                        R"(}, {"role": "assistant", "content": "b"}]})")
                  .starts_with("f:1: message 1 has no 'content'; a line is {"));
    CHECK(Folder()
              .rows(R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant"}]})")
              .starts_with("f:1: message 2 has no 'content'"));
    CHECK(Folder()
              .rows(R"({"messages": [{"role": "user", "content": "a"},)"
                    R"({"role": "assistant", "content": null, "tool_calls": [1]},)"
                    R"({"role": "assistant", "content": "b"}]})")
              .find("has no 'content'") == std::string::npos);
    CHECK(Folder().rows(talk({{"user", "a"}}) + "{").starts_with("f:2: not JSON"));
    CHECK(Folder()
              .rows(R"({"messages": [{"role": "user", "content": "a\u0000"}]})")
              .starts_with("f:1: a NUL character"));
}

TEST_CASE("generation blocks tell where a turn begins that its prompt does not lead to") {
    CHECK(Folder("{% for m in messages %}{% if m.role == 'assistant' %}<a>"
                 "{% generation %}{{ m.content }}<e>{% endgeneration %}{% else %}"
                 "{{ m.content }}<e>{% endif %}{% endfor %}"
                 "{% if add_generation_prompt %}<a>thinking{% endif %}")
              .rows(talk({{"user", "a"}, {"assistant", "b"}})) == "a[257][261]>b[257] ");
}

TEST_CASE("the turn ends with its last end token, and nothing behind it has a label") {
    CHECK(Folder("{% for m in messages %}{{ '<a>' if m.role == 'assistant' }}{{ m.content }}<x>\n"
                 "{% endfor %}{% if add_generation_prompt %}<a>{% endif %}")
              .rows(talk({{"user", "a"}, {"assistant", "b"}})) == "a[258]\n[261]>b[258] ");
}

TEST_CASE("other forms of conversations go through the template, pairs of texts do not") {
    const Folder folder;
    const std::string wanted = "[256][260]a[257]\n[261]>b[257] ";
    CHECK(folder.rows(R"({"conversations": [{"from": "human", "value": "a"},)"
                      R"({"from": "gpt", "value": "b"}]})") == wanted);
    CHECK(folder.rows(R"({"instruction": "a", "input": "", "output": "b"})") == wanted);
    CHECK(folder.rows(R"({"prompt": [{"role": "user", "content": "a"}],)"
                      R"("completion": [{"role": "assistant", "content": "b"}]})") == wanted);
    CHECK(folder.rows(R"({"prompt": "a<e>", "completion": " b"})") == "[256]a<e>> b| ");
}

TEST_CASE("a conversation is one row where the template keeps its earlier turns") {
    const std::string two =
        talk({{"user", "a"}, {"assistant", " b "}, {"user", "c"}, {"assistant", ""}});
    constexpr TalkRows whole = TalkRows::conversations;
    const Folder folder;
    CHECK(folder.rows(two, whole) == "[256][260]a[257]\n[261]{b[257]}\n[260]c[257]\n[261]{[257]} ");
    CHECK(folder.rows(talk({{"user", "a"}, {"assistant", "b"}, {"user", "c"}}), whole) ==
          "[256][260]a[257]\n[261]>b[257] ");
    CHECK(
        folder.rows(R"({"messages": [{"role": "user", "content": "a"},)"
                    R"({"role": "assistant", "content": "b"},)"
                    R"({"role": "assistant", "content": "c", "weight": 0},)"
                    R"({"role": "user", "content": "<e>"},)"
                    R"({"role": "assistant", "content": "d"}, {"role": "user", "content": "e"}]})",
                    whole) ==
        "[256][260]a[257]\n[261]{b[257]}\n[261]c[257]\n[260]<e>[257]\n[261]{d[257]} ");
    // Thoughts of earlier turns are taken out, so that each turn is a row.
    const Folder rewriting(
        "{% for m in messages %}{{ '<a>' if m.role == 'assistant' else '<u>' }}"
        "{{ m.content if loop.last else m.content.split('/')[-1] }}<e>{% endfor %}"
        "{% if add_generation_prompt %}<a>{% endif %}");
    CHECK(rewriting.rows(
              talk({{"user", "a"}, {"assistant", "t/b"}, {"user", "c"}, {"assistant", "t/d"}}),
              whole) ==
          "[260]a[257][261]>t/b[257] [260]a[257][261]b[257][260]c[257][261]>t/d[257] ");
    CHECK(rewriting.rows(two, whole) == "[260]a[257][261]{ b [257]}[260]c[257][261]{[257]} ");
}

TEST_CASE("a conversation that begins with the assistant, or where one speaks twice, is told") {
    std::string warned;
    const std::string greeting = talk({{"assistant", "x"}, {"user", "a"}, {"assistant", "b"}});
    const Folder folder;
    CHECK(folder.rows(greeting) ==
          "[256][261]>x[257] [256][261]x[257]\n[260]a[257]\n[261]>b[257] ");
    const Folder needs_first(
        "{{ messages[0].content }}{% for m in messages[1:] %}<{{ m.role[0] }}>{{ m.content }}<e>"
        "{% endfor %}{% if add_generation_prompt %}<a>{% endif %}");
    CHECK(needs_first.rows(greeting, TalkRows::turns, &warned) == "x[260]a[257][261]>b[257] ");
    CHECK(warned ==
          "warning: f:1: 1 of 1 conversations begin with the assistant, and the chat template "
          "writes nothing that leads to it: this message has no label\n");
    folder.rows(talk({{"user", "a"}, {"user", "b"}, {"assistant", "c"}}), TalkRows::turns, &warned);
    CHECK(warned ==
          "warning: f:1: 1 of 1 conversations have two messages of the same role in a row\n");
}

TEST_CASE("a template that grows beyond measure is refused early") {
    const std::string one = talk({{"user", "a"}, {"assistant", "b"}});
    const std::string doubling =
        "{% macro f(x, n) %}{% if n > 0 %}{{ f(x ~ x, n - 1) }}{% endif %}{{ x }}{% endmacro %}"
        "{{ f('a' ~ messages[0].content, 20) }}<e>";
    CHECK(
        Folder(doubling).rows(one) ==
        "f:1: message 2: tokenizer_config.json, chat_template:1: the template makes a text of more "
        "than 1 MiB");
    CHECK(Folder("{% set ns = namespace(x=[1, 2]) %}{% for i in range(99) %}"
                 "{% set ns.x = ns.x + ns.x %}{% endfor %}")
              .rows(one)
              .find("the template works on more than 6") != std::string::npos);
    CHECK(Folder("{% set ns = namespace(x='ab') %}{% for i in range(18) %}"
                 "{% set ns.x = ns.x + ns.x %}{% endfor %}{% for i in range(9999) %}"
                 "{{ 'a' if ns.x | upper == 'a' }}{% endfor %}")
              .rows(one)
              .find("the template works on more than 6") != std::string::npos);
}

TEST_CASE("lines of different forms in a file are refused with the line") {
    const std::string messages = talk({{"user", "a"}, {"assistant", "b"}});
    const Folder folder;
    CHECK(folder.rows(messages + R"({"instruction": "a", "output": "b"})") ==
          "f:2: a line of the form {\"instruction\": ..., \"output\": ...} in a file whose line 1 "
          "has "
          "{\"messages\": ...}; put lines of different forms in files of their own");
    CHECK(folder.rows(R"({"prompt": "a", "completion": "b"})" + ("\n" + messages))
              .starts_with("f:2: a line of the form {\"messages\": ...} in a file whose line 1"));
}

TEST_CASE("chat_template.jinja comes before tokenizer_config.json, and of several the default") {
    using tests::write_text;
    Folder folder("config");
    CHECK(ChatFormat::of(*folder.tokenizer).has_value());
    write_text(folder.scratch / "t/chat_template.jinja", "file<e>");
    folder.tokenizer = open_tokenizer(folder.scratch / "t");
    const Json data = Json::parse(talk({{"user", "a"}}));
    CHECK(shown(ChatFormat::of(*folder.tokenizer)->prompt(data)) == "file[257]");
    std::filesystem::remove(folder.scratch / "t/chat_template.jinja");
    write_text(folder.scratch / "t/tokenizer_config.json",
               R"({"eos_token": "<e>", "chat_template": [{"name": "tools", "template": "t"},)"
               R"({"name": "default", "template": "d"}]})");
    folder.tokenizer = open_tokenizer(folder.scratch / "t");
    CHECK(shown(ChatFormat::of(*folder.tokenizer)->prompt(data)) == "d");
    write_text(folder.scratch / "t/tokenizer_config.json",
               R"({"eos_token": "<e>", "chat_template": [{"name": "tools", "template": "t"}]})");
    folder.tokenizer = open_tokenizer(folder.scratch / "t");
    CHECK_THROWS_WITH_AS(
        ChatFormat::of(*folder.tokenizer),
        (folder.scratch / "t/tokenizer_config.json, chat_template: is neither a text nor a list "
                          "with a template of the name \"default\"")
            .c_str(),
        Error);
    write_text(folder.scratch / "t/chat_template.jinja", "a\n{% for %}");
    folder.tokenizer = open_tokenizer(folder.scratch / "t");
    CHECK_THROWS_WITH_AS(
        ChatFormat::of(*folder.tokenizer),
        (folder.scratch / "t/chat_template.jinja:2: expected a name, but there is '%}'").c_str(),
        Error);
    std::filesystem::remove(folder.scratch / "t/chat_template.jinja");
    write_text(folder.scratch / "t/tokenizer_config.json", R"({"eos_token": "<e>"})");
    folder.tokenizer = open_tokenizer(folder.scratch / "t");
    CHECK(!ChatFormat::of(*folder.tokenizer));
}
