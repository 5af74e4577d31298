// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluate/unigram.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lockstep::launcher {

namespace {

template <class Visit>
void each_label(train::EvalSource& source, const std::function<void()>& on_batch, Visit visit) {
    source.rewind();
    for (train::Batch batch; source.next(batch);) {
        for (const std::int32_t label : batch.labels) {
            if (label >= 0) visit(static_cast<std::size_t>(label));
        }
        if (on_batch) on_batch();
    }
}

}  // namespace

double unigram_perplexity(train::EvalSource& training, train::EvalSource& test,
                          std::int64_t vocabulary, const std::function<void()>& on_batch) {
    std::vector<double> counts(static_cast<std::size_t>(vocabulary), 1.0);
    double total = static_cast<double>(vocabulary);
    each_label(training, on_batch, [&](std::size_t label) {
        counts.at(label) += 1;
        total += 1;
    });
    double nll = 0, tokens = 0;
    each_label(test, on_batch, [&](std::size_t label) {
        nll -= std::log(counts.at(label) / total);
        tokens += 1;
    });
    return std::exp(nll / std::max(tokens, 1.0));
}

}  // namespace lockstep::launcher
