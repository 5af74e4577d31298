// SPDX-License-Identifier: Apache-2.0
#include "launcher/generate/conversation_log.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "launcher/text/unwritten_answer.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/failure_reason.hpp"
#include "runtime/core/json_text.hpp"

namespace lockstep::launcher {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* unwritten = "--outfile cannot be written";
constexpr std::size_t looked_at_bytes = 256;

Json to_json(const Utterance& utterance) {
    return {{"id", utterance.speaker}, {"text", utterance.text}, {"episode_done", false}};
}

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (c == '|') {
            out += "__PIPE__";
        } else {
            out += c;
        }
    }
    return out;
}

// Tells whether a file with this beginning holds conversations of the format. White space, and a
// part that a crash left, count as well.
bool holds(std::string head, LogFormat format) {
    std::erase_if(head, [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; });
    const auto begins = [&](std::string_view begin) {
        return begin.starts_with(head.substr(0, begin.size()));
    };
    if (format == LogFormat::conversations) return begins("{\"dialog\":");
    return begins("id:") || begins("text:");
}

}  // namespace

ConversationLog::ConversationLog(const std::string& path, LogFormat format)
    : path_(path),
      format_(format),
      file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (!file_) throw_errno(unwritten, path);
    struct stat status {};
    if (fstat(file_.raw(), &status) != 0) throw_errno(unwritten, path);
    if (!S_ISREG(status.st_mode))
        throw Error(ErrorKind::config, "--outfile " + path + ": is not a file; name another one");
    // Only one program writes there. A file system without locks cannot tell.
    if (flock(file_.raw(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        throw Error(ErrorKind::config, "--outfile " + path +
                                           ": another program writes its conversations there; name "
                                           "another file");
    begin_ = end_ = status.st_size;
    std::string head(looked_at_bytes, ' ');
    if (pread(file_.raw(), head.data(), head.size(), 0) < 0) throw_errno(unwritten, path);
    if (!holds(head, format))
        throw Error(ErrorKind::config, "--outfile " + path +
                                           ": holds something else than conversations of the "
                                           "--save-format; name another file");
    char last = '\n';
    if (end_ > 0 && pread(file_.raw(), &last, 1, end_ - 1) != 1) throw_errno(unwritten, path);
    if (last == '\n') return;
    write("\n", end_);
    begin_ = ++end_;
}

void ConversationLog::begin(std::vector<Utterance> context) {
    context_ = std::move(context);
    exchanges_.clear();
    begin_ = end_;
}

void ConversationLog::add(Utterance said, Utterance answered) {
    exchanges_.push_back({std::move(said), std::move(answered)});
    // The text only grows, so it overwrites all of the old one.
    const std::string text =
        format_ == LogFormat::conversations ? conversations_line() : parlai_lines();
    write(text, begin_);
    end_ = begin_ + std::ssize(text);
}

void ConversationLog::write(const std::string& text, std::int64_t at) {
    for (std::string_view rest = text; !rest.empty();) {
        const ssize_t written = pwrite(file_.raw(), rest.data(), rest.size(), at);
        if (written < 0 && errno == EINTR) continue;
        // The talk has begun, so that the request was not wrong.
        if (written <= 0) {
            const int code = errno;
            throw UnwrittenAnswer(path_ + ": " + unwritten + ": " + failure_reason(code), code);
        }
        rest.remove_prefix(static_cast<std::size_t>(written));
        at += written;
    }
}

std::string ConversationLog::conversations_line() const {
    Json dialog = Json::array(), context = Json::array();
    for (const auto& [said, answered] : exchanges_) {
        dialog.push_back({to_json(said), to_json(answered)});
    }
    for (const Utterance& utterance : context_) context.push_back(to_json(utterance));
    const Json line{{"dialog", dialog}, {"context", context}};
    return dump_json(line) + "\n";
}

// Returns the conversation in ParlAI's format: the first text includes the first speaker's context,
// and an empty line ends the conversation.
std::string ConversationLog::parlai_lines() const {
    std::string lines;
    for (std::size_t i = 0; i < exchanges_.size(); ++i) {
        const auto& [said, answered] = exchanges_[i];
        const bool greeted = i == 0 && !context_.empty();
        const std::string text = (greeted ? context_.front().text + "\n" : "") + said.text;
        lines += "id:" + escaped(said.speaker) + "\ttext:" + escaped(text) +
                 "\tlabels:" + escaped(answered.text);
        lines += i + 1 == exchanges_.size() ? "\tepisode_done:True\n\n" : "\n";
    }
    return lines;
}

}  // namespace lockstep::launcher
