// SPDX-License-Identifier: Apache-2.0
#include "data/text/fbdialog.hpp"

#include <charconv>
#include <vector>

#include "data/text/fields.hpp"
#include "data/text/format_hint.hpp"

namespace lockstep::data {
namespace {

// Replaces each `\n` (two characters), which is ParlAI's escape, by a line feed.
std::string with_line_feeds(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool escape = text.substr(i).starts_with("\\n");
        out += escape ? '\n' : text[i];
        if (escape) ++i;
    }
    return out;
}

class FbDialogReader {
public:
    FbDialogReader(Warnings& warnings, CheckedTurns& turns) : warnings_(warnings), turns_(turns) {}

    void read(std::string_view raw, const SourceLine& source_line) {
        line_ = with_line_feeds(stripped(raw));
        if (line_.empty()) return;
        const auto number = fbdialog_line_number(line_);
        if (!number)
            throw_bad_text(source_line, in_quotes(line_) +
                                            " does not begin with a line number; a line is 'N "
                                            "text<TAB>label'" +
                                            format_hint(raw));
        if (last_number_ && *number > *last_number_) {
            if (!text_.empty()) text_ += '\n';
        } else {
            end_episode();
            turns_.begin_conversation(source_line);
            turns_.begin_episode();
        }
        last_number_ = number;
        source_line_ = source_line;
        read_fields();
    }

    // A last text without a label belongs to the dictionary, but it is not an example.
    void end_episode() {
        if (!text_.empty()) turns_.turn(text_, {}, source_line_);
        text_.clear();
    }

private:
    void read_fields() {
        // If the line is only a number, the number is the text, as in ParlAI.
        const std::size_t space = line_.find(' ');
        const std::size_t begin = space == std::string::npos ? 0 : space + 1;
        std::size_t field = 0;
        std::string_view labels;
        for_each_part(std::string_view(line_).substr(begin), '\t', [&](std::string_view part) {
            if (field == 0) text_ += stripped(part);
            if (field == 1) labels = stripped(part);
            if (field == 2) require_number(stripped(part));
            if (field == 4 && !stripped(part).empty())
                warnings_.add(
                    "more fields than text, labels, reward and candidates are left out; is a tab "
                    "inside of a text, or the end of a line missing?",
                    source_line_);
            ++field;
        });
        if (labels.empty()) return;
        labels_.clear();
        for_each_part(labels, '|', [&](std::string_view label) { labels_.push_back(label); });
        turns_.turn(text_, labels_, source_line_);
        text_.clear();
    }

    // A reward is not used, but a text in its place was meant to be something else.
    void require_number(std::string_view reward) {
        double value = 0;
        const char* last = reward.data() + reward.size();
        const auto [end, error] = std::from_chars(reward.data(), last, value);
        if (!reward.empty() && (error != std::errc() || end != last))
            warnings_.add(
                "the reward @ is no number and is left out; is a tab inside of a text, or the end "
                "of a line missing?",
                source_line_, reward);
    }

    Warnings& warnings_;
    CheckedTurns& turns_;
    std::string line_, text_;
    std::vector<std::string_view> labels_;
    std::optional<std::int64_t> last_number_;
    SourceLine source_line_;
};

}  // namespace

void read_fbdialog(const TextChunk& chunk, Warnings& warnings, CheckedTurns& turns) {
    FbDialogReader reader(warnings, turns);
    for_each_line(chunk, [&](std::string_view line, const SourceLine& p) { reader.read(line, p); });
    reader.end_episode();
}

std::optional<std::int64_t> fbdialog_line_number(std::string_view line) noexcept {
    std::int64_t number = 0;
    const char* last = line.data() + line.size();
    const auto [end, error] = std::from_chars(line.data(), last, number);
    if (error != std::errc() || (end != last && *end != ' ' && *end != '\r')) return std::nullopt;
    return number;
}

}  // namespace lockstep::data
