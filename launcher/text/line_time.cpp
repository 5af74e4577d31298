// SPDX-License-Identifier: Apache-2.0
#include "launcher/text/line_time.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <mutex>
#include <string_view>

namespace lockstep::launcher {

namespace {

// Passes text on, with the time before each line. What is written at once stays one piece, because
// other processes may write to the same file.
class TimedBuffer : public std::streambuf {
public:
    explicit TimedBuffer(std::streambuf& out) : out_(out) {}

protected:
    std::streamsize xsputn(const char* text, std::streamsize count) override {
        const std::lock_guard lock(mutex_);
        std::string timed;
        for (std::string_view rest(text, static_cast<std::size_t>(count)); !rest.empty();) {
            if (at_begin_) timed += line_time();
            const std::size_t end = rest.find('\n');
            at_begin_ = end != std::string_view::npos;
            const std::string_view part = at_begin_ ? rest.substr(0, end + 1) : rest;
            timed += part;
            rest.remove_prefix(part.size());
        }
        const auto bytes = static_cast<std::streamsize>(timed.size());
        return out_.sputn(timed.data(), bytes) == bytes ? count : 0;
    }
    int_type overflow(int_type letter) override {
        if (traits_type::eq_int_type(letter, traits_type::eof())) return 0;
        const char one = traits_type::to_char_type(letter);
        return xsputn(&one, 1) == 1 ? letter : traits_type::eof();
    }
    int sync() override { return out_.pubsync(); }

private:
    std::streambuf& out_;
    std::mutex mutex_;
    bool at_begin_ = true;
};

}  // namespace

std::string line_time() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::localtime_r(&now, &parts);
    std::array<char, 48> text{};
    const auto length = std::strftime(text.data(), text.size(), "%FT%T%z", &parts);
    std::string time(text.data(), length);
    // %z gives +0100, and ISO 8601 wants a colon in it where the time has some.
    constexpr std::size_t minutes = 2;
    if (time.size() > minutes) time.insert(time.size() - minutes, ":");
    return time + " ";
}

bool begins_with_time(std::string_view text) {
    constexpr std::string_view form = "0000-00-00T00:00:00";
    return text.size() >= form.size() &&
           std::ranges::equal(text.substr(0, form.size()), form, [](char c, char wanted) {
               return wanted == '0' ? c >= '0' && c <= '9' : c == wanted;
           });
}

bool has_times(TimedStream stream) {
    const char* value = std::getenv(log_times_variable);
    return value != nullptr && (std::atoi(value) & static_cast<int>(stream)) != 0;
}

TimedLines::TimedLines(std::ostream* stream) : stream_(stream) {
    if (stream == nullptr) return;
    const bool is_error = stream == &std::cerr;
    if (!has_times(is_error ? TimedStream::error : TimedStream::output)) return;
    ::tzset();  // localtime_r() need not
    before_ = stream->rdbuf();
    timed_ = std::make_unique<TimedBuffer>(*before_);
    stream->rdbuf(timed_.get());
}

// rdbuf() forgets that writing has failed.
TimedLines::~TimedLines() {
    if (before_ == nullptr) return;
    const auto state = stream_->rdstate();
    stream_->rdbuf(before_);
    stream_->setstate(state);
}

}  // namespace lockstep::launcher
