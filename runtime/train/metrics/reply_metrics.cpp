// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/reply_metrics.hpp"

#include <algorithm>
#include <array>

#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::train {
namespace {

// Holds the values from which one reply's metrics are read.
struct Scored {
    const NormalText& reply;
    References references;
    WordOverlap overlap;
    Rouge rouge;
};

struct Metric {
    std::string_view name, group;
    double (*value)(const Scored&);  // null: not defined for a single reply
};

constexpr std::array metrics{
    Metric{"accuracy", "default",
           [](const Scored& s) { return exact_match(s.reply, s.references); }},
    Metric{"f1", "default", [](const Scored& s) { return s.overlap.f1; }},
    Metric{"precision", "", [](const Scored& s) { return s.overlap.precision; }},
    Metric{"recall", "", [](const Scored& s) { return s.overlap.recall; }},
    Metric{"bleu-1", "bleu",
           [](const Scored& s) { return sentence_bleu(s.reply, s.references, 1); }},
    Metric{"bleu-2", "bleu",
           [](const Scored& s) { return sentence_bleu(s.reply, s.references, 2); }},
    Metric{"bleu-3", "bleu",
           [](const Scored& s) { return sentence_bleu(s.reply, s.references, 3); }},
    Metric{"bleu-4", "bleu",
           [](const Scored& s) { return sentence_bleu(s.reply, s.references, 4); }},
    Metric{"rouge_1", "rouge", [](const Scored& s) { return s.rouge.rouge_1; }},
    Metric{"rouge_2", "rouge", [](const Scored& s) { return s.rouge.rouge_2; }},
    Metric{"rouge_L", "rouge", [](const Scored& s) { return s.rouge.rouge_l; }},
    Metric{"intradistinct-1", "distinct",
           [](const Scored& s) { return intra_distinct(s.reply, 1); }},
    Metric{"intradistinct-2", "distinct",
           [](const Scored& s) { return intra_distinct(s.reply, 2); }},
    Metric{"interdistinct-1", "distinct", nullptr},
    Metric{"interdistinct-2", "distinct", nullptr},
};

bool belongs(const Metric& metric, std::string_view word) {
    if (word == "all" || word == metric.group || word == metric.name) return true;
    return word == "default" && metric.name == "bleu-4";
}

std::string report_name(std::string_view word) {
    std::string name(word);
    if (name.starts_with("rouge-")) name[5] = '_';
    return name;
}

std::vector<std::string> words_of(std::string_view list) {
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        words.push_back(report_name(list.substr(begin, end - begin)));
        begin = end + 1;
    }
    return words;
}

void require_known(const std::string& word) {
    const bool known =
        std::ranges::any_of(metrics, [&](const Metric& metric) { return belongs(metric, word); });
    if (known && !word.empty()) return;
    std::string names;
    for (const Metric& metric : metrics) names += ", " + std::string(metric.name);
    throw Error(ErrorKind::config, "--metrics: '" + shown(word) +
                                       "' is not one of default, all, bleu, rouge, distinct" +
                                       names);
}

}  // namespace

std::vector<std::string> reply_metric_names() {
    std::vector<std::string> names;
    for (const Metric& metric : metrics) names.emplace_back(metric.name);
    return names;
}

bool needs_replies(std::string_view metric) {
    return std::ranges::any_of(metrics, [&](const Metric& m) { return m.name == metric; });
}

ReplyMetrics::ReplyMetrics(std::string_view list, std::string_view wanted) {
    std::vector<std::string> words = words_of(list);
    for (const std::string& word : words) require_known(word);
    if (needs_replies(wanted)) words.emplace_back(wanted);
    for (const Metric& metric : metrics) {
        const bool asked = std::ranges::any_of(
            words, [&](const std::string& word) { return belongs(metric, word); });
        if (!asked) continue;
        if (metric.value != nullptr)
            means_.emplace_back(metric.name);
        else
            inter_distinct_.push_back(metric.name.back() - '0');
        if (metric.group == "rouge" && !rouge_) rouge_.emplace();
    }
}

std::vector<double> ReplyMetrics::score(const NormalText& reply, References references) const {
    const Scored scored{reply, references, word_overlap(reply, references),
                        rouge_ ? (*rouge_)(reply, references) : Rouge{}};
    std::vector<double> values;
    for (const std::string& name : means_) {
        const auto metric = std::ranges::find(metrics, name, &Metric::name);
        values.push_back(metric->value(scored));
    }
    return values;
}

}  // namespace lockstep::train
