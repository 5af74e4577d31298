// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/shared_refusal.hpp"

#include "launcher/rank/job.hpp"
#include "launcher/rank/loaded_model.hpp"
#include "launcher/text/already_told.hpp"

namespace lockstep::launcher {

void refuse_together(comm::Communicator& communicator, const comm::RankInfo& self, Teller teller,
                     const Error& error) {
    if (communicator.size() == 1) throw Error(error);
    if (teller == Teller::this_rank) warn_on_standard_error(rank_name(self) + ": " + error.what());
    communicator.barrier("told");
    communicator.finish();
    communicator.leave_together();
    throw AlreadyTold(error);
}

}  // namespace lockstep::launcher
