// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/finished_run.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/comm/texts.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/read_file.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_names.hpp"

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

}  // namespace

std::optional<train::ExitReason> finished_before(const RunConfig& config,
                                                 const std::optional<train::TrainerState>& resume,
                                                 std::int64_t rows_per_epoch,
                                                 comm::Communicator& communicator) {
    if (!resume) return std::nullopt;
    const auto reason = train::ended(config.train, *resume, rows_per_epoch);
    if (!reason) return std::nullopt;
    const bool wants_files = !config.trace_file.empty() || !config.world_logs.empty();
    const bool done = communicator.rank() == 0 && config.changes.empty() && !wants_files &&
                      is_evaluated(config.model_file, resume->step) &&
                      !has_leftovers(config.model_file);
    const std::string told = broadcast_text(communicator, done ? "done" : "");
    return told.empty() ? std::nullopt : reason;
}

}  // namespace lockstep::launcher
