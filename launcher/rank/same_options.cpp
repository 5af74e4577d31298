// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/same_options.hpp"

#include <string>
#include <vector>

#include "launcher/rank/shared_refusal.hpp"
#include "runtime/comm/texts.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* host_key = " host";  // no option has such a name

std::string told(const ComparedOptions& options, const std::string& name) {
    const auto found = options.find(name);
    if (found == options.end()) return "unknown";
    return found->second.text.empty() ? "not given" : shown(found->second.text);
}

std::string difference(const std::string& name, const ComparedOptions& of_rank_0,
                       const comm::RankInfo& self, const ComparedOptions& own) {
    const std::string host_0 = of_rank_0.at(host_key).text;
    const bool one_host = host_0 == self.host;
    return "--" + name + ": " + told(of_rank_0, name) + " on rank 0" +
           (one_host ? "" : " (" + shown(host_0) + ")") + ", but " + told(own, name) + " on rank " +
           std::to_string(self.rank) + (one_host ? "" : " (" + self.host + ")") +
           "; give all ranks of a run the same options, and runs that take place at the same time "
           "a --master-port or a secret each";
}

}  // namespace

void require_same_options(comm::Communicator& communicator, const comm::RankInfo& self,
                          const ComparedOptions& own) {
    if (communicator.size() == 1) return;
    ComparedOptions sent = own;
    sent[host_key] = {self.host, ""};
    ComparedOptions of_rank_0 =
        compared_options_from(broadcast_text(communicator, self.rank == 0 ? to_text(sent) : ""));
    sent[host_key] = of_rank_0[host_key];
    const auto name = first_difference(of_rank_0, sent);
    const auto size = static_cast<std::uint64_t>(communicator.size());
    std::vector<std::uint64_t> first{name ? static_cast<std::uint64_t>(self.rank) : size};
    communicator.all_reduce(view_of(first), comm::ReduceOp::min, "options");
    communicator.finish();
    if (first.front() == size) return;
    const int who = static_cast<int>(first.front());
    const std::string text =
        who == self.rank ? difference(name.value_or(""), of_rank_0, self, own) : "";
    const Error error(ErrorKind::config, broadcast_text(communicator, text, who));
    const bool tells = self.rank == 0 || self.rank == who;
    refuse_together(communicator, self, tells ? Teller::this_rank : Teller::another, error);
}

}  // namespace lockstep::launcher
