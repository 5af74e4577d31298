// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/train/loop/training_events.hpp"
#include "runtime/train/metrics/metrics_file.hpp"

namespace lockstep::train {

// Returns the CRC-32C (Castagnoli), which TFRecord files use.
std::uint32_t crc32c(std::string_view bytes) noexcept;

struct Scalar {
    std::string tag;
    float value;
};

// Lists names and values of options as a user gives them.
using Hyperparameters = std::vector<std::pair<std::string, std::string>>;

// Returns the Summary message that TensorBoard's hyperparameter page reads, as torch's add_hparams
// writes it at a session's start.
std::string hyperparameter_summary(const Hyperparameters& parameters);

// Writes a TensorBoard event file: TFRecord frames of Event messages. It encodes them itself, since
// protobuf would be a large dependency for three kinds of message.
class EventFile {
public:
    // Creates FOLDER/events.out.tfevents.<time>.<host>; it never opens an existing file.
    // A file that cannot be written is told to `log` (see MetricsFile).
    EventFile(const std::string& folder, Log& log);

    const std::string& path() const noexcept { return file_.path(); }
    void add_hyperparameters(const Hyperparameters& parameters);
    void add_scalars(std::int64_t step, std::span<const Scalar> scalars);
    // Tells TensorBoard to forget the events of `step` and later ones in earlier files.
    void add_restart(std::int64_t step);

private:
    void add_event(std::int64_t step, std::string_view what);
    void add_record(std::string_view bytes);

    MetricsFile file_;
};

// Writes the numbers of metrics.jsonl as scalars train/NAME, valid/NAME and, at the end, test/NAME.
class TensorboardWriter final : public TrainingObserver {
public:
    // The run continues after `resumed_step`; 0 means from the start.
    TensorboardWriter(const std::string& folder, std::int64_t resumed_step, Log& log,
                      const Hyperparameters& parameters = {});

    void on_step(const StepReport& report) override;
    void on_validation(const ValidationReport& report) override;
    void on_final(const ValidationReport& report) override;

private:
    EventFile file_;
};

}  // namespace lockstep::train
