// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/shared_refusal.hpp"

#include <optional>
#include <vector>

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

void start_together(comm::Communicator& communicator, const comm::RankInfo& self,
                    const std::function<void()>& start) {
    std::optional<Error> error;
    try {
        start();
    } catch (const Error& thrown) {
        if (communicator.size() == 1) throw;
        error = thrown;
    }
    const auto size = static_cast<std::uint64_t>(communicator.size());
    std::vector<std::uint64_t> first{error ? static_cast<std::uint64_t>(self.rank) : size};
    communicator.all_reduce(view_of(first), comm::ReduceOp::min, "start");
    communicator.finish();
    if (first.front() == size) return;
    const bool tells = first.front() == static_cast<std::uint64_t>(self.rank);
    if (!error) error = Error(ErrorKind::peer, "another rank cannot start; its message says why");
    refuse_together(communicator, self, tells ? Teller::this_rank : Teller::another, *error);
}

}  // namespace lockstep::launcher
