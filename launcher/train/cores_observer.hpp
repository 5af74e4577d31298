// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/options/run_config.hpp"
#include "launcher/rank/cores_notice.hpp"
#include "launcher/rank/job.hpp"
#include "runtime/core/log.hpp"
#include "runtime/train/loop/training_events.hpp"

namespace lockstep::launcher {

// Tells when other processes take the cores of this rank.
class CoresObserver : public train::TrainingObserver {
public:
    CoresObserver(const RunConfig& config, const Job& job, Log& log)
        : notice_(cores_notice(job.device, job.rank_info,
                               [&config, &job, &log](const std::string& line) {
                                   if (config.quiet) return;
                                   const std::string warning = "warning: " + line;
                                   job.rank_info.rank == 0 ? log.info(warning) : log.error(warning);
                               })) {}
    void on_step(const train::StepReport&) override { notice_.look(); }

private:
    TakenCoresNotice notice_;
};

}  // namespace lockstep::launcher
