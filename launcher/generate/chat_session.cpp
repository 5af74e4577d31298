// SPDX-License-Identifier: Apache-2.0
#include "launcher/generate/chat_session.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/text/unicode.hpp"
#include "data/tokenizers/written_words.hpp"
#include "launcher/options/model_defaults.hpp"
#include "model/architectures.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"

namespace lockstep::launcher {

void require_text(const std::string& text, const std::string& where) {
    const std::size_t nul = text.find('\0');
    if (nul != std::string::npos)
        throw Error(ErrorKind::data, where + ": byte " + std::to_string(nul + 1) +
                                         " is NUL, which no text has; take it out");
    const std::size_t invalid = data::unicode::first_invalid(text);
    if (invalid == text.size()) return;
    throw Error(ErrorKind::data, where + ": byte " + std::to_string(invalid + 1) +
                                     " is not UTF-8; convert the text first (a Windows text by "
                                     "iconv -f WINDOWS-1252 -t UTF-8)");
}

namespace {

// Tells whether the model was trained on dialogues: only such models have a history.
bool learnt_dialogues(const std::string& folder) {
    return model::has_encoder(open_model_folder(folder).config) ||
           stored_defaults(folder).contains("history-size");
}

}  // namespace

ChatSession::ChatSession(const RunConfig& config)
    : settings_(config.talk),
      learnt_dialogues_(learnt_dialogues(config.model_file)),
      longest_(config.batch.text_truncate > 0 ? config.batch.text_truncate : config.batch.truncate),
      generation_(reply_options(config)),
      device_(lone_device(config)),
      loaded_(config.model_file, config.checkpoint, device_),
      chat_(data::ChatFormat::of(loaded_.tokenizer())),
      replier_(loaded_.model().decoder(), loaded_.tokenizer(), generation_,
               StopTexts(loaded_.tokenizer(), config.talk.stops)),
      taken_cores_(
          cores_notice(device_, comm::alone(), [quiet = config.quiet](const std::string& line) {
              if (!quiet) warn_of_taken_cores(line);
          })) {
    require_text(settings_.system, "--system");
    if (!chat_ && !settings_.system.empty())
        throw Error(ErrorKind::config,
                    "--system: " + config.model_file +
                        " has no chat template (chat_template.jinja), so it knows no system "
                        "message; leave it out");
}

std::vector<std::int32_t> ChatSession::context_of(const std::vector<std::string>& turns) const {
    const data::Tokenizer& tokenizer = loaded_.tokenizer();
    const auto most = static_cast<std::size_t>(settings_.history_size);
    const bool all = settings_.history_size <= 0 || turns.size() <= most;
    std::vector<std::int32_t> tokens;
    if (const auto begin = tokenizer.text_begin()) tokens.push_back(*begin);
    const std::size_t first = all ? 0 : turns.size() - most;
    for (std::size_t i = first; i < turns.size(); ++i) {
        if (i > first) data::encode_delimiter(tokenizer, settings_.delimiter, tokens);
        tokenizer.encode(turns[i], tokens);
    }
    if (const auto end = tokenizer.text_end()) tokens.push_back(*end);
    const data::SpecialTokens& special = tokenizer.special();
    if (!tokens.empty() || (special.start && !learnt_dialogues_)) return tokens;
    if (!special.empty_context())
        throw Error(ErrorKind::data,
                    "a prompt without text, and this model's tokenizer has no token that begins a "
                    "text; write a prompt");
    return {*special.empty_context()};
}

std::vector<std::int32_t> ChatSession::context_of_prompt(const Prompt& prompt) const {
    const bool one_text = prompt.shape == TalkShape::other && prompt.turns.size() == 1;
    const bool as_texts = prompt.talk.empty() || (!chat_ && (learnt_dialogues_ || one_text));
    return as_texts ? context_of(prompt.turns) : context_of_talk(prompt.talk, prompt.where);
}

PromptBytes ChatSession::bytes_of(const std::vector<std::vector<std::int32_t>>& contexts) const {
    if (device_.gpu) return {};
    return reply_bytes(loaded_.config(), device_.precision, generation_, longest_, contexts);
}

std::vector<std::vector<Reply>> ChatSession::ranked(
    const std::vector<std::vector<std::int32_t>>& contexts,
    const std::vector<std::uint32_t>& rows) {
    std::vector<std::vector<std::int32_t>> seen;
    for (const auto& context : contexts) seen.push_back(seen_of(context));
    taken_cores_.look();
    auto replies = replier_.ranked(seen, rows, contexts);
    taken_cores_.look();
    return replies;
}

// Returns the end of the context that is used.
std::vector<std::int32_t> ChatSession::seen_of(std::vector<std::int32_t> context) {
    if (longest_ > 0 && std::ssize(context) > longest_)
        context.erase(context.begin(), context.end() - longest_);
    cut_contexts_ += is_cut(std::ssize(context)) ? 1 : 0;
    return context;
}

std::vector<std::int32_t> ChatSession::context_of_chat(
    const std::vector<std::string>& turns) const {
    return chat_ ? context_of_talk(talk_of(turns), "the conversation") : context_of(turns);
}

std::string ChatSession::reply(const std::vector<std::string>& turns, std::uint32_t row) {
    return ranked({context_of_chat(turns)}, {row}).front().front().text;
}

std::string ChatSession::reply(const std::vector<std::string>& turns, std::uint32_t row,
                               const std::function<void(const std::string&)>& show) {
    if (!replier_.grows()) {
        std::string text = reply(turns, row);
        show(text);
        return text;
    }
    const auto context = context_of_chat(turns);
    taken_cores_.look();
    const Reply reply = replier_.shown(seen_of(context), row, context, show);
    taken_cores_.look();
    return reply.text;
}

std::vector<std::int32_t> ChatSession::context_of_talk(const std::string& talk,
                                                       const std::string& where) const {
    if (!chat_)
        throw Error(ErrorKind::data, where +
                                         ": \"messages\", but the model has no chat template "
                                         R"((chat_template.jinja); give {"text": "..."})");
    try {
        return chat_->prompt(nlohmann::ordered_json::parse(talk));
    } catch (const Error& error) {
        throw Error(ErrorKind::data, where + ": " + error.what());
    }
}

std::string ChatSession::talk_of(const std::vector<std::string>& turns) const {
    const auto message = [](const char* role, const std::string& content) {
        return nlohmann::ordered_json{{"role", role}, {"content", content}};
    };
    auto messages = nlohmann::ordered_json::array();
    if (!settings_.system.empty()) messages.push_back(message("system", settings_.system));
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(settings_.history_size, 0));
    std::size_t first = most > 0 && turns.size() > most ? turns.size() - most : 0;
    // The user speaks first and last.
    if ((turns.size() - first) % 2 == 0) ++first;
    for (std::size_t i = first; i < turns.size(); ++i)
        messages.push_back(message((i - first) % 2 == 0 ? "user" : "assistant", turns[i]));
    return dump_json(nlohmann::ordered_json{{"messages", messages}});
}

// A decoder without an encoder has its reply in the same positions, of which the reply takes at
// most half where both do not fit.
bool ChatSession::is_cut(std::int64_t context) const {
    const std::int64_t positions = loaded_.config().n_positions;
    if (model::has_encoder(loaded_.config())) return context > positions;
    const std::int64_t reply = std::min({std::int64_t{generation_.max_length}, positions,
                                         std::max(positions - context, positions / 2)});
    return context > positions - reply;
}

std::string ChatSession::why_cut() const {
    if (cut_contexts_ == 0) return "";
    return "warning: " + std::to_string(cut_contexts_) +
           (cut_contexts_ == 1 ? " prompt is" : " prompts are") + " too long for the model's " +
           std::to_string(loaded_.config().n_positions) + " positions; only " +
           (cut_contexts_ == 1 ? "its end was read" : "their ends were read") +
           ", as with --text-truncate";
}

std::string ChatSession::name() const {
    return model::architecture(loaded_.config().kind).talks_as;
}

}  // namespace lockstep::launcher
