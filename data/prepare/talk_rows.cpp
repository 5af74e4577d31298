// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/talk_rows.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "data/text/conversation_shapes.hpp"
#include "data/text/json_lines.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data {
namespace {

using Line = nlohmann::ordered_json;

constexpr std::string_view form =
    R"({"messages": [{"role": "user", "content": "..."}, {"role": "assistant", ...}]})";

constexpr std::array<std::string_view, 6> usual_roles = {"system",    "developer", "user",
                                                         "assistant", "tool",      "function"};

void refuse_nul(const Line& value, const SourceLine& source_line) {
    if (value.is_string() && value.get_ref<const std::string&>().find('\0') != std::string::npos)
        throw_bad_text(source_line, "a NUL character (\\u0000); text has none: take it out");
    if (!value.is_structured()) return;
    for (const auto& [name, item] : value.items()) refuse_nul(item, source_line);
}

void check_messages(const Line& line, const SourceLine& source_line) {
    const std::string expected = "; a line is " + std::string(form);
    if (!line.is_object() || !line.contains("messages") || !line["messages"].is_array())
        throw_bad_text(source_line, "\"messages\" is no list" + expected);
    std::size_t number = 0;
    for (const Line& message : line["messages"]) {
        ++number;
        if (message.is_object() && message.contains("role") && message["role"].is_string())
            continue;
        throw_bad_text(source_line,
                       "message " + std::to_string(number) + " has no 'role'" + expected);
    }
    refuse_nul(line, source_line);
}

bool is_label(const Line& message, const SourceLine& source_line) {
    const Line weight = message.value("weight", Line(1));
    if (!weight.is_number() || (weight != 0 && weight != 1))
        throw_bad_text(source_line, "a message has a 'weight' of " + shown(dump_json(weight)) +
                                        "; it is 0 (no label) or 1");
    return message["role"] == "assistant" && weight == 1;
}

bool says_nothing(const Line& message) {
    const auto empty = [&](const char* name) {
        return !message.contains(name) || message[name].empty() ||
               (message[name].is_string() && message[name].get_ref<const std::string&>().empty());
    };
    return empty("content") && empty("tool_calls") && empty("reasoning_content");
}

class TalkEncoder {
public:
    TalkEncoder(const Tokenizer& tokenizer, const EncodeSettings& settings, EncodedChunk& out)
        : tokenizer_(tokenizer), settings_(settings), out_(out) {}

    void add(const Line& given, const SourceLine& source_line) {
        if (is_raw_pair(given)) return add_pair(given, source_line);
        const Line talk = as_messages(given, out_.warnings, source_line);
        check_messages(talk, source_line);
        out_.warnings.count_conversation();
        std::size_t rows = 0;
        for (std::size_t i = 0; i < talk["messages"].size(); ++i) {
            warn_of_role(talk["messages"][i]["role"].get_ref<const std::string&>(), source_line);
            warn_of_content(talk["messages"][i], source_line);
            if (!is_label(talk["messages"][i], source_line)) continue;
            add_turn(talk, i, source_line);
            ++rows;
        }
        if (rows == 0) out_.warnings.add("# have no answer and give no row", source_line);
    }

private:
    static bool is_raw_pair(const Line& line) {
        return line.is_object() && !line.contains("messages") && line.contains("prompt") &&
               line.contains("completion") && line["prompt"].is_string() &&
               line["completion"].is_string();
    }
    // Templates may know more roles, but a misspelt one would lose its labels in silence.
    void warn_of_role(const std::string& role, const SourceLine& source_line) {
        if (std::ranges::find(usual_roles, role) == usual_roles.end())
            out_.warnings.add(
                "messages of the role @ are given to the chat template and have no label",
                source_line, role.empty() ? " " : role);
    }
    // A template may write a list as Python does, and so does transformers then.
    void warn_of_content(const Line& message, const SourceLine& source_line) {
        if (!message.contains("content") || message["content"].is_string() ||
            message["content"].is_null())
            return;
        out_.warnings.add(
            "contents that are no texts are given to the chat template as they are; look at a row",
            source_line);
    }
    void add_turn(const Line& talk, std::size_t number, const SourceLine& source_line) {
        if (says_nothing(talk["messages"][number]))
            out_.warnings.add(
                "a message of the assistant has no words; its label is only the end of the turn",
                source_line);
        try {
            const SpokenTurn turn = settings_.chat->turn(talk, number);
            add_row(turn.context, turn.label, TargetEnd::included);
        } catch (const Error& error) {
            throw_bad_text(source_line,
                           "message " + std::to_string(number + 1) + ": " + error.what());
        }
    }
    void add_pair(const Line& line, const SourceLine& source_line) {
        refuse_nul(line, source_line);
        out_.warnings.add(
            "\"prompt\" and \"completion\" are read as they are, without the chat template",
            source_line);
        std::vector<std::int32_t> context, label;
        const SpecialTokens& special = tokenizer_.special();
        const auto begin = special.start ? tokenizer_.text_begin() : special.begin;
        if (begin) context.push_back(*begin);
        if (const auto first = tokenizer_.label_begin()) label.push_back(*first);
        tokenizer_.encode(line["prompt"].get_ref<const std::string&>(), context);
        if (const auto end = tokenizer_.text_end()) context.push_back(*end);
        tokenizer_.encode(line["completion"].get_ref<const std::string&>(), label);
        if (context.empty())
            throw_bad_text(source_line, "a \"prompt\" without text; give each completion one");
        add_row(context, label, TargetEnd::added);
    }
    void add_row(const std::vector<std::int32_t>& context, const std::vector<std::int32_t>& label,
                 TargetEnd end) {
        EncodedRow row{.source_begin = out_.ids.size()};
        out_.ids.insert(out_.ids.end(), context.begin(), context.end());
        row.source_end = row.target_begin = out_.ids.size();
        out_.ids.insert(out_.ids.end(), label.begin(), label.end());
        row.target_end = out_.ids.size();
        row.references_begin = out_.references.size();
        if (settings_.references == EncodeSettings::References::kept)
            out_.references.push_back(tokenizer_.decode(label));
        row.references_end = out_.references.size();
        row.end = end;
        out_.tokens.add(label, tokenizer_.special().unk);
        out_.rows.push_back(row);
    }

    const Tokenizer& tokenizer_;
    const EncodeSettings& settings_;
    EncodedChunk& out_;
};

}  // namespace

void encode_talks(const TextChunk& chunk, const Tokenizer& tokenizer,
                  const EncodeSettings& settings, EncodedChunk& out) {
    TalkEncoder encoder(tokenizer, settings, out);
    for_each_ordered_json_line(chunk, form, [&](const Line& line, const SourceLine& source_line) {
        encoder.add(line, source_line);
    });
}

}  // namespace lockstep::data
