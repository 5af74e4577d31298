// SPDX-License-Identifier: Apache-2.0
#include "launcher/generate/prompt_lines.hpp"

#include <cctype>
#include <string>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/text_start.hpp"
#include "runtime/files/read_lines.hpp"

namespace lockstep::launcher {

bool PromptLines::next(std::string& line) {
    if (number_ == 0) look_for_array();
    if (array_) return next_element(line);
    if (!read_line(in_, line, origin_, number_ + 1)) {
        if (in_.bad()) throw_errno("--input cannot be read to its end", origin_);
        if (start_.empty()) return false;
        line.clear();
    }
    line.insert(0, std::exchange(start_, {}));
    ++number_;
    return true;
}

// A byte order mark means nothing before an array. The reader of lines leaves it out, too.
void PromptLines::take_start() {
    const auto first = std::char_traits<char>::to_int_type(byte_order_mark.front());
    if (in_.peek() != first) return;
    start_.resize(byte_order_mark.size());
    in_.read(start_.data(), static_cast<std::streamsize>(start_.size()));
    start_.resize(static_cast<std::size_t>(in_.gcount()));
    if (start_ == byte_order_mark && in_.peek() == '[') start_.clear();
}

// Blank lines at the beginning mean nothing in either form.
void PromptLines::look_for_array() {
    if (format_ != PromptFormat::jsonl) return;
    take_start();
    while (start_.empty() && in_.good() && std::isspace(in_.peek()) != 0)
        if (in_.get() == '\n') ++number_;
    if (start_.empty() && in_.good() && in_.peek() == '[') array_.emplace();
    in_.clear(in_.rdstate() & ~std::ios::failbit & ~std::ios::eofbit);
}

bool PromptLines::next_element(std::string& line) {
    std::size_t end = elements_.find('\n');
    while (end == std::string::npos && read_more()) end = elements_.find('\n');
    if (end == std::string::npos && elements_.empty()) return false;
    line = elements_.substr(0, end);
    elements_.erase(0, end == std::string::npos ? end : end + 1);
    require_short(line);
    ++number_;
    return true;
}

// Returns false at the end of the text.
bool PromptLines::read_more() {
    require_short(elements_);
    std::string part(std::size_t{1} << 16, '\0');
    in_.read(part.data(), static_cast<std::streamsize>(part.size()));
    if (in_.bad()) throw_errno("--input cannot be read to its end", origin_);
    part.resize(static_cast<std::size_t>(in_.gcount()));
    if (!part.empty()) {
        array_->add(part, elements_);
        return true;
    }
    if (!array_->closed())
        throw Error(ErrorKind::data,
                    origin_ + ": the JSON array is not closed by ']'; was the file cut?");
    return false;
}

void PromptLines::require_short(const std::string& line) const {
    if (line.size() > longest_text_line_bytes)
        throw Error(ErrorKind::data, origin_ + ":" + std::to_string(number_ + 1) +
                                         ": a prompt that is longer than 1 MiB");
}

}  // namespace lockstep::launcher
