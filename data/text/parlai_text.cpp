// SPDX-License-Identifier: Apache-2.0
#include "data/text/parlai_text.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "data/text/fields.hpp"
#include "data/text/format_hint.hpp"

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

// ParlAI's own fields that no row has a place for.
constexpr std::array<std::string_view, 7> unused_fields = {
    "id", "reward", "label_candidates", "text_candidates", "candidates", "image", "metrics"};

// Words that mean what any value of episode_done does.
constexpr std::array<std::string_view, 5> words_of_true = {"True", "true", "TRUE", "1", "yes"};

bool is_one_of(std::span<const std::string_view> words, std::string_view word) noexcept {
    return std::find(words.begin(), words.end(), word) != words.end();
}

// ParlAI text is what is read without --format, so plain text comes here, too.
std::string other_format(std::string_view line) {
    const std::string hint = format_hint(line);
    return hint.empty() ? "; if this is plain text, say --format text" : hint;
}

class ParlaiTextReader {
public:
    ParlaiTextReader(Warnings& warnings, CheckedTurns& turns)
        : warnings_(warnings), turns_(turns) {}

    void read(std::string_view line, const SourceLine& source_line) {
        if (stripped(line).empty()) return;
        given_ = {};
        done_ = unknown_ = {};
        for_each_part(line, '\t',
                      [&](std::string_view field) { read_field(field, line, source_line); });
        require(given_.text, "text", line, source_line);
        require(given_.labels, "labels", line, source_line);
        emit(source_line);
    }

private:
    void read_field(std::string_view field, std::string_view line, const SourceLine& source_line) {
        if (field.empty()) return;
        const std::size_t colon = field.find(':');
        if (colon == std::string_view::npos)
            throw_bad_text(source_line, in_quotes(field) +
                                            " has no colon; fields are 'key:value', separated by "
                                            "tabs; a tab inside of a text is written \\t" +
                                            other_format(line));
        const std::string_view key = field.substr(0, colon), value = field.substr(colon + 1);
        if (key == "text") {
            require_once(given_.text, key, source_line);
            text_ = plain(value, text_store_);
        } else if (key == "labels") {
            require_once(given_.labels, key, source_line);
            read_labels(value);
        } else if (key == "eval_labels") {
            throw_bad_text(source_line, "'eval_labels' in a file; write them as 'labels'");
        } else if (key == "episode_done") {
            require_once(given_.done, key, source_line);
            done_ = value;
        } else if (!is_one_of(unused_fields, key)) {
            if (unknown_.empty()) unknown_ = key;
            if (!looks_like_json(line))
                warnings_.add(
                    "the field @ is unknown and is left out; a tab inside of a text is written "
                    "\\t",
                    source_line, key.empty() ? " " : key);
        }
    }

    // The second one comes from another record if the end of a line is missing.
    static void require_once(bool& given, std::string_view key, const SourceLine& source_line) {
        if (given)
            throw_bad_text(source_line, "two fields " + in_quotes(key) +
                                            " in a line; is the end of a line missing where files "
                                            "were joined?");
        given = true;
    }

    void require(bool given, const char* key, std::string_view line,
                 const SourceLine& source_line) const {
        if (given) return;
        const bool misspelt = !unknown_.empty() && !looks_like_json(line);
        throw_bad_text(source_line,
                       std::string("no '") + key + "' field" +
                           (misspelt ? ", but an unknown one " + in_quotes(unknown_) : "") +
                           "; a line is 'text:...<TAB>labels:...'" + other_format(line));
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
        if (episode_turns_ == 0) {
            turns_.begin_conversation(source_line);
            turns_.begin_episode();
        }
        turns_.turn(text_, labels_, source_line);
        if (++episode_turns_ == longest_usual_episode + 1)
            warnings_.add("an episode of more than 100 turns; is episode_done:True missing?",
                          source_line);
        if (done_.empty()) return;
        if (!is_one_of(words_of_true, stripped(done_)))
            warnings_.add(
                "the field @ ends the episode, as any value does in ParlAI; leave it out to "
                "continue",
                source_line, "episode_done:" + std::string(done_));
        episode_turns_ = 0;
    }

    Warnings& warnings_;
    CheckedTurns& turns_;
    struct Given {
        bool text = false, labels = false, done = false;
    } given_;  // the fields of the line so far
    int episode_turns_ = 0;
    std::string_view text_, done_;
    std::string_view unknown_;  // the first unknown field of the line
    std::vector<std::string_view> labels_;
    std::string text_store_;
    std::vector<std::string> label_stores_;
};

}  // namespace

void read_parlai_text(const TextChunk& chunk, Warnings& warnings, CheckedTurns& turns) {
    ParlaiTextReader reader(warnings, turns);
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
