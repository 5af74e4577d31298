// SPDX-License-Identifier: Apache-2.0
#include "data/jinja/text.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::data::jinja {

Text::Text(std::string bytes, unsigned marks) : bytes_(std::move(bytes)) {
    add_run({0, bytes_.size(), marks});
}

void Text::add_run(const Run& run) {
    if (run.begin == run.end || run.marks == unmarked) return;
    if (!runs_.empty() && runs_.back().end == run.begin && runs_.back().marks == run.marks)
        runs_.back().end = run.end;
    else
        runs_.push_back(run);
}

std::size_t Text::first_run_behind(std::size_t offset) const noexcept {
    const auto found =
        std::upper_bound(runs_.begin(), runs_.end(), offset,
                         [](std::size_t at, const Run& run) { return at < run.end; });
    return static_cast<std::size_t>(found - runs_.begin());
}

unsigned Text::marks_at(std::size_t offset) const noexcept {
    const std::size_t run = first_run_behind(offset);
    return run < runs_.size() && runs_[run].begin <= offset ? runs_[run].marks : unmarked;
}

void Text::append(std::string_view bytes, unsigned marks) {
    const std::size_t begin = bytes_.size();
    bytes_ += bytes;
    add_run({begin, bytes_.size(), marks});
}

void Text::append(const Text& other, std::size_t begin, std::size_t end) {
    const std::size_t to = bytes_.size();
    bytes_.append(other.bytes_, begin, end - begin);
    for (std::size_t i = other.first_run_behind(begin); i < other.runs_.size(); ++i) {
        const Run run = other.runs_[i];
        if (run.begin >= end) break;
        add_run({to + std::max(run.begin, begin) - begin, to + std::min(run.end, end) - begin,
                 run.marks});
    }
}

Text Text::part(std::size_t begin, std::size_t end) const {
    Text out;
    out.append(*this, begin, end);
    return out;
}

void Text::mark(std::size_t begin, unsigned marks) {
    Text tail = part(begin, size());
    bytes_.resize(begin);
    while (!runs_.empty() && runs_.back().end > begin) {
        if (runs_.back().begin >= begin)
            runs_.pop_back();
        else
            runs_.back().end = begin;
    }
    std::size_t done = 0;
    for (const Run& run : tail.runs_) {
        append(std::string_view(tail.bytes_).substr(done, run.begin - done), marks);
        append(std::string_view(tail.bytes_).substr(run.begin, run.end - run.begin),
               run.marks | marks);
        done = run.end;
    }
    append(std::string_view(tail.bytes_).substr(done), marks);
}

}  // namespace lockstep::data::jinja
