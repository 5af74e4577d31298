// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/tensorboard.hpp"

#include <unistd.h>

#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstring>
#include <vector>

#include "runtime/files/path_status.hpp"
#include "runtime/train/metrics/metrics_values.hpp"

namespace lockstep::train {
namespace {

// These are field numbers of tensorboard/compat/proto: Event, Summary, Summary.Value and
// SessionLog.
namespace field {
constexpr int event_wall_time = 1, event_step = 2, event_file_version = 3, event_summary = 5,
              event_session_log = 7;
constexpr int summary_value = 1;
constexpr int value_tag = 1, value_simple = 2, value_metadata = 9;
constexpr int metadata_plugin = 1, plugin_name = 1, plugin_content = 2;
constexpr int session_status = 1;
// These are field numbers of tensorboard/plugins/hparams and of protobuf's Struct.
constexpr int hparams_session_start = 3, session_hparams = 1;
constexpr int entry_key = 1, entry_value = 2;
constexpr int number = 2, text = 3;
}  // namespace field
constexpr std::uint64_t session_start = 1;

enum class Wire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

template <class T>
std::string little_endian(T value) {
    static_assert(std::endian::native == std::endian::little);
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

std::string varint(std::uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
    return bytes + static_cast<char>(value);
}

std::string key(int number, Wire wire) {
    return varint(static_cast<std::uint64_t>(number) << 3 | static_cast<std::uint64_t>(wire));
}

std::string bytes_field(int number, std::string_view bytes) {
    return key(number, Wire::bytes) + varint(bytes.size()) + std::string(bytes);
}

// Encodes a protobuf Value. Booleans become numbers, as in torch.
std::string value_of(const std::string& word) {
    double number = word == "true" ? 1 : 0;
    const char* end = word.data() + word.size();
    const auto read = std::from_chars(word.data(), end, number);
    const bool is_number = read.ec == std::errc{} && read.ptr == end;
    if (!is_number && word != "true" && word != "false") return bytes_field(field::text, word);
    return key(field::number, Wire::fixed64) + little_endian(number);
}

constexpr std::array<std::uint32_t, 256> crc_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t crc = i;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0);
        table[i] = crc;
    }
    return table;
}

// Applies TFRecord's mask, which keeps the checksum strong when the data contains checksums.
std::uint32_t masked_crc(std::string_view bytes) {
    return std::rotr(crc32c(bytes), 15) + 0xA282EAD8u;
}

std::string new_path(const std::string& folder) {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host = {"localhost"};
    auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
    // TensorBoard reads the files in the order of their names, so a run that is continued within
    // the same second takes the next second's name.
    for (;; ++seconds) {
        std::string path =
            folder + "/events.out.tfevents." + std::to_string(seconds) + "." + host.data();
        if (!path_exists(path)) return path;
    }
}

template <class Report>
std::vector<Scalar> scalars_of(const std::string& prefix, const Report& report) {
    std::vector<Scalar> scalars = {{prefix + "epoch", static_cast<float>(report.epoch)}};
    for (const MetricValue& metric : metric_values(report)) {
        scalars.push_back({prefix + metric.name, static_cast<float>(metric.as_double())});
    }
    return scalars;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) noexcept {
    static constexpr auto table = crc_table();
    std::uint32_t crc = ~0u;
    for (const char c : bytes)
        crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
    return ~crc;
}

EventFile::EventFile(const std::string& folder, Log& log) : file_(new_path(folder), log) {
    add_event(0, bytes_field(field::event_file_version, "brain.Event:2"));
}

std::string hyperparameter_summary(const Hyperparameters& parameters) {
    std::string session;
    for (const auto& [name, value] : parameters)
        session += bytes_field(
            field::session_hparams,
            bytes_field(field::entry_key, name) + bytes_field(field::entry_value, value_of(value)));
    const std::string plugin =
        bytes_field(field::plugin_name, "hparams") +
        bytes_field(field::plugin_content, bytes_field(field::hparams_session_start, session));
    return bytes_field(
        field::summary_value,
        bytes_field(field::value_tag, "_hparams_/session_start_info") +
            bytes_field(field::value_metadata, bytes_field(field::metadata_plugin, plugin)));
}

void EventFile::add_hyperparameters(const Hyperparameters& parameters) {
    add_event(0, bytes_field(field::event_summary, hyperparameter_summary(parameters)));
}

void EventFile::add_scalars(std::int64_t step, std::span<const Scalar> scalars) {
    std::string summary;
    for (const Scalar& scalar : scalars) {
        summary += bytes_field(field::summary_value, bytes_field(field::value_tag, scalar.tag) +
                                                         key(field::value_simple, Wire::fixed32) +
                                                         little_endian(scalar.value));
    }
    add_event(step, bytes_field(field::event_summary, summary));
}

void EventFile::add_restart(std::int64_t step) {
    add_event(step, bytes_field(field::event_session_log,
                                key(field::session_status, Wire::varint) + varint(session_start)));
}

void EventFile::add_event(std::int64_t step, std::string_view what) {
    const double wall_time =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    std::string event = key(field::event_wall_time, Wire::fixed64) + little_endian(wall_time);
    if (step != 0) {
        event += key(field::event_step, Wire::varint) + varint(static_cast<std::uint64_t>(step));
    }
    add_record(event.append(what));
}

void EventFile::add_record(std::string_view bytes) {
    const std::string length = little_endian(std::uint64_t{bytes.size()});
    std::string record = length + little_endian(masked_crc(length));
    record.append(bytes).append(little_endian(masked_crc(bytes)));
    file_.append(record);
}

TensorboardWriter::TensorboardWriter(const std::string& folder, std::int64_t resumed_step, Log& log,
                                     const Hyperparameters& parameters)
    : file_(folder, log) {
    if (!parameters.empty()) file_.add_hyperparameters(parameters);
    file_.add_restart(resumed_step + 1);
}

void TensorboardWriter::on_step(const StepReport& report) {
    file_.add_scalars(report.step, scalars_of("train/", report));
}

void TensorboardWriter::on_validation(const ValidationReport& report) {
    file_.add_scalars(report.step, scalars_of("valid/", report));
}

// The final report of split "valid" is left out: it uses other rows or weights than the validations
// and would be a point off their curve.
void TensorboardWriter::on_final(const ValidationReport& report) {
    if (report.split != "valid")
        file_.add_scalars(report.step, scalars_of(report.split + "/", report));
}

}  // namespace lockstep::train
