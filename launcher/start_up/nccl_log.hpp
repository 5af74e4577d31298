// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "launcher/start_up/nccl_paths.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/core/log.hpp"
#include "runtime/train/loop/training_events.hpp"

namespace lockstep::launcher {

// Keeps NCCL's own log of this rank in a file, which the destructor removes.
class NcclLog {
public:
    // Returns null when the user already directs NCCL's log (NCCL_DEBUG), or when no file can be
    // made. It sets NCCL's environment variables, so call it before NCCL is used and before other
    // threads exist.
    static std::unique_ptr<NcclLog> begin();
    ~NcclLog();
    NcclLog(const NcclLog&) = delete;
    NcclLog& operator=(const NcclLog&) = delete;

    // Reads the log and removes the file at once, because a process does not always end in order.
    // Call it after NCCL has connected.
    NcclPaths take();

private:
    explicit NcclLog(std::string path) : path_(std::move(path)) {}

    std::string path_;
};

// After the first step rank 0 reports which paths NCCL uses, over all ranks.
class NcclReport final : public train::TrainingObserver {
public:
    // `own` is null on a rank without a log, which takes part as well. The arguments must outlive
    // this object.
    NcclReport(NcclLog* own, Hosts hosts, comm::Communicator& communicator, Log& log)
        : own_(own), hosts_(hosts), communicator_(communicator), log_(log) {}

    // Collective in the first step; does nothing afterwards.
    void on_step(const train::StepReport& report) override;

private:
    NcclLog* own_;
    Hosts hosts_;
    comm::Communicator& communicator_;
    Log& log_;
    bool told_ = false;
};

}  // namespace lockstep::launcher
