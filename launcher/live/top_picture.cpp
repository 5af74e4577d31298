// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/top_picture.hpp"

#include <algorithm>
#include <chrono>

#include "launcher/live/ranks_table.hpp"
#include "launcher/report/charts/numbers.hpp"
#include "launcher/report/time_parts.hpp"
#include "launcher/text/units.hpp"
#include "launcher/text/utc.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/metrics/progress.hpp"

namespace lockstep::launcher::live {

namespace {

using Lines = std::vector<std::string>;

// Bytes that continue a character of UTF-8 take no place.
bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string cut(std::string text, std::size_t columns) {
    std::size_t end = 0;
    for (std::size_t width = 0; end < text.size(); ++end)
        if (begins_character(text[end]) && ++width > columns) break;
    text.resize(end);
    return text;
}

std::string fitted(const std::string& text, std::size_t columns) {
    const std::string part = cut(text, columns);
    return part + std::string(columns - width_of(part), ' ');
}

std::string right(const std::string& text, std::size_t columns) {
    const std::string part = cut(text, columns);
    return std::string(columns - width_of(part), ' ') + part;
}

// Breaks a line at blanks.
void add_text(const std::string& text, std::size_t columns, Lines& lines) {
    std::string rest = printable(text);
    while (width_of(rest) > columns) {
        const std::string part = cut(rest, columns);
        const std::size_t blank = part.rfind(' ');
        const std::size_t end = blank == std::string::npos || blank == 0 ? part.size() : blank;
        lines.push_back(rest.substr(0, end));
        rest.erase(0, std::min(rest.size(), rest.find_first_not_of(' ', end)));
    }
    if (!rest.empty()) lines.push_back(rest);
}

// Puts as many parts on a line as fit.
void add_parts(const Lines& parts, std::size_t columns, Lines& lines) {
    std::string line;
    for (const std::string& part : parts) {
        if (part.empty()) continue;
        if (!line.empty() && width_of(line) + 2 + width_of(part) > columns) {
            lines.push_back(line);
            line.clear();
        }
        line += (line.empty() ? "" : "  ") + part;
    }
    if (!line.empty()) lines.push_back(line);
}

std::string last_of(const report::Run& run, const char* name, const std::string& shown_as) {
    const report::Series& series = run.history.train(name);
    return series.values() == 0 ? "" : shown_as + " " + report::number_text(series.last());
}

std::string bar(double share, std::size_t columns) {
    const auto filled = static_cast<std::size_t>(share * static_cast<double>(columns));
    std::string text(columns, ' ');
    std::fill_n(text.begin(), filled, '=');
    if (filled < columns) text[filled] = '>';
    return "[" + text + "]";
}

void add_progress(const TopView& view, std::size_t columns, Lines& lines) {
    const report::History& history = view.run->history;
    Lines parts;
    const auto reach = reached(*view.run, view.states);
    if (reach) {
        constexpr std::size_t bar_columns = 20;
        parts.push_back(bar(reach->share, bar_columns) + " " + report::percent_text(reach->share));
    }
    parts.push_back("step " + grouped(history.step()));
    parts.push_back("epoch " + report::number_text(history.epoch()));
    if (reach && view.state.going == Going::on)
        parts.push_back("left " + train::duration_text(reach->left_s));
    add_parts(parts, columns, lines);
}

std::string best_text(const report::History& history) {
    const auto& best = history.best();
    if (!best) return "";
    const auto ppl = best->values.find("ppl");
    return "best validation at step " + grouped(best->step) +
           (ppl == best->values.end() ? "" : ", ppl " + report::number_text(ppl->second));
}

void add_figures(const report::Run& run, std::size_t columns, Lines& lines) {
    add_parts({last_of(run, "loss", "loss"), last_of(run, "ppl", "ppl"),
               last_of(run, "token_acc", "token_acc"), last_of(run, "lr", "lr"),
               last_of(run, "gnorm", "gnorm"), last_of(run, "loss_scale", "loss scale")},
              columns, lines);
    const report::Series& speed = run.history.train("tokens_per_s");
    const report::Series& memory = run.history.train("peak_memory_bytes");
    Lines parts;
    if (speed.values() > 0)
        parts.push_back(train::short_number(speed.last()) + " label tokens/s (median " +
                        train::short_number(speed.median()) + ")");
    constexpr double most = 1e18;
    if (memory.values() > 0)
        parts.push_back("memory " + bytes_text(static_cast<std::int64_t>(
                                        std::clamp(memory.high(), 0.0, most))));
    parts.push_back(best_text(run.history));
    add_parts(parts, columns, lines);
}

void add_time(const report::Run& run, std::size_t columns, Lines& lines) {
    if (run.history.train("seconds").values() == 0) return;
    const std::vector<report::TimePart> time_parts = report::time_parts();
    const std::vector<double> shares = report::shares_of(report::seconds_of_run(run.history));
    Lines parts{"time:"};
    for (std::size_t i = 0; i < shares.size(); ++i)
        parts.push_back(std::string(time_parts[i].name) + " " + report::percent_text(shares[i]));
    add_parts(parts, columns, lines);
}

constexpr std::size_t rank_columns = 4, host_columns = 12, process_columns = 8, step_columns = 9,
                      work_columns = 9, excess_columns = 7, memory_columns = 9;

std::string row_of(const RankState& rank, std::size_t columns) {
    const std::string work = rank.work_s > 0 ? seconds_text(rank.work_s) : "-";
    const std::string memory = rank.peak_bytes > 0 ? bytes_text(rank.peak_bytes) : "-";
    const std::string remark = remark_on(rank);
    std::string row = right(std::to_string(rank.rank), rank_columns) + " " +
                      fitted(printable(rank.host), host_columns) +
                      right(std::to_string(rank.process), process_columns) +
                      right(grouped(rank.step), step_columns) + right(work, work_columns) +
                      right(excess_text(rank), excess_columns) + right(memory, memory_columns) +
                      "  ";
    row += printable(remark.empty() ? place_of(rank) : remark);
    return cut(row, columns);
}

std::string heading(std::size_t columns) {
    return cut(right("rank", rank_columns) + " " + fitted("host", host_columns) +
                   right("process", process_columns) + right("step", step_columns) +
                   right("own work", work_columns) + right("", excess_columns) +
                   right("memory", memory_columns) + "  state",
               columns);
}

void add_ranks(const RankStates& states, std::size_t columns, std::size_t rows, Lines& lines) {
    if (states.ranks.empty()) return;
    std::vector<RankState> ranks = states.ranks;
    std::size_t shown = ranks.size();
    if (rows > 0 && shown > rows) {
        std::stable_partition(ranks.begin(), ranks.end(),
                              [](const RankState& rank) { return !remark_on(rank).empty(); });
        shown = rows - 1;
    }
    lines.push_back(heading(columns));
    for (std::size_t i = 0; i < shown; ++i) lines.push_back(row_of(ranks[i], columns));
    if (shown < ranks.size())
        lines.push_back(cut("     and " + std::to_string(ranks.size() - shown) +
                                " more; a longer window shows them",
                            columns));
}

}  // namespace

TopView look_at(const std::string& folder) {
    if (!is_folder(folder))
        throw Error(ErrorKind::config,
                    printable(folder) + ": is no folder; name a training run's -mf");
    TopView view;
    view.folder = folder;
    view.now = utc(std::chrono::system_clock::now());
    view.states = read_rank_states(folder);
    try {
        view.run = report::read_run(folder);
        view.state = state_of(*view.run);
    } catch (const Error& error) {
        view.state = state_without_lines(folder, error.what());
        if (!view.states.failure.empty())
            view.state = {Going::failed, "Failed: " + view.states.failure};
        // A run that has just begun, and may have been killed, has its lock before its first line.
        if (view.state.text == error.what()) throw;
        view.state.text += "; it has no line of metrics yet";
    }
    return view;
}

std::vector<std::string> picture(const TopView& view, std::size_t columns, std::size_t rows) {
    Lines lines;
    const std::string folder = printable(view.folder);
    const std::size_t left = columns > view.now.size() + 2 ? columns - view.now.size() - 2 : 0;
    lines.push_back(cut(fitted(folder, left) + "  " + view.now, columns));
    add_text(view.state.text, columns, lines);
    if (view.run) {
        add_progress(view, columns, lines);
        add_figures(*view.run, columns, lines);
        add_time(*view.run, columns, lines);
    }
    lines.emplace_back();
    constexpr std::size_t least = 3;
    const std::size_t above = lines.size() + 1;
    add_ranks(view.states, columns,
              rows == 0 ? 0 : std::max(least, rows > above ? rows - above : 0), lines);
    if (lines.back().empty()) lines.pop_back();
    if (rows > 0 && lines.size() > rows) lines.resize(rows);
    for (std::string& line : lines) line = cut(line, columns);
    return lines;
}

}  // namespace lockstep::launcher::live
