// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/watch/watch_record.hpp"

#include <array>
#include <charconv>

namespace lockstep::comm {

namespace {

constexpr std::size_t fields = 18;

// The fields may hold line ends, but not this character.
constexpr char separator = '\x1f';

void append(std::string& text, std::string_view field) {
    if (!text.empty()) text += separator;
    for (const char c : field) text += c == separator ? ' ' : c;
}

template <class Integer>
bool parse(std::string_view field, Integer& value) {
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    return error == std::errc() && end == field.data() + field.size();
}

// Reads a count or a time. Sums of some of them do not overflow.
bool parse_count(std::string_view field, std::int64_t& value) {
    constexpr std::int64_t max_count = std::int64_t{1} << 60;
    return parse(field, value) && value >= 0 && value <= max_count;
}

bool parse(std::string_view field, Condition& condition) {
    int number = -1;
    if (!parse(field, number) || number < 0 || number > static_cast<int>(Condition::left)) {
        return false;
    }
    condition = static_cast<Condition>(number);
    return true;
}

bool parse(std::string_view field, bool& value) {
    value = field == "1";
    return value || field == "0";
}

}  // namespace

std::string WatchRecord::position() const {
    const std::string where = step > 0 ? "step " + std::to_string(step) : "before the first step";
    if (!waiting) return phase + (file.empty() ? "" : " (" + file + ")") + ", " + where;
    return "waiting in " + (operation.empty() ? "a collective" : operation) + ", " + where;
}

std::string encode(const WatchRecord& record) {
    std::string text = std::to_string(record.beat);
    append(text, std::to_string(record.process));
    append(text, std::to_string(static_cast<int>(record.condition)));
    append(text, std::to_string(record.step));
    append(text, record.waiting ? "1" : "0");
    append(text, std::to_string(record.completed));
    append(text, std::to_string(record.still_ms));
    append(text, std::to_string(record.window.last_step));
    append(text, std::to_string(record.window.data_us));
    append(text, std::to_string(record.window.computing_us));
    append(text, std::to_string(record.window.optimizer_us));
    append(text, std::to_string(record.peak_bytes));
    for (const auto* field : {&record.host, &record.phase, &record.file, &record.operation,
                              &record.error, &record.stack}) {
        append(text, *field);
    }
    return text;
}

std::optional<WatchRecord> decode_watch_record(std::string_view text) {
    std::array<std::string_view, fields> field;
    for (std::size_t i = 0; i < fields; ++i) {
        const auto end = text.find(separator);
        if ((end == std::string_view::npos) != (i + 1 == fields)) return std::nullopt;
        field[i] = text.substr(0, end);
        text.remove_prefix(i + 1 == fields ? text.size() : end + 1);
    }
    WatchRecord record;
    WindowPace& window = record.window;
    const bool whole =
        parse_count(field[0], record.beat) && parse_count(field[1], record.process) &&
        parse(field[2], record.condition) && parse_count(field[3], record.step) &&
        parse(field[4], record.waiting) && parse(field[5], record.completed) &&
        parse_count(field[6], record.still_ms) && parse_count(field[7], window.last_step) &&
        parse_count(field[8], window.data_us) && parse_count(field[9], window.computing_us) &&
        parse_count(field[10], window.optimizer_us) && parse_count(field[11], record.peak_bytes);
    if (!whole) return std::nullopt;
    record.host = field[12];
    record.phase = field[13];
    record.file = field[14];
    record.operation = field[15];
    record.error = field[16];
    record.stack = field[17];
    return record;
}

}  // namespace lockstep::comm
