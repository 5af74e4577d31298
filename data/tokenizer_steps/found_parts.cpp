// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_steps/found_parts.hpp"

#include <algorithm>
#include <utility>

#include "data/text/unicode.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::data {
namespace {

// Finds a text as it is.
class Literal final : public SplitPattern {
public:
    explicit Literal(std::string text) : text_(std::move(text)) {}
    PatternMatch next(std::string_view text, std::size_t from) const override {
        const std::size_t begin = text.find(text_, from);
        if (begin == std::string_view::npos) return {begin, begin};
        return {begin, begin + text_.size()};
    }

private:
    std::string text_;
};

std::unique_ptr<SplitPattern> make_regex(const JsonPart& part, const std::string& regex) {
    try {
        return make_split_pattern(regex);
    } catch (const Error& error) {
        part.refuse(error.what());
    }
}

}  // namespace

bool Matches::next(PatternMatch& match) {
    while (from_ <= text_.size()) {
        match = pattern_.next(text_, from_);
        if (match.begin == std::string_view::npos) return false;
        if (match.begin != match.end || match.end != last_end_) {
            from_ = last_end_ = match.end;
            return true;
        }
        const std::string_view rest = text_.substr(from_);
        from_ += rest.empty() ? 1 : std::max<std::size_t>(1, unicode::decode(rest).bytes);
    }
    return false;
}

std::unique_ptr<SplitPattern> make_text_pattern(const JsonPart& part) {
    if (part.is_null()) part.refuse("it is missing");
    part.allow({"String", "Regex"});
    const auto text = part.text("String"), regex = part.text("Regex");
    if (text.has_value() == regex.has_value())
        part.refuse(R"(it is neither {"String": "..."} nor {"Regex": "..."})");
    if (text && text->empty()) part.refuse("the text to find is empty");
    if (text) return std::make_unique<Literal>(*text);
    return make_regex(part, *regex);
}

void find_parts(std::string_view text, const SplitPattern& pattern, std::vector<FoundPart>& parts) {
    parts.clear();
    std::size_t end = 0;
    Matches matches(text, pattern);
    for (PatternMatch match{}; matches.next(match); end = match.end) {
        if (end != match.begin)
            parts.push_back({text.substr(end, match.begin - end), FoundPart::Kind::between});
        parts.push_back(
            {text.substr(match.begin, match.end - match.begin), FoundPart::Kind::match});
    }
    if (end != text.size()) parts.push_back({text.substr(end), FoundPart::Kind::between});
}

std::string replaced(std::string_view text, const SplitPattern& pattern, std::string_view content) {
    std::string result;
    std::size_t end = 0;
    Matches matches(text, pattern);
    for (PatternMatch match{}; matches.next(match); end = match.end) {
        result += text.substr(end, match.begin - end);
        result += content;
    }
    result += text.substr(end);
    return result;
}

}  // namespace lockstep::data
