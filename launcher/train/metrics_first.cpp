// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/metrics_first.hpp"

#include "runtime/core/system_failure.hpp"
#include "runtime/files/durable_files.hpp"

namespace lockstep::launcher {

void MetricsFirst::save(train::CheckpointKind kind, const train::TrainerState& state) {
    if (kind == train::CheckpointKind::latest) keep_metrics();
    checkpoints_.save(kind, state);
}

void MetricsFirst::keep_metrics() {
    observers_.flush();
    sync();
}

void MetricsFirst::sync() {
    if (metrics_file_.empty()) return;
    try {
        sync_file(metrics_file_);
    } catch (const SystemFailure& failure) {
        if (!told_) log_.info(std::string("warning: ") + failure.what());
        told_ = true;
    }
}

}  // namespace lockstep::launcher
