// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "launcher/rank/nccl_paths.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/core/log.hpp"
#include "runtime/train/loop/training_events.hpp"

namespace lockstep::launcher {

// Keeps what NCCL writes about itself on this rank in a file that goes with the object.
class NcclLog {
public:
    // Null where the user has NCCL write its own (NCCL_DEBUG), or no file can be made. To be called
    // before NCCL is used and before there are other threads: it sets NCCL's variables.
    static std::unique_ptr<NcclLog> begin();
    ~NcclLog();
    NcclLog(const NcclLog&) = delete;
    NcclLog& operator=(const NcclLog&) = delete;

    // Once NCCL has connected. The file goes now, since a process does not always end in order.
    NcclPaths take();

private:
    explicit NcclLog(std::string path) : path_(std::move(path)) {}

    std::string path_;
};

// After the first step rank 0 says by what NCCL goes, over all ranks.
class NcclReport final : public train::TrainingObserver {
public:
    // A rank without a log, whose `own` is null, takes part. They outlive this.
    NcclReport(NcclLog* own, Hosts hosts, comm::Communicator& communicator, Log& log)
        : own_(own), hosts_(hosts), communicator_(communicator), log_(log) {}

    // Collective, after the first step.
    void on_step(const train::StepReport& report) override;

private:
    NcclLog* own_;
    Hosts hosts_;
    comm::Communicator& communicator_;
    Log& log_;
    bool told_ = false;
};

}  // namespace lockstep::launcher
