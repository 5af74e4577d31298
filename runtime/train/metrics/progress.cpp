// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/progress.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <vector>

namespace lockstep::train {
namespace {

// Formats with snprintf into a string; every text here is short.
[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...) {
    char buffer[128];
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    return buffer;
}

// 29 of 100 are 29 %, though the binary fraction is a little less.
double whole_percent(double share) {
    constexpr double rounding = 1e-9;
    return std::floor(100 * share + rounding);
}

// Names the current epoch and its completed share: 2.35 is epoch 3 at 35 %, 2 is epoch 2 at 100 %.
std::string epoch_text(double epoch) {
    const double number = std::max(1.0, std::ceil(epoch));
    return text("epoch %.0f %2.0f%%", number, whole_percent(epoch - number + 1));
}

std::string bar_text(double share, int width) {
    const int filled = static_cast<int>(share * width);
    std::string bar(static_cast<std::size_t>(width), ' ');
    std::fill_n(bar.begin(), filled, '=');
    if (filled < width) bar[static_cast<std::size_t>(filled)] = '>';
    return "[" + bar + "]";
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
    std::string line;
    for (const std::string& part : parts) {
        if (!line.empty()) line += separator;
        line += part;
    }
    return line;
}

std::string outcome_text(Outcome outcome) {
    switch (outcome) {
        case Outcome::updated:
            return "";
        case Outcome::not_finite:
            return "gradient not finite, update skipped";
        case Outcome::no_tokens:
            return "no tokens, update skipped";
    }
    return "";
}

}  // namespace

std::string duration_text(double seconds) {
    const auto total = static_cast<long long>(std::max(0.0, std::round(seconds)));
    const long long days = total / 86400, hours = total / 3600 % 24, minutes = total / 60 % 60,
                    rest = total % 60;
    if (days > 0) return text("%lldd %02lld:%02lld:%02lld", days, hours, minutes, rest);
    if (hours > 0) return text("%lld:%02lld:%02lld", hours, minutes, rest);
    return text("%lld:%02lld", minutes, rest);
}

std::string short_number(double value) {
    if (!std::isfinite(value)) return "-";
    constexpr const char* suffixes[] = {"", "k", "M", "G", "T"};
    std::size_t thousands = 0;
    for (; value >= 999.5 && thousands + 1 < std::size(suffixes); ++thousands) value /= 1000;
    const int decimals = thousands == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    return text("%.*f%s", decimals, value, suffixes[thousands]);
}

std::string progress_bar(const StepReport& report, const Progress& progress, int columns) {
    constexpr int narrowest_bar = 5, widest_bar = 30, brackets_and_space = 3;
    std::vector<std::string> parts;
    if (progress.share) parts.push_back(text("%3.0f%%", whole_percent(*progress.share)));
    parts.push_back(text("step %lld", static_cast<long long>(report.step)));
    parts.push_back(epoch_text(report.epoch));
    parts.push_back(text("loss %.4g", report.loss));
    parts.push_back(short_number(report.tokens_per_s) + " tokens/s");
    if (progress.eta_s) parts.push_back("ETA " + duration_text(*progress.eta_s));
    if (report.outcome != Outcome::updated) parts.push_back(outcome_text(report.outcome));

    const auto width = static_cast<std::size_t>(std::max(columns, 1));
    std::string line = joined(parts, "  ");
    while (line.size() > width && parts.size() > 1) {
        parts.pop_back();
        line = joined(parts, "  ");
    }
    const int left = columns - static_cast<int>(line.size()) - brackets_and_space;
    if (progress.share && left >= narrowest_bar) {
        line = bar_text(*progress.share, std::min(left, widest_bar)) + " " + line;
    }
    return line.substr(0, width);
}

std::string progress_line(const StepReport& report, const Progress& progress) {
    std::vector<std::string> parts = {text("step %lld", static_cast<long long>(report.step)),
                                      epoch_text(report.epoch),
                                      text("loss %.4g", report.loss),
                                      text("ppl %.4g", report.ppl),
                                      text("token_acc %.3f", report.token_acc),
                                      text("lr %.3g", report.lr),
                                      text("gnorm %.3g", report.gnorm),
                                      short_number(report.tokens_per_s) + " tokens/s"};
    if (progress.eta_s) parts.push_back("ETA " + duration_text(*progress.eta_s));
    if (report.outcome != Outcome::updated) parts.push_back(outcome_text(report.outcome));
    return joined(parts, " | ");
}

std::string metric_text(double value, int digits) {
    if (std::isnan(value)) return "-";
    constexpr double largest_exact = 0x1p53;
    const bool whole = std::trunc(value) == value && std::abs(value) <= largest_exact;
    return whole ? text("%.0f", value) : text("%.*g", digits, value);
}

std::vector<std::pair<std::string, double>> averages_first(
    const std::map<std::string, double>& metrics) {
    std::vector<std::pair<std::string, double>> shown(metrics.begin(), metrics.end());
    std::stable_partition(shown.begin(), shown.end(), [](const auto& metric) {
        return metric.first.find('/') == std::string::npos;
    });
    return shown;
}

std::string metrics_text(const ValidationReport& report) {
    std::vector<std::string> parts;
    for (const auto& [name, value] : averages_first(report.metrics)) {
        parts.push_back(name + " " + metric_text(value, 4));
    }
    return joined(parts, " | ");
}

std::string validation_line(const ValidationReport& report) {
    std::vector<std::string> parts = {
        text("valid at step %lld", static_cast<long long>(report.step)), epoch_text(report.epoch)};
    if (!report.metrics.empty()) parts.push_back(metrics_text(report));
    parts.push_back("in " + duration_text(report.seconds));
    if (report.best) parts.push_back("best so far");
    return joined(parts, " | ");
}

Progress ProgressEstimate::update(const StepReport& report) {
    seconds_ += report.seconds;
    Progress progress;
    const auto reach = [&](double done, double limit) {
        if (limit > 0) progress.share = std::max(progress.share.value_or(0), done / limit);
    };
    reach(report.epoch, limits_.num_epochs);
    reach(static_cast<double>(report.updates), static_cast<double>(limits_.max_train_steps));
    if (limits_.max_train_time_s > 0) reach(seconds_, limits_.max_train_time_s);
    if (!progress.share) return progress;

    progress.share = std::clamp(*progress.share, 0.0, 1.0);
    if (!first_share_) {
        first_share_ = progress.share;
        first_seconds_ = seconds_;
    } else if (const double gained = *progress.share - *first_share_; gained > 0) {
        progress.eta_s = (seconds_ - first_seconds_) / gained * (1 - *progress.share);
    }
    return progress;
}

void ProgressDisplay::on_step(const StepReport& report) {
    const Progress progress = estimate_.update(report);
    if (display_ == Display::bar) {
        // A full last column would make some terminals begin a new line.
        log_.progress(progress_bar(report, progress, columns_() - 1));
    } else {
        log_.info(progress_line(report, progress));
    }
}

void ProgressDisplay::on_validation(const ValidationReport& report) {
    estimate_.add_seconds(report.seconds);
    if (display_ == Display::lines) log_.info(validation_line(report));
}

}  // namespace lockstep::train
