// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluate/row_scores.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/text/unicode.hpp"
#include "launcher/evaluate/gather.hpp"

namespace lockstep::launcher {

namespace {

// A row has these columns. The values of metrics_.means() follow them.
enum Column : std::size_t { row_number, nll, tokens, correct, replies, fixed_columns };

double exact(double correct, double tokens) { return correct == tokens ? 1 : 0; }

void add_losses(NamedValues& values, double nll, double tokens, double correct) {
    if (tokens <= 0) return;
    values["loss"] = nll / tokens;
    values["ppl"] = std::exp(nll / tokens);
    values["token_acc"] = correct / tokens;
}

std::string lower(std::string_view text) { return data::unicode::lower(text); }

void remove_doubles(std::vector<std::uint64_t>& values) {
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Returns the share of different n-grams among all n-grams of all ranks.
double inter_distinct(comm::Communicator& communicator, std::vector<std::uint64_t> ngrams) {
    std::vector<std::uint64_t> count{ngrams.size()};
    communicator.all_reduce(view_of(count), comm::ReduceOp::sum, "n-gram count");
    communicator.finish();
    remove_doubles(ngrams);
    std::vector<std::uint64_t> all = gather(communicator, std::move(ngrams), "n-grams");
    remove_doubles(all);
    // ParlAI has these bounds for replies without an n-gram.
    return std::max(static_cast<double>(all.size()), 1e-12) /
           std::max(static_cast<double>(count.front()), 1e-5);
}

}  // namespace

std::size_t RowScores::width() const noexcept { return fixed_columns + metrics_.means().size(); }

NamedValues RowScores::add(std::uint32_t row, const kernels::LossSums& losses) {
    table_.insert(table_.end(),
                  {static_cast<double>(row), losses.nll, losses.tokens, losses.correct, 0});
    table_.resize(table_.size() + metrics_.means().size(), 0);
    NamedValues values;
    add_losses(values, losses.nll, losses.tokens, losses.correct);
    values["token_em"] = exact(losses.correct, losses.tokens);
    return values;
}

NamedValues RowScores::add_reply(const std::string& reply,
                                 const std::vector<std::string>& references) {
    const train::NormalText guess(reply, lower);
    std::vector<train::NormalText> expected;
    for (const std::string& reference : references) expected.emplace_back(reference, lower);
    const std::vector<double> scores = metrics_.score(guess, expected);
    double* const values = table_.data() + table_.size() - width();
    values[replies] = 1;
    std::ranges::copy(scores, values + fixed_columns);
    ngrams_.resize(metrics_.inter_distinct().size());
    for (std::size_t i = 0; i < ngrams_.size(); ++i) {
        const auto hashes = train::ngram_hashes(guess, metrics_.inter_distinct()[i]);
        ngrams_[i].insert(ngrams_[i].end(), hashes.begin(), hashes.end());
    }
    NamedValues named;
    for (std::size_t i = 0; i < scores.size(); ++i) named[metrics_.means()[i]] = scores[i];
    return named;
}

NamedValues RowScores::of_all(comm::Communicator& communicator) const {
    const std::vector<double> all = gather(communicator, table_, "row scores");
    std::vector<const double*> rows;
    for (std::size_t at = 0; at < all.size(); at += width()) rows.push_back(all.data() + at);
    // Sums of floating-point numbers depend on their order, so the rows are sorted.
    std::ranges::sort(rows, {}, [](const double* row) { return row[row_number]; });
    std::vector<double> sums(width(), 0);
    double exact_rows = 0;
    for (const double* row : rows) {
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += row[i];
        exact_rows += exact(row[correct], row[tokens]);
    }
    NamedValues values;
    add_losses(values, sums[nll], sums[tokens], sums[correct]);
    values["tokens"] = sums[tokens];
    values["examples"] = static_cast<double>(rows.size());
    if (!rows.empty()) values["token_em"] = exact_rows / static_cast<double>(rows.size());
    if (sums[replies] == 0) return values;
    for (std::size_t i = 0; i < metrics_.means().size(); ++i)
        values[metrics_.means()[i]] = sums[fixed_columns + i] / sums[replies];
    for (std::size_t i = 0; i < metrics_.inter_distinct().size(); ++i)
        values["interdistinct-" + std::to_string(metrics_.inter_distinct()[i])] = inter_distinct(
            communicator, i < ngrams_.size() ? ngrams_[i] : std::vector<std::uint64_t>{});
    return values;
}

}  // namespace lockstep::launcher
