// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/chat_format.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "data/tokenizer_json/pretrained_tokenizer.hpp"
#include "data/tokenizers/huggingface_tokenizer.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"

namespace lockstep::data {
namespace {

using Talk = nlohmann::ordered_json;

constexpr const char* template_file = "chat_template.jinja";
constexpr const char* config_file = "tokenizer_config.json";

// Of several templates, "default" is that of conversations.
const nlohmann::json* default_of(const nlohmann::json& templates) {
    if (!templates.is_array()) return &templates;
    for (const auto& one : templates)
        if (one.is_object() && one.value("name", "") == "default" && one.contains("template"))
            return &one["template"];
    return nullptr;
}

std::optional<Template> template_of(const HuggingfaceTokenizer& tokenizer) {
    if (const std::string* file = tokenizer.kept_file(template_file))
        return Template(*file, tokenizer.origin_of(template_file));
    const std::string* config = tokenizer.kept_file(config_file);
    if (config == nullptr) return std::nullopt;
    const nlohmann::json json = try_parse_json(*config);
    if (!json.is_object() || !json.contains("chat_template") || json["chat_template"].is_null())
        return std::nullopt;
    const nlohmann::json* found = default_of(json["chat_template"]);
    const std::string name = tokenizer.origin_of(config_file) + ", chat_template";
    if (found == nullptr || !found->is_string())
        throw Error(ErrorKind::data, name +
                                         ": is neither a text nor a list with a template of the "
                                         "name \"default\"");
    return Template(found->get_ref<const std::string&>(), name);
}

// Of the texts of a value, with some bytes for each part.
std::size_t bytes_of(const Talk& value) {
    if (value.is_string()) return value.get_ref<const std::string&>().size() + 8;
    std::size_t bytes = 8;
    if (value.is_structured())
        for (const Talk& part : value) bytes += bytes_of(part);
    return bytes;
}

// A template writes little beside what it is given, and often the same.
constexpr std::size_t own_text_bytes = std::size_t{1} << 20, copies = 64;

// Each turn is written with all before it, so that the work grows with the square of the turns.
constexpr std::size_t longest_talk_bytes = std::size_t{256} << 20;

Talk names_of_specials(const PretrainedTokenizer& engine) {
    Talk names = Talk::object();
    const SpecialTokenIds& ids = engine.special_tokens();
    const auto add = [&](const char* name, const std::optional<std::int32_t>& id) {
        if (id && engine.piece(*id)) names[name] = std::string(*engine.piece(*id));
    };
    add("bos_token", ids.begin);
    add("eos_token", ids.end);
    add("pad_token", ids.pad);
    add("unk_token", ids.unknown);
    return names;
}

// Templates know thoughts by several names. As in transformers, all of them get the first one.
Talk with_thoughts(Talk message) {
    for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
        if (!message.is_object() || !message.contains(name) || message[name].is_null()) continue;
        const Talk thought = message[name];
        if (!message.contains("thinking")) message["thinking"] = thought;
        message["reasoning_content"] = thought;
        return message;
    }
    return message;
}

}  // namespace

void require_bounded(std::size_t bytes) {
    if (bytes > longest_talk_bytes)
        throw Error(
            ErrorKind::data,
            "the turns of the conversation, each with all before it, have more than 256 MiB "
            "of text; divide the conversation");
}

ChatFormat::ChatFormat(const HuggingfaceTokenizer& tokenizer, Template chat_template,
                       const std::optional<jinja::Date>& date)
    : tokenizer_(&tokenizer), template_(std::move(chat_template)) {
    options_.date = date;
}

std::optional<ChatFormat> ChatFormat::of(const Tokenizer& tokenizer,
                                         const std::optional<jinja::Date>& date) {
    const auto* pretrained = dynamic_cast<const HuggingfaceTokenizer*>(&tokenizer);
    if (pretrained == nullptr) return std::nullopt;
    std::optional<Template> found = template_of(*pretrained);
    if (!found) return std::nullopt;
    return ChatFormat(*pretrained, std::move(*found), date);
}

// As in transformers, tools and documents are there even if there are none.
RenderedText ChatFormat::render(const Talk& talk, std::size_t messages, Ask ask) const {
    Talk data = {{"tools", nullptr}, {"documents", nullptr}};
    for (const auto& [name, value] : talk.items())
        if (name != "messages") data[name] = value;
    data["messages"] = Talk::array();
    for (std::size_t i = 0; i < messages; ++i)
        data["messages"].push_back(with_thoughts(talk["messages"][i]));
    data["add_generation_prompt"] = ask == Ask::yes;
    RenderOptions options = options_;
    const std::size_t given = bytes_of(data);
    options.limits.text_bytes =
        std::min(options.limits.text_bytes, own_text_bytes + copies * given);
    options.limits.work_bytes =
        std::min(options.limits.work_bytes, copies * (own_text_bytes + 16 * given));
    return template_.render(data, names_of_specials(tokenizer_->engine()), options);
}

