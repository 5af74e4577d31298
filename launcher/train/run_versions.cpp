// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/run_versions.hpp"

#include "launcher/version.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* sums = "sums";
constexpr const char* whole_sums = "over all ranks";
constexpr const char* lane_sums = "in the order of the lanes";

constexpr const char* tensor_ranks = "tensor ranks";
constexpr const char* stages = "stages";

constexpr int rounds_of_earlier_versions = 10;

std::string generator_of(int rounds) { return "Philox4x32-" + std::to_string(rounds); }

}  // namespace

// Parts of a replica that all ranks share are added as whole gradients are. From stage 2 on, the
// ranks are added before a rank's lanes.
std::string gradient_sums(const train::TrainOptions& options, int ranks) {
    if (options.reducer.lane_order == train::LaneOrder::fixed) return lane_sums;
    const int sharing = train::sharing_ranks(options.zero, ranks);
    const bool by_pass = sharing > 1 && options.zero.stage >= 2 && options.lanes > ranks;
    const std::string when = by_pass ? " after each micro-batch" : "";
    if (sharing == 1 || sharing == ranks) return whole_sums + when;
    return "over " + std::to_string(sharing) + " ranks that share" + when + ", then over replicas";
}

train::Metadata versions_of(const Job& job, const train::TrainOptions& options) {
    train::Metadata versions{
        {"lockstep", version},
        {"products", job.device.products()},
        {"device", job.device.name()},
        {"precision", train::name(job.device.precision)},
        {"ranks", std::to_string(job.rank_info.size)},
        {sums, gradient_sums(options, job.rank_info.size / train::ranks_of_place(options))},
        {dropout_masks, generator_of(kernels::dropout_rounds)},
        {"threads", std::to_string(job.device.threads)}};
    if (options.tensor > 1) versions[tensor_ranks] = std::to_string(options.tensor);
    if (options.pipeline > 1) versions[stages] = std::to_string(options.pipeline);
    return versions;
}

std::string differences(train::Metadata then, const train::Metadata& now) {
    const auto sums_now = now.find(sums);
    const bool by_lanes = sums_now != now.end() && sums_now->second == lane_sums;
    then.try_emplace(sums, by_lanes ? lane_sums : whole_sums);
    then.try_emplace(dropout_masks, generator_of(rounds_of_earlier_versions));
    train::Metadata after = now;
    for (train::Metadata* each : {&then, &after})
        for (const char* name : {tensor_ranks, stages}) each->try_emplace(name, "1");
    std::string text;
    for (const auto& [name, value] : after) {
        const auto found = then.find(name);
        const std::string before = found == then.end() ? "none" : found->second;
        if (before == value) continue;
        text += (text.empty() ? "" : ", ") + name + " " + before + " -> " + value;
    }
    return text;
}

}  // namespace lockstep::launcher
