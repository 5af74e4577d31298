// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/token_counts.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <queue>

#include "data/tokenizers/re_split.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::data {
namespace {

// A larger dictionary would need gigabytes, and no model has such an embedding table.
constexpr std::size_t max_tokens = 4'000'000;

void write_run(const std::string& path, const std::vector<TokenCount>& counts) {
    std::ofstream file(path, std::ios::binary);
    for (const auto& [token, count] : counts) file << count << ' ' << token.size() << ' ' << token;
    if (!file.flush()) throw_errno("cannot write", path);
}

class Run {
public:
    explicit Run(const std::string& path) : path_(path), file_(path, std::ios::binary) {
        if (!file_) throw_unreadable();
    }

    bool next() {
        std::size_t bytes = 0;
        if (!(file_ >> head.second)) {
            if (file_.bad() || !file_.eof()) throw_unreadable();
            return false;
        }
        file_ >> bytes;
        file_.get();
        head.first.resize(bytes);
        if (!file_.read(head.first.data(), static_cast<std::streamsize>(bytes))) throw_unreadable();
        return true;
    }

    TokenCount head;

private:
    [[noreturn]] void throw_unreadable() const {
        throw_errno("the counted words cannot be read again", path_);
    }

    std::string path_;
    std::ifstream file_;
};

struct LaterToken {
    bool operator()(const Run* a, const Run* b) const { return a->head.first > b->head.first; }
};

// Keeps the tokens that the options allow.
class Selection {
public:
    explicit Selection(const DictionaryOptions& options) : options_(options) {}

    void add(TokenCount count) {
        if (static_cast<std::int64_t>(count.second) < options_.min_freq) return;
        if (options_.max_tokens >= 0 &&
            kept_.size() >= 2 * static_cast<std::size_t>(options_.max_tokens) + 1024)
            drop_rare();
        if (kept_.size() >= max_tokens)
            throw Error(ErrorKind::config,
                        "more than " + std::to_string(max_tokens) +
                            " different tokens; set --dict-minfreq or --dict-maxtokens, or use "
                            "--tokenizer sentencepiece");
        kept_.push_back(std::move(count));
    }
    std::vector<TokenCount> take() { return std::move(kept_); }

private:
    void drop_rare() {
        const auto end = kept_.begin() + static_cast<std::ptrdiff_t>(options_.max_tokens);
        std::nth_element(kept_.begin(), end, kept_.end(),
                         [](const TokenCount& a, const TokenCount& b) {
                             return a.second != b.second ? a.second > b.second : a.first < b.first;
                         });
        kept_.erase(end, kept_.end());
    }

    DictionaryOptions options_;
    std::vector<TokenCount> kept_;
};

}  // namespace

void TokenCounts::add_text(std::string_view text, LetterCase letter_case) {
    const auto count = [this](std::string_view token) { add(token); };
    if (letter_case == LetterCase::lower)
        for_each_token(unicode::lower(text), count);
    else
        for_each_token(text, count);
}

std::vector<TokenCount> TokenCounts::take() {
    std::vector<TokenCount> out;
    out.reserve(counts_.size());
    for (std::int32_t id = 0; id < index_.size(); ++id)
        out.emplace_back(index_.text(id), counts_[static_cast<std::size_t>(id)]);
    std::sort(out.begin(), out.end());
    *this = TokenCounts();
    return out;
}

void CountRuns::write(TokenCounts& counts) {
    std::string path;
    {
        const std::lock_guard lock(mutex_);
        path = directory_ + "/counts-" + std::to_string(runs_.size());
        runs_.push_back(path);
    }
    write_run(path, counts.take());
}

std::vector<TokenCount> CountRuns::merge(std::vector<TokenCounts>& last,
                                         const DictionaryOptions& options) {
    if (runs_.empty() && last.size() == 1) return last.front().take();
    for (TokenCounts& counts : last) write(counts);
    std::vector<std::unique_ptr<Run>> runs;
    std::priority_queue<Run*, std::vector<Run*>, LaterToken> heads;
    for (const std::string& path : runs_) {
        runs.push_back(std::make_unique<Run>(path));
        if (runs.back()->next()) heads.push(runs.back().get());
    }
    Selection selection(options);
    TokenCount current;
    while (!heads.empty()) {
        Run* run = heads.top();
        heads.pop();
        if (run->head.first != current.first) {
            if (current.second > 0) selection.add(std::move(current));
            current = {run->head.first, 0};
        }
        current.second += run->head.second;
        if (run->next()) heads.push(run);
    }
    if (current.second > 0) selection.add(std::move(current));
    std::error_code ignored;
    for (const std::string& path : runs_) std::filesystem::remove(path, ignored);
    return selection.take();
}

}  // namespace lockstep::data
