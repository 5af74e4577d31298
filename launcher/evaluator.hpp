// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "launcher/reply.hpp"
#include "model/device_model.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/train/step_source.hpp"
#include "runtime/train/training_events.hpp"

namespace lockstep::launcher {

// Evaluates a model on the rows of all ranks: loss, ppl, token_acc, examples; with a replier also
// f1 and bleu-4. Every rank calls it and gets the same report.
class Evaluator final : public train::Validator {
public:
    // References outlive the evaluator; `replier` may be null.
    Evaluator(model::DeviceModel& model, std::unique_ptr<train::EvalSource> source,
              data::Layout layout, comm::Communicator& communicator, Replier* replier);

    train::ValidationReport evaluate() override;

private:
    model::DeviceModel& model_;
    std::unique_ptr<train::EvalSource> source_;
    data::Layout layout_;
    comm::Communicator& communicator_;
    Replier* replier_;
};

}  // namespace lockstep::launcher
