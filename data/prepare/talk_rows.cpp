// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/talk_rows.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

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
        const std::string which = "message " + std::to_string(number);
        const bool object = message.is_object();
        if (!object || !message.contains("role") || !message["role"].is_string())
            throw_bad_text(source_line, which + " has no 'role'" + expected);
        if (!has_content(message))
            throw_bad_text(source_line, which + " has no 'content'" + expected);
        if (message.contains("content") &&
            (message["content"].is_number() || message["content"].is_boolean()))
            throw_bad_text(source_line, which +
                                            " has a 'content' that is neither a text nor a list "
                                            "of parts" +
                                            expected);
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
        note_shape(given, out_.warnings, source_line);
        const Line talk = as_messages(given, out_.warnings, source_line);
        check_messages(talk, source_line);
        out_.warnings.count_conversation();
        warn_of_order(talk, source_line);
        std::vector<std::size_t> turns;
        for (std::size_t i = 0; i < talk["messages"].size(); ++i) {
            warn_of_role(talk["messages"][i]["role"].get_ref<const std::string&>(), source_line);
            warn_of_content(talk["messages"][i], source_line);
            if (!is_label(talk["messages"][i], source_line)) continue;
            warn_of_silence(talk["messages"][i], source_line);
            turns.push_back(i);
        }
        const std::size_t before = out_.rows.size();
        text_bytes_ = 0;
        if (!add_conversation(talk, turns))
            for (const std::size_t turn : turns) add_turn(talk, turn, source_line);
        if (out_.rows.size() == before)
            out_.warnings.add("# have no answer and give no row", source_line);
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
    void warn_of_silence(const Line& message, const SourceLine& source_line) {
        if (says_nothing(message))
            out_.warnings.add(
                "a message of the assistant has no words; its label is only the end of the turn",
                source_line);
    }
    // What the template makes of these is its own affair.
    void warn_of_order(const Line& talk, const SourceLine& source_line) {
        std::string_view last;
        for (const Line& message : talk["messages"]) {
            const std::string_view role = message["role"].get_ref<const std::string&>();
            if (role == last && (role == "user" || role == "assistant")) {
                out_.warnings.add("# have two messages of the same role in a row", source_line);
                return;
            }
            last = role;
        }
    }
    // Tells whether nobody but the system has spoken before the message.
    static bool begins_talk(const Line& talk, std::size_t number) {
        for (std::size_t i = 0; i < number; ++i)
            if (talk["messages"][i]["role"] != "system" &&
                talk["messages"][i]["role"] != "developer")
                return false;
        return true;
    }
    // Adds the conversation as one row. What is wrong with it, its turns tell.
    bool add_conversation(const Line& talk, std::span<const std::size_t> turns) {
        if (settings_.talk_rows != TalkRows::conversations || turns.size() < 2) return false;
        std::optional<SpokenTalk> spoken;
        try {
            spoken = settings_.chat->conversation(talk, turns);
        } catch (const Error&) {
            return false;
        }
        if (!spoken || spoken->turns.front().begin == 0) return false;
        const std::span<const std::int32_t> ids = spoken->ids;
        const auto begin = static_cast<std::size_t>(spoken->turns.front().begin);
        for (const LabelSpan& turn : spoken->turns)
            out_.tokens.add(ids.subspan(static_cast<std::size_t>(turn.begin),
                                        static_cast<std::size_t>(turn.end - turn.begin)),
                            tokenizer_.special().unk);
        append_row(ids.first(begin), ids.subspan(begin), TargetEnd::included);
        out_.rows.back().spans_begin = out_.spans.size();
        out_.spans.insert(out_.spans.end(), spoken->turns.begin(), spoken->turns.end());
        out_.rows.back().spans_end = out_.spans.size();
        return true;
    }
    void add_turn(const Line& talk, std::size_t number, const SourceLine& source_line) {
        try {
            const SpokenTurn turn = settings_.chat->turn(talk, number);
            require_bounded(text_bytes_ += turn.text_bytes);
            add_row(turn.context, turn.label, TargetEnd::included);
        } catch (const Error& error) {
            if (begins_talk(talk, number) && talk["messages"].size() > number + 1) {
                out_.warnings.add(
                    "# begin with the assistant, and the chat template writes nothing that leads "
                    "to it: this message has no label",
                    source_line);
                return;
            }
            throw_bad_text(source_line,
                           "message " + std::to_string(number + 1) + ": " + error.what());
        }
    }
    void add_pair(const Line& line, const SourceLine& source_line) {
        refuse_nul(line, source_line);
        out_.warnings.note_form(R"({"prompt": ..., "completion": ...})", source_line);
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
    void add_row(std::span<const std::int32_t> context, std::span<const std::int32_t> label,
                 TargetEnd end) {
        append_row(context, label, end);
        if (settings_.references == EncodeSettings::References::kept)
            out_.references.push_back(tokenizer_.decode(label));
        out_.rows.back().references_end = out_.references.size();
        out_.tokens.add(label, tokenizer_.special().unk);
    }
    void append_row(std::span<const std::int32_t> context, std::span<const std::int32_t> label,
                    TargetEnd end) {
        EncodedRow row{.source_begin = out_.ids.size()};
        out_.ids.insert(out_.ids.end(), context.begin(), context.end());
        row.source_end = row.target_begin = out_.ids.size();
        out_.ids.insert(out_.ids.end(), label.begin(), label.end());
        row.target_end = out_.ids.size();
        row.references_begin = row.references_end = out_.references.size();
        row.end = end;
        out_.rows.push_back(row);
    }

    const Tokenizer& tokenizer_;
    const EncodeSettings& settings_;
    EncodedChunk& out_;
    std::size_t text_bytes_ = 0;  // that the turns of the conversation were given
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
