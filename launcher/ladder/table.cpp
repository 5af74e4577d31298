// SPDX-License-Identifier: Apache-2.0
#include "launcher/ladder/table.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "launcher/text/shell_word.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher::ladder {

namespace {

constexpr std::size_t column = 10;

std::string right(const std::string& text) {
    return std::string(column - std::min(column, text.size()), ' ') + text;
}

std::string left(const std::string& text, const std::vector<Rung>& rungs) {
    std::size_t width = 0;
    for (const Rung& rung : rungs) width = std::max(width, rung.name.size());
    return "  " + text + std::string(width - std::min(width, text.size()), ' ');
}

std::string fixed(double value, int decimals) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(decimals) << value;
    return text.str();
}

// A value that was extrapolated from a part is marked.
enum class Known { measured, extrapolated };

std::string seconds(double value, Known known) {
    return right((known == Known::extrapolated ? "~" : "") + fixed(value, value < 10 ? 2 : 1));
}

std::string values(const Outcome& outcome, const Work& work) {
    const Measurement& m = *outcome.measured;
    const Known train = m.trained_whole(work) ? Known::measured : Known::extrapolated;
    const Known valid = m.validated_whole(work) ? Known::measured : Known::extrapolated;
    const Known total = train == valid ? train : Known::extrapolated;
    const bool whole = train == Known::measured && m.ppl;
    return seconds(m.train_s(work), train) + seconds(m.valid_s(work), valid) +
           seconds(m.total_s(work), total) + right(fixed(outcome.speed_up, 2) + " x") +
           right(whole ? fixed(*m.ppl, 1) : "") +
           right(m.memory_bytes > 0 ? bytes_text(m.memory_bytes) : "");
}

bool any_extrapolated(const Climb& climb, const Work& work) {
    return std::ranges::any_of(climb.outcomes, [&](const Outcome& outcome) {
        return outcome.measured &&
               !(outcome.measured->trained_whole(work) && outcome.measured->validated_whole(work));
    });
}

bool larger_batches(const Climb& climb) {
    return climb.fastest.dynamic == data::Dynamic::full || climb.fastest.ranks > 1 ||
           climb.fastest.batchsize > climb.outcomes.front().settings.batchsize;
}

}  // namespace

std::string heading(const Subject& subject, const std::vector<Rung>& rungs) {
    const Host& host = subject.host;
    const int count = host.gpus > 0 ? host.gpus : host.cores;
    const std::string device = host.gpus > 0 ? "GPU" : "core";
    std::string text = "lockstep ladder: " + subject.model + " of " + grouped(subject.parameters) +
                       " parameters, " + std::to_string(count) + " " + device +
                       (count == 1 ? "" : "s") + "; " + digits(subject.epochs) + " x " +
                       grouped(subject.rows) + " rows";
    if (subject.seconds > 0)
        text += ", at most " + digits(subject.seconds) + " s of training a rung";
    text += "\n\n" + left("", rungs);
    for (const char* name : {"train s", "valid s", "total s", "speed-up", "ppl", "memory"})
        text += right(name);
    return text + "\n";
}

std::string line(const Outcome& outcome, const Work& work, const std::vector<Rung>& rungs) {
    std::string text = left(outcome.rung.name, rungs);
    if (outcome.measured) text += values(outcome, work);
    switch (outcome.verdict) {
        case Verdict::kept:
            break;
        case Verdict::for_memory:
            text += "  saves memory: not in the fastest";
            break;
        case Verdict::slower:
            text += "  slower here: left out";
            break;
        case Verdict::failed:
            text += "  did not run, left out: " + outcome.failure;
            break;
        case Verdict::absent:
            text += "  left out: " + outcome.failure;
            break;
    }
    return text.erase(text.find_last_not_of(' ') + 1) + "\n";
}

std::string closing(const Climb& climb, const Work& work, const std::vector<std::string>& command) {
    std::string text;
    if (any_extrapolated(climb, work))
        text += "\n~ extrapolated to all rows from those that the time was enough for\n";
    if (larger_batches(climb))
        text += "\nLarger batches are fewer updates of an epoch: choose the learning rate anew.\n";
    text += "\nThe fastest, " + fixed(climb.speed_up, 2) + " x the baseline:\n ";
    for (const std::string& word : command) text += " " + shell_word(word);
    return text + "\n";
}

}  // namespace lockstep::launcher::ladder
