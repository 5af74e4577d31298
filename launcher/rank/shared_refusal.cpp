// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/shared_refusal.hpp"

#include <exception>
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
    std::exception_ptr error;  // keeps the class of the error, on which its exit code depends
    try {
        start();
    } catch (const Error&) {
        if (communicator.size() == 1) throw;
        error = std::current_exception();
    }
    const auto size = static_cast<std::uint64_t>(communicator.size());
    const auto rank = static_cast<std::uint64_t>(self.rank);
    std::vector<std::uint64_t> first{error ? rank : size};
    communicator.all_reduce(view_of(first), comm::ReduceOp::min, "start");
    communicator.finish();
    if (first.front() == size) return;
    try {
        if (error) std::rethrow_exception(error);
        throw Error(ErrorKind::peer, "another rank cannot start; its own message says why");
    } catch (const Error& own) {
        refuse_together(communicator, self,
                        first.front() == rank ? Teller::this_rank : Teller::another, own);
    }
}

}  // namespace lockstep::launcher
