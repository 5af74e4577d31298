// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/examination.hpp"

#include <map>
#include <memory>
#include <thread>

#include "launcher/doctor/facts_json.hpp"
#include "launcher/doctor/probes/data_folder.hpp"
#include "launcher/doctor/probes/lookup.hpp"
#include "launcher/doctor/probes/meeting.hpp"
#include "launcher/doctor/probes/output_folder.hpp"
#include "launcher/doctor/probes/probe.hpp"
#include "launcher/doctor/probes/probe_schedule.hpp"
#include "launcher/doctor/probes/probe_server.hpp"
#include "launcher/doctor/probes/rates.hpp"
#include "launcher/doctor/rank_facts.hpp"
#include "runtime/comm/secret/secret.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher::doctor {

namespace {

using std::chrono::milliseconds;

// Gives the ranks of each host the local ranks on which a run would agree.
void number_by_hosts(std::vector<RankFacts>& ranks) {
    std::map<std::string, int> on_host;
    for (RankFacts& one : ranks) one.local_rank = on_host[one.host]++;
    for (RankFacts& one : ranks) one.local_size = on_host[one.host];
}

// Runs the stages of the examination on one rank.
class Examination {
public:
    Examination(const comm::RankInfo& rank_info, const Request& request)
        : request_(request),
          own_(rank_facts(rank_info, request)),
          local_ranks_known_(rank_info.local_rank_known),
          meeting_(rank_info, request.comm) {
        facts_.size = rank_info.size;
        facts_.problem = request.problem;
        facts_.data = request.data;
        facts_.training_bytes = request.training_bytes;
        facts_.shared = request.shared;
        facts_.gpu_bytes = request.gpu_bytes;
        facts_.computes = request.computes;
        facts_.slow_shapes = request.slow_shapes;
        facts_.folder.path = request.model_folder;
    }

    std::optional<Facts> run() {
        introduce();
        if (leads()) {
            hear_ranks();
            if (!request_.model_folder.empty())
                facts_.folder = look_at_folder(request_.model_folder, request_.checkpoints_bytes,
                                               check_ms(), trial_);
            tell_plan();
        }
        const std::string plan = meeting_.await("plan", 2 * longest_stage());
        if (plan.empty()) return result();  // a rank is missing: rank 0 reports it
        plan_ = decode_plan(plan);
        meeting_.tell("sight", encode(look_around()));
        if (leads()) hear_sights();
        if (meeting_.await("rates", 2 * longest_stage()).empty()) measure();
        return result();
    }

private:
    bool leads() const { return meeting_.rank() == 0; }
    int check_ms() const { return static_cast<int>(request_.check_time().count()); }
    // Returns the maximum time that a rank spends in one stage, whatever happens there. Rank 0
    // waits for all ranks.
    milliseconds longest_stage() const {
        return request_.timeout + request_.read_for + 4 * request_.check_time();
    }
    std::optional<Facts> result() { return leads() ? std::optional(facts_) : std::nullopt; }

    // Publishes where this rank is and starts to answer probes.
    void introduce() {
        if (leads()) meeting_.announce("token", comm::Secret::make().text());
        token_ = meeting_.await("token", longest_stage());
        own_.address = address();
        if (own_.local_size < meeting_.size()) {
            probe_server_ = std::make_unique<ProbeServer>(token_);
            own_.probe_port = probe_server_->port();
        }
        meeting_.tell("rank", encode(own_));
    }

    // Returns the address at which the run itself would be reached.
    std::string address() const {
        for (const Interface& one : own_.interfaces) {
            if (one.name == request_.comm.interface && !one.addresses.empty())
                return one.addresses.front();
        }
        return meeting_.local_address();
    }

    void hear_ranks() {
        for (const auto& text : meeting_.hear("rank", request_.timeout)) {
            if (text) facts_.ranks.push_back(decode_rank(*text));
        }
        if (!local_ranks_known_) number_by_hosts(facts_.ranks);
    }

