// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "launcher/options/run_config.hpp"
#include "launcher/rank/data_sets.hpp"
#include "launcher/train/dealing_record.hpp"
#include "runtime/train/checkpoint/checkpoint.hpp"
#include "runtime/train/loop/trainer_state.hpp"

namespace lockstep::launcher {

// Begins where a run was continued with other options or data.
struct ContinuedPart {
    std::int64_t step = 0;  // after which it begins
    std::string changes;    // as the run told them
};

// Holds what a checkpoint says about the position of its run. Every rank needs it.
struct Continuation {
    train::TrainerState trainer;
    std::string mixture;   // mixture_text() of several data sets; empty: one
    std::string data_set;  // data_set_text() of one; empty: several, or not known
    std::string content;   // content_of() the data; empty: not known
    std::optional<DealingRecord> dealing;
    std::optional<std::int64_t> schedule_moved;  // of ScheduleEnd; empty: no epochs were counted
    std::vector<ContinuedPart> parts;  // those in which the run was continued with a change
};

// Throws nlohmann's exceptions when a member has another type.
Continuation continuation_of(const train::RunRecord& record);
void to_json(nlohmann::json& json, const Continuation& continuation);
void from_json(const nlohmann::json& json, Continuation& continuation);
void to_json(nlohmann::json& json, const ContinuedPart& part);
void from_json(const nlohmann::json& json, ContinuedPart& part);

// Tells whether the data are surely others than those of the checkpoint, and describes both.
struct DataChange {
    bool is_other = false;
    std::string then, now;
    std::string text() const;  // "another data set: NOW instead of THEN"
};
DataChange data_change(const Continuation& continuation, const DataSets& data,
                       const std::vector<double>& weights);

// Returns what `lockstep report` tells of a part that begins with these changed options and data;
// empty: nothing has changed.
std::string changes_of(const std::string& options, const DataChange& data);

// Throws a config error if the run cannot continue with these data.
void require_continuable(const Continuation& continuation, const RunConfig& config,
                         const DataSets& data, const std::vector<double>& weights);

// Takes out of the state what the run no longer counts. Returns what of it the user has to know:
// "12 validations without a better one no longer count"; mostly nothing.
std::string count_anew(const CountedAnew& anew, train::TrainerState& state);

}  // namespace lockstep::launcher
