// SPDX-License-Identifier: Apache-2.0
#include "launcher/ladder/rungs.hpp"

#include <algorithm>

#include "launcher/options/run_command.hpp"
#include "launcher/rank/compute_device.hpp"
#include "launcher/rank/threads_per_rank.hpp"

namespace lockstep::launcher::ladder {

namespace {

// A single rank on the CPU with several cores is as fast as several ranks with one core each.
// Several ranks help on large hosts, whose memory has several NUMA nodes.
constexpr int cores_of_a_rank = 8;
constexpr int max_workers = 8;

int ranks_of(const RunConfig& config, const Host& host) {
    if (config.world_size > 0) return static_cast<int>(config.world_size);
    if (host.gpus > 0) return host.gpus;
    return std::min(host.cores, std::max(2, host.cores / cores_of_a_rank));
}

// ParlAI's rule is one GPU's share of the cores. One worker is enough when the cores compute.
std::int64_t workers_of(const RunConfig& config, const Host& host) {
    if (config.batch.num_workers > 0) return config.batch.num_workers;
    return host.gpus > 0 ? std::clamp(host.cores / host.gpus, 1, max_workers) : 1;
}

Rung skip_generation(const RunConfig& config, Validation validation) {
    const std::int64_t given = config.batch.eval_batchsize;
    Rung rung{"no generation in validation", "2-skip-generation",
              [given](Settings& settings) {
                  settings.generation = Generation::off;
                  settings.eval_batchsize = given > 0 ? given : 2 * settings.batchsize;
              },
              ""};
    if (validation == Validation::none) rung.absent = "the data has no split `valid`";
    return rung;
}

Rung dynamic_batching(const RunConfig& config) {
    const auto given = config.batch.dynamic;
    const auto dynamic = given == data::Dynamic::off ? data::Dynamic::full : given;
    Rung rung{"dynamic batching", "3-dynamic-batching",
              [dynamic](Settings& settings) { settings.dynamic = dynamic; }, ""};
    if (dynamic == data::Dynamic::full && !tells_longest_row(config))
        rung.absent = "it needs --text-truncate and --label-truncate, or -dynb batchsort";
    return rung;
}

Rung precision(const RunConfig& config, const Host& host) {
    const bool none = host.fast == train::Precision::fp32;
    const std::string name = none ? std::string("16 bits") : train::name(host.fast);
    Rung rung{name, "4-" + (none ? "precision" : name),
              [fast = host.fast](Settings& settings) { settings.precision = fast; }, ""};
    if (none)
        rung.absent = config.precision == PrecisionChoice::fp32
                          ? "--precision fp32 was asked for"
                          : "this processor has no fast products of bf16";
    return rung;
}

Rung larger_batches() {
    return {"batches of twice the size", "5-larger-batches",
            [](Settings& settings) {
                settings.batchsize *= 2;
                if (settings.eval_batchsize > 0) settings.eval_batchsize *= 2;
            },
            ""};
}

Rung workers(const RunConfig& config, const Host& host) {
    const std::int64_t count = workers_of(config, host);
    return {"batches built by " + std::to_string(count) + (count == 1 ? " worker" : " workers"),
            "6-workers", [count](Settings& settings) { settings.num_workers = count; }, ""};
}

Rung ranks(const RunConfig& config, const Host& host) {
    const int count = ranks_of(config, host);
    Rung rung{std::to_string(count) + (host.gpus > 0 ? " GPUs" : " ranks"), "7-ranks",
              [count](Settings& settings) { settings.ranks = count; }, ""};
    if (count < 2)
        rung = {"several ranks", "7-ranks", rung.change,
                host.gpus > 0 ? "there is one GPU" : "there is one core"};
    return rung;
}

std::string why_not_shared(const RunConfig& config, int stage, int ranks) {
    if (ranks < 2) return "it needs several ranks";
    if (config.given.contains("zero") || config.given.contains("ddp-backend"))
        return "the options say what ranks share";
    const train::OptimizerKind kind = config.train.optimizer.kind;
    if (stage > train::highest_zero_stage(kind))
        return std::string(name(kind)) + " updates whole matrices";
    if (stage > 1 && config.train.reducer.lane_order == train::LaneOrder::fixed)
        return "--deterministic adds whole gradients";
    if (stage == 3 && config.gpu.fp16 == Fp16Kind::mem_efficient)
        return "--fp16-impl mem_efficient has no fp32 weights to share";
    return "";
}

// The ranks may have been left out as slower: their rung is then what the stage compares with.
Rung shared(const RunConfig& config, const Host& host, int stage) {
    const int ranks = ranks_of(config, host);
    const std::string number = std::to_string(stage);
    return {"--zero " + number + " on " + std::to_string(ranks) + " ranks",
            std::to_string(7 + stage) + "-zero-" + number,
            [stage, ranks](Settings& settings) {
                settings.stage = stage;
                settings.ranks = ranks;
            },
            why_not_shared(config, stage, ranks), Purpose::memory};
}

}  // namespace

Host host_of(const RunConfig& config) {
    const Gpus gpus = gpus_for(config);
    Host host;
    host.gpus = static_cast<int>(gpus.visible.size());
    host.cores = usable_cores();
    host.fast = precision_of(config.precision, choose_gpu(config, comm::alone(), gpus));
    return host;
}

std::vector<Rung> rungs(const RunConfig& config, const Host& host, Validation validation) {
    return {{"baseline", "1-baseline", [](Settings&) {}, ""},
            skip_generation(config, validation),
            dynamic_batching(config),
            precision(config, host),
            larger_batches(),
            workers(config, host),
            ranks(config, host),
            shared(config, host, 1),
            shared(config, host, 2),
            shared(config, host, 3)};
}

}  // namespace lockstep::launcher::ladder
