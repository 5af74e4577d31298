// SPDX-License-Identifier: Apache-2.0
#include "data/text/parlai_text.hpp"

#include <vector>

#include "data/text/fields.hpp"

namespace lockstep::data {
namespace {

// ParlAI reports longer episodes as errors: usually episode_done was forgotten.
constexpr int longest_usual_episode = 100;

// Replaces `\n` and `\t` by line feed and tab, and __PIPE__ by a bar.
void unescape(std::string_view text, std::string& out) {
    constexpr std::string_view pipe = "__PIPE__";
    out.clear();
    while (!text.empty()) {
        const bool feed = text.starts_with("\\n"), tab = text.starts_with("\\t");
        if (feed || tab) {
            out += feed ? '\n' : '\t';
            text.remove_prefix(2);
        } else if (text.starts_with(pipe)) {
            out += '|';
            text.remove_prefix(pipe.size());
        } else {
            out += text.front();
            text.remove_prefix(1);
        }
    }
}

bool has_escapes(std::string_view text) noexcept {
    return text.find('\\') != std::string_view::npos ||
           text.find("__PIPE__") != std::string_view::npos;
}

class ParlaiTextReader {
public:
    ParlaiTextReader(Warnings& warnings, TurnSink& sink) : warnings_(warnings), sink_(sink) {}

    void read(std::string_view line, const SourceLine& source_line) {
        if (line.empty()) return;
        text_given_ = labels_given_ = false;
        done_ = {};
        for_each_part(line, '\t', [&](std::string_view field) { read_field(field, source_line); });
        if (!text_given_)
            throw_bad_text(source_line, "no 'text' field; a line is 'text:...<TAB>labels:...'");
        if (!labels_given_)
            throw_bad_text(source_line, "no 'labels' field; a line is 'text:...<TAB>labels:...'");
        emit(source_line);
    }

private:
    void read_field(std::string_view field, const SourceLine& source_line) {
        if (field.empty()) return;
        const std::size_t colon = field.find(':');
        if (colon == std::string_view::npos)
            throw_bad_text(
                source_line,
                in_quotes(field) + " has no colon; fields are 'key:value', separated by tabs");
        const std::string_view key = field.substr(0, colon), value = field.substr(colon + 1);
        if (key == "text") {
            text_given_ = true;
            text_ = plain(value, text_store_);
        } else if (key == "labels") {
            labels_given_ = true;
            read_labels(value);
        } else if (key == "eval_labels") {
            throw_bad_text(source_line, "'eval_labels' in a file; write them as 'labels'");
        } else if (key == "episode_done") {
            done_ = value;
        }
    }

    void read_labels(std::string_view value) {
        labels_.clear();
        std::size_t count = 0;
        for_each_part(value, '|', [&](std::string_view) { ++count; });
        if (label_stores_.size() < count) label_stores_.resize(count);
        for_each_part(value, '|', [&](std::string_view label) {
            labels_.push_back(plain(label, label_stores_[labels_.size()]));
        });
    }

    static std::string_view plain(std::string_view text, std::string& store) {
        if (!has_escapes(text)) return text;
        unescape(text, store);
        return store;
    }

    void emit(const SourceLine& source_line) {
        if (turns_ == 0) sink_.begin_episode();
        sink_.turn(text_, labels_, source_line);
        if (++turns_ == longest_usual_episode + 1)
            warnings_.once("an episode of more than 100 turns; is episode_done:True missing?",
                           source_line);
        if (done_ == "False")
            warnings_.once(
                "episode_done:False ends the episode, as in ParlAI; leave it out to "
                "continue",
                source_line);
        if (!done_.empty()) turns_ = 0;
    }

    Warnings& warnings_;
    TurnSink& sink_;
    bool text_given_ = false, labels_given_ = false;
    int turns_ = 0;  // turns of the current episode
    std::string_view text_, done_;
    std::vector<std::string_view> labels_;
    std::string text_store_;
    std::vector<std::string> label_stores_;
};

}  // namespace

void read_parlai_text(const TextChunk& chunk, Warnings& warnings, TurnSink& sink) {
    ParlaiTextReader reader(warnings, sink);
    for_each_line(chunk, [&](std::string_view line, const SourceLine& p) { reader.read(line, p); });
}

bool parlai_line_ends_episode(std::string_view line) noexcept {
    constexpr std::string_view key = "episode_done:";
    for (std::size_t at = line.find(key); at != std::string_view::npos;
         at = line.find(key, at + 1)) {
        const std::string_view value = line.substr(at + key.size());
        const bool field = at == 0 || line[at - 1] == '\t';
        if (field && !value.empty() && value.front() != '\t' && value.front() != '\r') return true;
    }
    return false;
}

}  // namespace lockstep::data
