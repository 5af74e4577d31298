// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/reduction/step_traffic.hpp"

#include "runtime/train/reduction/stage_sums.hpp"
#include "runtime/train/reduction/tensor_sums.hpp"
#include "runtime/train/reduction/weight_labels.hpp"

namespace lockstep::train {

StepTraffic step_traffic(const comm::Tape& tape, const comm::MeshShape& mesh,
                         comm::HalfSums half_sums) {
    const bool one_replica = mesh.replica == 1 && mesh.shard > 1;
    StepTraffic sent;
    for (const comm::TapeEntry& entry : tape.entries) {
        const std::int64_t bytes = comm::bytes_sent(entry, half_sums);
        const bool among_shard = entry.group == comm::TapedGroup::shard ||
                                 (entry.group == comm::TapedGroup::world && one_replica);
        if (entry.label == shared_gradients_label)
            sent.tensor += bytes;
        else if (entry.label == shared_table_label)
            sent.pipeline += bytes;
        else if (entry.label.starts_with(weights_label))
            sent.weights += bytes;
        else if (entry.label.starts_with(bucket_label))
            (among_shard ? sent.gradients : sent.replicas) += bytes;
    }
    return sent;
}

}  // namespace lockstep::train
