// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/finished_run.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/comm/texts.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/read_file.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_names.hpp"
#include "runtime/train/loop/exit_reason.hpp"

namespace lockstep::launcher {

namespace {

// The next save removes what an interrupted one left.
bool has_leftovers(const std::string& model_file) {
    std::error_code none;
    for (const auto& entry :
         std::filesystem::directory_iterator(train::checkpoints_of(model_file), none))
        if (entry.path().filename().string().find(".tmp-") != std::string::npos) return true;
    return false;
}

// report.json is written last, after the checkpoint, the best weights and the metrics.
bool is_evaluated(const std::string& model_file, std::int64_t step) {
    const std::string report = model_file + "/report.json";
    if (!path_exists(report) || !path_exists(model_file + "/model.safetensors")) return false;
    const auto json = try_parse_json(read_file(report));
    return json.is_object() && json.contains("finished_step") && json["finished_step"] == step;
}

// A run that ended and could not evaluate its weights makes up for it; one that was stopped, and is
// now given a limit behind it, has not ended.
std::string line(const RunConfig& config, const train::TrainerState& state,
                 train::ExitReason reason) {
    const std::string why = train::describe(reason, state),
                      way = std::string(train::way_on(reason)) + " to go on";
    const bool wants_files = !config.trace_file.empty() || !config.world_logs.empty();
    if (wants_files || config.changed == ChangedOptions::others || has_leftovers(config.model_file))
        return "";
    if (is_evaluated(config.model_file, state.step))
        return "training ended before: " + why + "; nothing was trained or written, " + way;
    if (config.changed == ChangedOptions::none || !state.ended.empty()) return "";
    return "nothing was trained or written: " + why + " before step " +
           std::to_string(state.step + 1) + "; " + way;
}

}  // namespace

std::optional<std::string> nothing_to_do(const RunConfig& config,
                                         const std::optional<train::TrainerState>& resume,
                                         std::int64_t rows_per_epoch,
                                         comm::Communicator& communicator) {
    if (!resume) return std::nullopt;
    const auto reason = train::ended(config.train, *resume, rows_per_epoch);
    if (!reason) return std::nullopt;
    const std::string told = broadcast_text(
        communicator, communicator.rank() == 0 ? line(config, *resume, *reason) : "");
    return told.empty() ? std::nullopt : std::optional(told);
}

}  // namespace lockstep::launcher
