// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/state_file.hpp"

#include <memory>
#include <string>

#include "launcher/rank/data_place.hpp"
#include "launcher/rank/shared_refusal.hpp"
#include "launcher/text/units.hpp"
#include "model/blocks/layout.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/scratch_file.hpp"
#include "runtime/train/optim/state_bytes.hpp"

namespace lockstep::launcher {

namespace {

// Returns what the store and the optimizer will put into the file.
std::uint64_t bytes_on_disk(const train::OptimizerOptions& options, train::ParameterTable table,
                            const train::ReplicaShare& share, train::Precision precision) {
    if (share.world > 1) table.pad_for(share.world);
    table.share_among(share.ranks, share.stage);
    std::size_t values = train::state_bytes(options, table) / table.flat_size() / sizeof(float);
    if (precision != train::Precision::fp32 && table.stage() < 3) ++values;
    const auto ranks = static_cast<std::size_t>(share.ranks);
    return values * ScratchFile::bytes_of(table.flat_size() / ranks);
}

}  // namespace

train::ReplicaShare share_with_file(const RunConfig& config, const model::ModelConfig& model,
                                    Job& job, Log& log) {
    train::ReplicaShare share = replica_share_of(config, job.rank_info);
    const train::OptimizerOptions& optimizer = config.train.optimizer;
    if (optimizer.offload_dir.empty()) return share;
    const std::uint64_t bytes =
        bytes_on_disk(optimizer, model::parameter_table(model, share.tensor, share.pipeline), share,
                      job.device.precision);
    start_together(*job.communicator, job.rank_info, [&] {
        try {
            share.file = std::make_shared<ScratchFile>(optimizer.offload_dir);
            share.file->reserve(bytes);
        } catch (const Error& error) {
            throw Error(error.kind(), std::string("--offload-dir ") + error.what());
        }
    });
    log.info("the optimizer's state lies in " + printable(optimizer.offload_dir) + ", " +
             bytes_text(static_cast<std::int64_t>(bytes)) + " of its disk for each rank" +
             (share.file->is_direct()
                  ? ""
                  : "; this file system has no O_DIRECT, so that it passes the page cache"));
    return share;
}

}  // namespace lockstep::launcher
