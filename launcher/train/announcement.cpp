// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/announcement.hpp"

#include <string>

#include "launcher/options/schedule_checks.hpp"
#include "launcher/rank/data_sets.hpp"
#include "launcher/text/units.hpp"
#include "launcher/train/tensor_hosts.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::launcher {

namespace {

std::string places_text(const comm::DataPlace& place) {
    return counted(place.ranks, "place reads rows", "places read rows");
}

// Says how long stages wait for the first and the last micro-batches of a step.
std::string stages_text(int stages, const comm::DataPlace& place, std::int64_t lanes) {
    const std::int64_t micro_batches = (lanes + place.ranks - 1) / place.ranks;
    const std::int64_t waits = stages - 1, turns = micro_batches + waits;
    return std::to_string(stages) + " stages have the layers one after the other, so that " +
           places_text(place) + "; with " + counted(micro_batches, "micro-batch", "micro-batches") +
           " a stage waits " + std::to_string((100 * waits + turns / 2) / turns) +
           " % of a step, and with a larger --update-freq less";
}

std::string trained_text(const AnnouncedRun& run, const Job& job) {
    const ComputeDevice& device = job.device;
    const int ranks = job.rank_info.size;
    const std::string cores = counted(device.threads, "core", "cores") +
                              (device.threads_from.empty() ? "" : " (" + device.threads_from + ")");
    const std::size_t frozen = run.model.frozen().count();
    return "training " + std::to_string(run.trained_parameters) + " parameters" +
           (frozen > 0 ? " of adapters, beside " + std::to_string(frozen) + " that stay," : "") +
           " in " + train::name(device.precision) + " on " + counted(ranks, "rank", "ranks") +
           " x " + (device.gpu ? "1 GPU (" + device.name() + "), " : cores + ", ") +
           std::to_string(run.rows_per_epoch) + " rows an epoch in " +
           counted(run.options.lanes, "lane", "lanes");
}

std::string few_lanes_text(const AnnouncedRun& run) {
    const std::int64_t lanes = run.options.lanes;
    const bool fixed = run.options.reducer.lane_order == train::LaneOrder::fixed;
    return "warning: " + std::to_string(run.place.ranks) + " ranks, but the run was started with " +
           counted(lanes, "lane", "lanes") + ": " +
           (fixed ? std::to_string(run.place.ranks - lanes) +
                        " of them only wait for the others, as --deterministic does not divide a "
                        "lane"
                  : "several ranks divide the rows of a micro-batch");
}

void announce_ranks(const AnnouncedRun& run, Job& job, Log& log) {
    const train::TrainOptions& options = run.options;
    if (options.tensor > 1) {
        log.info(std::to_string(options.tensor) + " ranks compute each layer together, so that " +
                 places_text(run.place));
        const std::string warning =
            tensor_hosts_warning(*job.communicator, job.rank_info.host, options.tensor);
        if (!warning.empty()) log.info(warning);
    }
    if (options.pipeline > 1) log.info(stages_text(options.pipeline, run.place, options.lanes));
    if (run.place.ranks > options.lanes) log.info(few_lanes_text(run));
    const int sharing = train::sharing_ranks(options.zero, run.place.ranks);
    const std::string stage = "--zero " + std::to_string(options.zero.stage);
    if (sharing > 1)
        log.info(std::to_string(sharing) + " ranks share a replica: " + stage);
    else if (options.zero.stage > 0)
        log.info("each rank keeps a whole replica: " + stage + " shares nothing");
}

void announce_rows(const AnnouncedRun& run, Log& log) {
    const RunConfig& config = run.config;
    const TrainingPlan& plan = run.plan;
    const bool dialogues = plan.data.first().kind() != data::DatasetKind::language_model;
    if (dialogues && config.batch.batchsize == 1 && config.batch.batch_tokens <= 0 &&
        config.batch.dynamic != data::Dynamic::full)
        log.info(
            "a micro-batch has one row (--batchsize 1): most of a step's time goes into reading "
            "and updating weights; -bs 16 or more trains more rows a second");
    if (counts_epochs(config)) log.info(schedule_text(config, plan.schedule_end.updates));
    if (const std::string phases = phases_text(config, plan.schedule_end.updates); !phases.empty())
        log.info(phases);
    if (plan.data.several())
        log.info("an epoch's rows are of " + shares_text(plan.data, plan.weights));
}

}  // namespace

void announce(const AnnouncedRun& run, Job& job, Log& log) {
    log.info(trained_text(run, job));
    announce_ranks(run, job, log);
    announce_rows(run, log);
    if (const std::string attention = run.model.attention(); !attention.empty())
        log.info("attention by " + attention);
    log.detail("placed by " + std::string(comm::name(job.rank_info.source)) + ", products by " +
               job.device.products());
}

}  // namespace lockstep::launcher