std::vector<std::int32_t> ChatFormat::encode(const RenderedText& text, std::size_t begin,
                                             std::size_t end) const {
    std::vector<TextRange> words;
    for (const ByteRange& range : text.from_data)
        if (range.end > begin && range.begin < end)
            words.push_back(
                {std::max(range.begin, begin) - begin, std::min(range.end, end) - begin});
    std::vector<std::int32_t> ids;
    tokenizer_->engine().encode(std::string_view(text.text).substr(begin, end - begin), words, ids);
    return ids;
}

void ChatFormat::require_one_begin(const std::vector<std::int32_t>& ids) const {
    const auto& begin = tokenizer_->special().begin;
    if (begin && ids.size() > 1 && ids[0] == *begin && ids[1] == *begin)
        throw Error(ErrorKind::data,
                    template_.name() +
                        ": the text begins with two tokens that begin a text; take one out of the "
                        "template");
}

std::vector<std::int32_t> ChatFormat::prompt(const Talk& talk) const {
    const RenderedText text = render(talk, talk["messages"].size(), Ask::yes);
    std::vector<std::int32_t> ids = encode(text, 0, text.text.size());
    require_one_begin(ids);
    return ids;
}

// The prompt leads to the turn; where it does not, {% generation %} tells where the turn begins.
std::size_t ChatFormat::begin_of_turn(const RenderedText& prompt,
                                      const RenderedText& spoken) const {
    if (spoken.text.starts_with(prompt.text)) return prompt.text.size();
    if (!spoken.generation.empty()) return spoken.generation.back().begin;
    throw Error(ErrorKind::data,
                template_.name() +
                    ": what it writes with add_generation_prompt is not how it begins this turn; "
                    "mark the turn in it by {% generation %}");
}

SpokenTurn ChatFormat::turn(const Talk& talk, std::size_t message) const {
    const RenderedText prompt = render(talk, message, Ask::yes);
    const RenderedText spoken = render(talk, message + 1, Ask::no);
    const std::size_t begin = begin_of_turn(prompt, spoken);
    SpokenTurn turn{encode(spoken, 0, begin), encode(spoken, begin, spoken.text.size()),
                    prompt.text.size() + spoken.text.size()};
    require_one_begin(turn.context);
    turn.label.resize(labels_of(turn.label));
    return turn;
}

std::size_t ChatFormat::labels_of(const std::vector<std::int32_t>& turn) const {
    const auto& ends = tokenizer_->special().ends;
    std::size_t count = turn.size();
    while (count > 0 && std::ranges::find(ends, turn[count - 1]) == ends.end()) --count;
    if (count > 0) return count;
    throw Error(ErrorKind::data,
                template_.name() +
                    ": it ends the turn by no end token; those are \"eos_token\" of "
                    "tokenizer_config.json and \"eos_token_id\" of generation_config.json");
}

std::optional<SpokenTalk> ChatFormat::conversation(const Talk& talk,
                                                   std::span<const std::size_t> messages) const {
    SpokenTalk spoken;
    RenderedText text;
    std::size_t rendered = 0;
    for (const std::size_t message : messages) {
        const RenderedText prompt = render(talk, message, Ask::yes);
        RenderedText now = render(talk, message + 1, Ask::no);
        rendered += prompt.text.size() + now.text.size();
        require_bounded(rendered);
        const std::size_t begin = begin_of_turn(prompt, now), done = text.text.size();
        if (begin < done || !now.text.starts_with(text.text)) return std::nullopt;
        const std::vector<std::int32_t> before = encode(now, done, begin);
        const std::vector<std::int32_t> turn = encode(now, begin, now.text.size());
        spoken.ids.insert(spoken.ids.end(), before.begin(), before.end());
        const auto first = static_cast<std::int32_t>(spoken.ids.size());
        spoken.turns.push_back({first, first + static_cast<std::int32_t>(labels_of(turn))});
        spoken.ids.insert(spoken.ids.end(), turn.begin(), turn.end());
        text = std::move(now);
    }
    if (spoken.turns.empty()) return std::nullopt;
    spoken.ids.resize(static_cast<std::size_t>(spoken.turns.back().end));
    // turn() encodes what is before a turn as a whole.
    const std::vector<std::int32_t> whole = encode(text, 0, text.text.size());
    if (!std::ranges::equal(std::span(whole).first(std::min(whole.size(), spoken.ids.size())),
                            spoken.ids))
        return std::nullopt;
    require_one_begin(spoken.ids);
    return spoken;
}

}  // namespace lockstep::data
