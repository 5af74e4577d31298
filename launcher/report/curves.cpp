// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/curves.hpp"

#include <algorithm>

namespace lockstep::launcher::report {

namespace {

// Describes a chart and names its values in training and validation lines; nullptr: no such values.
struct Wanted {
    const char* title;
    const char* unit;
    Scale scale;
    double factor;
    const char* train;
    const char* valid;
    const char* caption;
};

std::vector<Wanted> wanted_charts() {
    return {
        {"Perplexity", "log axis", Scale::logarithmic, 1, "ppl", "ppl",
         "How many tokens the model is undecided between; dots are validations. Dots that rise "
         "while training falls mean overfitting: --dropout, --validation-patience."},
        {"Loss", "per label token", Scale::linear, 1, "loss", "loss",
         "What is minimised, with --label-smoothing where it is given; dots are validations."},
        {"Token accuracy", "%", Scale::from_zero, 100, "token_acc", "token_acc",
         "Share of the label tokens that the model thought most likely; dots are validations."},
        {"F1", "%", Scale::from_zero, 100, nullptr, "f1",
         "Words that generated replies share with the reference replies, at each validation."},
        {"BLEU-4", "%", Scale::from_zero, 100, nullptr, "bleu-4",
         "Runs of up to four words that generated replies share with the references, at each "
         "validation."},
        {"Learning rate", "", Scale::from_zero, 1, "lr", nullptr,
         "What --lr-scheduler made of -lr: it rises over --warmup-updates and falls afterwards."},
        {"Gradient norm", "before clipping", Scale::linear, 1, "gnorm", nullptr,
         "Peaks that grow announce divergence: a smaller -lr, more --warmup-updates or a "
         "smaller --gradient-clip calms them."},
        {"Clipped steps", "%", Scale::from_zero, 100, "clip", nullptr,
         "Steps whose gradient was longer than --gradient-clip; where that is nearly always so, "
         "the limit sets the length of each update."},
        {"Speed", "label tokens/s", Scale::from_zero, 1, "tokens_per_s", nullptr,
         "Of all ranks together; where it dips, the picture of the time below shows what was "
         "waited for."},
        {"Loss scale", "fp16, log axis", Scale::logarithmic, 1, "loss_scale", nullptr,
         "Falls when a gradient overflows, and rises again after many that did not; one that "
         "keeps falling means divergence, or numbers that fp16 cannot hold: --precision bf16."},
        {"Skipped updates", "so far", Scale::from_zero, 1, "skipped_updates", nullptr,
         "Steps that changed no weight, mostly because a gradient was not finite; with fp16 a "
         "few at the start are usual."},
    };
}

void add_train(const Wanted& wanted, const std::vector<Run>& runs,
               const std::vector<std::string>& labels, Chart& chart) {
    for (std::size_t i = 0; i < runs.size() && wanted.train != nullptr; ++i) {
        chart.curves.push_back({runs.size() == 1 ? "training" : labels[i], static_cast<int>(i),
                                Mark::line, &runs[i].history.train(wanted.train)});
    }
}

void add_valid(const Wanted& wanted, const std::vector<Run>& runs,
               const std::vector<std::string>& labels, Chart& chart) {
    for (std::size_t i = 0; i < runs.size() && wanted.valid != nullptr; ++i) {
        const bool alone = runs.size() == 1;
        chart.curves.push_back({alone ? "validation" : labels[i] + ", validation",
                                static_cast<int>(alone ? 1 : i), Mark::dots,
                                &runs[i].history.valid(wanted.valid)});
    }
}

// A chart of counts that stayed 0 is left out.
bool is_flat_zero(const Chart& chart) {
    return std::all_of(chart.curves.begin(), chart.curves.end(), [](const Curve& curve) {
        return curve.series->values() == 0 ||
               (curve.series->low() == 0 && curve.series->high() == 0);
    });
}

// Norms that differ by more than two decades cannot be read on a linear axis.
Scale scale_for(Scale wanted, const Chart& chart) {
    constexpr double most = 100;
    for (const Curve& curve : chart.curves) {
        if (wanted != Scale::linear || curve.series->values() == 0) continue;
        if (curve.series->low() > 0 && curve.series->high() > most * curve.series->low())
            return Scale::logarithmic;
    }
    return wanted;
}

}  // namespace

Reach reach_of(const std::vector<Run>& runs) {
    Reach reach{runs.front().history.abscissa(), 0};
    for (const Run& run : runs) reach.last = std::max(reach.last, run.history.place());
    return reach;
}

std::string curves(const std::vector<Run>& runs, const std::vector<std::string>& labels) {
    const Reach reach = reach_of(runs);
    std::string html;
    for (const Wanted& wanted : wanted_charts()) {
        Chart drawn{wanted.title, wanted.unit, wanted.caption, wanted.scale, wanted.factor, {}};
        add_train(wanted, runs, labels, drawn);
        add_valid(wanted, runs, labels, drawn);
        drawn.scale = scale_for(wanted.scale, drawn);
        if (drawn.scale != wanted.scale) drawn.unit += ", log axis";
        if (!is_flat_zero(drawn)) html += chart(drawn, reach);
    }
    return html;
}

}  // namespace lockstep::launcher::report
