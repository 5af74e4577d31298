// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/shared_refusal.hpp"

#include <iostream>
#include <string>

#include "launcher/rank/job.hpp"
#include "launcher/text/told_elsewhere.hpp"

namespace lockstep::launcher {

void refuse_together(comm::Communicator& communicator, const comm::RankInfo& self, Teller teller,
                     const Error& error) {
    if (communicator.size() == 1) throw Error(error);
    if (teller == Teller::this_rank)
        std::cerr << rank_name(self) + ": " + error.what() + "\n" << std::flush;
    communicator.barrier("told");
    communicator.finish();
    communicator.leave_together();
    throw ToldElsewhere(error);
}

}  // namespace lockstep::launcher
