// SPDX-License-Identifier: Apache-2.0
#include "launcher/training.hpp"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <utility>

#include "data/check_shards.hpp"
#include "launcher/model_folder.hpp"
#include "launcher/screen.hpp"
#include "launcher/stop_signal.hpp"
#include "launcher/training_session.hpp"
#include "launcher/watched_run.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/path_status.hpp"

namespace lockstep::launcher {

namespace {

// It is written when the run has ended: too late to find out.
void require_trace_file(const std::string& path) {
    if (path.empty()) return;
    if (is_folder(path))
        throw Error(ErrorKind::config, "--trace " + path + ": is a folder; name a file");
    const std::string parent = std::filesystem::absolute(path).parent_path();
    const std::string opened = path_exists(path) ? path : parent;
    if (::access(opened.c_str(), W_OK) != 0) throw_errno("--trace cannot be written", path);
}

// The run's own folder; before there is a model, that of the weights to start from.
ModelSource starts_from(const RunConfig& config) {
    if (config.init_model.empty() || holds_model(config.model_file)) return {config.model_file};
    return {model_folder_of(config.init_model), "--init-model"};
}

// "NAME/ppl" decides by one of several data sets.
void require_metric(const RunConfig& config, const DataSets& validation) {
    const std::string& metric = config.train.validation.metric;
    const auto end = metric.rfind('/');
    if (end == std::string::npos) return;
    std::string names;
    for (const std::string& name : validation.names) {
        if (validation.several() && metric.substr(0, end) == name) return;
        names += (names.empty() ? "" : ", ") + name;
    }
    throw Error(ErrorKind::config,
                "--validation-metric " + metric +
                    (validation.several() ? ": no such data set; the validations have " + names
                                          : ": there is one data set; leave its name out"));
}

}  // namespace

TrainingPlan check_training(const RunConfig& config, Standing standing) {
    DataSets sets = open_data_sets("data", config.data);
    const auto missing =
        standing == Standing::alone ? data::MissingShards::refuse : data::MissingShards::allow;
    // Of several sets any rank may need any shard.
    check_shards(sets, "train", sets.several() ? data::MissingShards::refuse : missing);
    if (!config.init_model.empty() && !path_exists(config.init_model)) {
        throw Error(ErrorKind::config, "--init-model " + config.init_model + ": does not exist");
    }
    const model::ModelConfig model =
        agree_on_model(starts_from(config), config.model, config.given, sets.first());
    DataSets validation = validation_sets(config, sets);
    check_shards(validation, "valid", missing);
    require_metric(config, validation);
    require_writable(config.model_file);
    require_trace_file(config.trace_file);
    std::vector<double> weights = weights_of(config, sets);
    return {std::move(sets), std::move(weights), std::move(validation), model,
            train::newest_good_checkpoint(config.model_file)};
}

int run_training(const RunConfig& config, Standing standing) {
    StartUp start_up;
    const StopSignal stop;  // before any other thread exists
    const comm::Place place = place_of(config, standing);
    start_up.ended("place");
    Log log(std::cout, verbosity_of(config), place.rank, rank_name(place), output_screen());
    const TrainingPlan plan = check_training(config, standing);
    start_up.ended("data");
    Job job = join_job(config, place);
    job.start_up = std::move(start_up);
    job.start_up.ended("join");
    return run_watched(config, config.model_file, job, log, [&](comm::Whereabouts* whereabouts) {
        job.start_up.ended("watch");
        TrainingSession session(config, plan, job, log, whereabouts);
        session.run(stop.requested());
    });
}

}  // namespace lockstep::launcher