    void tell_plan() {
        const bool all_here = static_cast<int>(facts_.ranks.size()) == facts_.size;
        if (!all_here) return meeting_.announce("plan", "");
        Plan plan{stands_of(facts_.ranks), token_, "", ""};
        if (trial_) {
            plan.trial_path = trial_->path();
            plan.trial_text = trial_->text();
        }
        meeting_.announce("plan", encode(plan));
    }

    RankObservations look_around() {
        RankObservations sight;
        sight.rank = meeting_.rank();
        const auto hosts = hosts_of(plan_.stands);
        for (const HostGroup& host : hosts) {
            if (host.name != own_.host) continue;
            const auto me = std::find(host.ranks.begin(), host.ranks.end(), sight.rank);
            if (!request_.data.empty())
                look_at_data(request_.data, static_cast<int>(me - host.ranks.begin()),
                             static_cast<int>(host.ranks.size()), request_.read_for, check_ms(),
                             sight);
            if (host.leader() != sight.rank) continue;
            look_at_hosts(hosts, sight);
            if (!plan_.trial_path.empty())
                sight.folder_problem = look_for(plan_.trial_path, plan_.trial_text, check_ms() / 2);
        }
        return sight;
    }

    // Asks all hosts at the same time, because the time-outs of several silent hosts would add up.
    void look_at_hosts(const std::vector<HostGroup>& hosts, RankObservations& sight) {
        constexpr std::size_t at_once = 64;
        sight.lookups.resize(hosts.size());
        sight.probes.resize(hosts.size());
        for (std::size_t begin = 0; begin < hosts.size(); begin += at_once) {
            std::vector<std::jthread> threads;
            for (std::size_t i = begin; i < std::min(begin + at_once, hosts.size()); ++i) {
                const RankEndpoint& stand =
                    plan_.stands[static_cast<std::size_t>(hosts[i].leader())];
                threads.emplace_back(
                    [this, &stand, &lookup = sight.lookups[i], &probed = sight.probes[i]] {
                        lookup = look_up(stand.host, stand.address, check_ms());
                        if (stand.host != own_.host)
                            probed = probe({stand.host, stand.address, stand.probe_port, token_},
                                           check_ms());
                    });
            }
        }
        std::erase_if(sight.probes, [](const Probe& one) { return one.host.empty(); });
    }

    void hear_sights() {
        bool all_reached = true;
        for (const auto& text : meeting_.hear("sight", longest_stage())) {
            if (!text) {
                all_reached = false;
                continue;
            }
            facts_.sights.push_back(decode_sight(*text));
            for (const Probe& one : facts_.sights.back().probes)
                all_reached = all_reached && one.problem.empty();
        }
        if (facts_.size == 1) facts_.not_measured = "one rank alone";
        if (!all_reached) facts_.not_measured = "not every host reaches every other";
        meeting_.announce("rates", facts_.not_measured);
    }

    void measure() {
        try {
            const Rates rates = measure_rates(meeting_, plan_, request_.check_time());
            meeting_.tell("pairs", encode(rates.pairs));
            if (!leads()) return;
            facts_.ring = rates.ring;
            for (const auto& text : meeting_.hear("pairs", request_.timeout)) {
                if (!text) continue;
                for (const PairRate& one : decode_rates(*text)) facts_.pairs.push_back(one);
            }
        } catch (const Error& error) {
            facts_.not_measured = error.what();
            facts_.cannot_compute_together = true;
        }
    }

    Request request_;
    RankFacts own_;
    bool local_ranks_known_;
    Meeting meeting_;
    Facts facts_;  // used on rank 0
    std::string token_;
    std::unique_ptr<ProbeServer> probe_server_;
    std::shared_ptr<TrialFile> trial_;  // used on rank 0
    Plan plan_;
};

}  // namespace

std::optional<Facts> examine(const comm::RankInfo& rank_info, const Request& request) {
    return Examination(rank_info, request).run();
}

}  // namespace lockstep::launcher::doctor
